"""The tables of README.md as JSON, for programs: `python -m benchmarks.results` writes it.

Every table has the date, machine and command that stand before it. In its cells, `1, 2` and
`1 / 2` are lists, `1 to 2` is a range and an empty cell is null.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

PAGE = Path(__file__).with_name("README.md")
RESULTS = Path(__file__).with_name("results.json")

NUMBER = re.compile(r"-?[\d,]*\d(\.\d+)?")
ABOUT = re.compile(r"Date: (.+?)\. Machine: (.+?)\. Command: (.+)")


def cell(text: str) -> Any:
    """Return the value of a cell.

    Example:
        >>> cell("15,000"), cell("1, 5"), cell("7.5 / 10"), cell("0.4 to 2"), cell("")
        (15000, [1, 5], [7.5, 10], {'min': 0.4, 'max': 2}, None)
    """
    if text == "":
        return None
    if text in ("yes", "no"):
        return text == "yes"
    if NUMBER.fullmatch(text):
        plain = text.replace(",", "")
        return float(plain) if "." in plain else int(plain)
    for separator in (", ", " / ", " to "):
        parts = text.split(separator)
        if len(parts) > 1 and all(NUMBER.fullmatch(part) for part in parts):
            values = [cell(part) for part in parts]
            return values if separator != " to " else {"min": min(values), "max": max(values)}
    return text


def tables(page: str) -> list[dict[str, Any]]:
    """Return the tables of the page, in its order."""
    found: list[dict[str, Any]] = []
    section, about = "", ("", "", "")
    for block in re.split(r"\n\s*\n", page):
        line = " ".join(block.split())
        if block.startswith("#"):
            section, about = block.lstrip("# "), ("", "", "")
        elif known := ABOUT.fullmatch(line):
            about = known.groups()
        elif block.startswith("|"):
            lines = [
                [text.strip() for text in row.strip().strip("|").split("|")]
                for row in block.strip().splitlines()
            ]
            found.append(
                {
                    "section": section,
                    "date": about[0],
                    "machine": about[1],
                    "command": about[2].replace("`", ""),
                    "columns": lines[0],
                    "rows": [[cell(text) for text in row] for row in lines[2:]],
                }
            )
    return found


def write(path: Path = RESULTS) -> None:
    """Write the tables of the page, one row per line."""
    parts = []
    for table in tables(PAGE.read_text(encoding="utf-8")):
        rows = ",\n    ".join(json.dumps(row) for row in table["rows"])
        head = json.dumps({**table, "rows": []}, indent=1).removesuffix("[]\n}")
        parts.append(f"{head}[\n    {rows}\n ]\n}}")
    path.write_text("[\n" + ",\n".join(parts) + "\n]\n", encoding="utf-8")


if __name__ == "__main__":
    write()
