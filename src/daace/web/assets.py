"""The page's files: its modules are joined, so that there is no build and few requests."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

STATIC = Path(__file__).parent / "static"

#: Style sheets of each page, in their order. A page is `NAME.html` and `NAME.js` with its imports.
STYLES = {"explorer": ("explorer.css",), "counties": ("explorer.css", "counties.css")}

#: An import of our own: `import { a, b } from "./name.js";`, which may be broken over lines.
IMPORT = re.compile(r'^import\s+\{[^}]*\}\s+from\s+"\./([a-z_]+\.js)";\n', re.MULTILINE)

#: The keyword before names that other modules import.
EXPORT = re.compile(r"^export (?=(?:async )?(?:function|const|class)\b)", re.MULTILINE)


@cache
def joined_module(name: str = "explorer") -> str:
    """Return the module of a page with all its imports, as one ES module.

    Each file occurs once, after those that it imports. All share one scope, so names at the top
    level of files must be unique; `tests/web/test_assets.py` checks this.

    Args:
        name: name of the page.
    """
    entry = f"{name}.js"
    parts: list[str] = []
    seen: set[str] = set()

    def add(file: str) -> None:
        if file in seen:
            return
        seen.add(file)
        text = (STATIC / file).read_text(encoding="utf-8")
        for other in IMPORT.findall(text):
            add(other)
        text = IMPORT.sub("", text)
        parts.append(f"// {file}\n{text if file == entry else EXPORT.sub('', text)}")

    add(entry)
    return "\n".join(parts)


@cache
def style_sheet(name: str = "explorer") -> str:
    """Return the style of a page.

    Args:
        name: name of the page.
    """
    return "\n".join((STATIC / part).read_text(encoding="utf-8") for part in STYLES[name])


@cache
def page(name: str = "explorer") -> str:
    """Return a page.

    Args:
        name: name of the page.
    """
    return (STATIC / f"{name}.html").read_text(encoding="utf-8")
