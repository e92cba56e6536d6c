"""The page's files: its modules are sent as one, so that nothing is built and little requested."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

STATIC = Path(__file__).parent / "static"

#: The module that all others are reached from.
ENTRY = "explorer.js"

#: An import of our own: `import { a, b } from "./name.js";`, which may be broken over lines.
IMPORT = re.compile(r'^import\s+\{[^}]*\}\s+from\s+"\./([a-z_]+\.js)";\n', re.MULTILINE)

#: What modules say of names that others use.
EXPORT = re.compile(r"^export (?=(?:async )?(?:function|const|class)\b)", re.MULTILINE)


@cache
def joined_module() -> str:
    """Return the entry module with all that it imports, as one ES module.

    Each file stands once, after those that it imports. All share one scope, so a name at the top
    of a file must be the only one of its kind; `tests/web/test_assets.py` checks this.
    """
    parts: list[str] = []
    seen: set[str] = set()

    def add(name: str) -> None:
        if name in seen:
            return
        seen.add(name)
        text = (STATIC / name).read_text(encoding="utf-8")
        for other in IMPORT.findall(text):
            add(other)
        text = IMPORT.sub("", text)
        parts.append(f"// {name}\n{text if name == ENTRY else EXPORT.sub('', text)}")

    add(ENTRY)
    return "\n".join(parts)


@cache
def style_sheet() -> str:
    """Return the style of the page."""
    return (STATIC / "explorer.css").read_text(encoding="utf-8")


@cache
def page() -> str:
    """Return the page."""
    return (STATIC / "index.html").read_text(encoding="utf-8")
