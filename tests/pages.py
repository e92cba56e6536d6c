"""Blocks and links of the documentation's pages: what the tests check, and a command to renew it.

A ```text block right after a ```python block is what the Python prints. After a change of the
package, `python -m tests.pages README.md docs/start.md` runs the pages and writes what they print
now.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]

BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
SNIPPET = re.compile(r'^--8<-- "([^":]+)(?::([\w-]+))?"$', re.MULTILINE)
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ +(.+?) *#*$", re.MULTILINE)


@dataclass(frozen=True)
class Example:
    """Python of a page, and what it prints if the page shows that.

    Attributes:
        code: the Python.
        printed: the text that the page shows; None if it shows none.
        place: where that text is in the page.
    """

    code: str
    printed: str | None
    place: tuple[int, int]


def pages() -> list[str]:
    """Return every page of the documentation, by its path from the root."""
    found = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")]
    found += sorted((ROOT / "docs").rglob("*.md"))
    found.append(ROOT / "benchmarks" / "README.md")
    return [path.relative_to(ROOT).as_posix() for path in found]


def read(page: str) -> str:
    """Return the text of a page, without what it includes from other files."""
    return (ROOT / page).read_text(encoding="utf-8")


def examples(page: str) -> Iterator[Example]:
    """Yield the Python of a page, block by block."""
    text = read(page)
    blocks = list(BLOCK.finditer(text))
    for i, block in enumerate(blocks):
        if block[1] != "python":
            continue
        after = blocks[i + 1] if i + 1 < len(blocks) else None
        if (
            after is not None
            and after[1] == "text"
            and not text[block.end() : after.start()].strip()
        ):
            yield Example(block[2], after[2], after.span(2))
        else:
            yield Example(block[2], None, (0, 0))


def shell_lines(page: str) -> Iterator[str]:
    """Yield the commands of a page's shell blocks, continued lines joined, comments removed."""
    for block in BLOCK.finditer(read(page)):
        if block[1] == "sh":
            for line in block[2].replace("\\\n", " ").splitlines():
                yield from (part.strip() for part in line.split("  #")[0].split("&&"))


def run(example: Example, page: str, session: dict[str, Any]) -> str:
    """Run an example in a session and return what it prints."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(example.code, page, "exec"), session)
    return tidy(out.getvalue())


def tidy(text: str) -> str:
    """Return a text without spaces at the ends of lines."""
    return "\n".join(line.rstrip() for line in text.strip("\n").splitlines()) + "\n"


def expanded(page: str) -> str:
    """Return the text of a page with the files and sections that it includes."""

    def include(match: re.Match[str]) -> str:
        text = read(match[1])
        if match[2]:
            begin = f"<!-- --8<-- [start:{match[2]}] -->"
            end = f"<!-- --8<-- [end:{match[2]}] -->"
            text = text[text.index(begin) + len(begin) : text.index(end)]
        return text

    return SNIPPET.sub(include, read(page))


def anchors(page: str) -> set[str]:
    """Return the anchors of a page's headings, as the site makes them."""
    text = BLOCK.sub("", expanded(page))
    names = set()
    for heading in HEADING.findall(text):
        plain = re.sub(r"[`*]|\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        names.add(re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", plain).strip().lower()))
    return names


def links(page: str) -> Iterator[str]:
    """Yield the internal links of a page, those of what it includes among them."""
    for target in LINK.findall(BLOCK.sub("", expanded(page))):
        if not re.match(r"[a-z]+:", target):
            yield target


def renew(page: str) -> None:
    """Run a page and write what it prints now."""
    session: dict[str, Any] = {}
    found = [(example, run(example, page, session)) for example in examples(page)]
    text = read(page)
    for example, printed in reversed(found):
        if example.printed is not None:
            start, end = example.place
            text = text[:start] + printed + text[end:]
    (ROOT / page).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name in sys.argv[1:]:
            renew(name)
