"""Frames as small tables for a notebook's output cell."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np
import pandas as pd

from daace.explain.pages.page import STYLE

#: Rows that are shown; the others are counted.
SHOWN = 20


def render_frame(title: str, frame: pd.DataFrame, *, sentences: Sequence[str] = ()) -> str:
    """Return a frame as HTML: a caption, a header for each column and row, and sentences below.

    Args:
        title: the caption.
        frame: the rows; its index names them.
        sentences: shown below the table.

    Example:
        >>> page = render_frame("Costs", pd.DataFrame({"cost": [1.5]}, index=["<a>"]))
        >>> '<th scope="row">&lt;a&gt;</th><td>1.5</td>' in page
        True
    """
    index = "" if frame.index.name is None else str(frame.index.name)
    heads = [index or "row", *map(str, frame.columns)]
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in heads)
    lines = []
    for name, row in zip(
        frame.index[:SHOWN], frame.head(SHOWN).to_numpy(dtype=object), strict=True
    ):
        cells = "".join(f"<td>{escape(_text(cell))}</td>" for cell in row)
        lines.append(f'<tr><th scope="row">{escape(_text(name))}</th>{cells}</tr>')
    rest = len(frame) - SHOWN
    below = [*sentences, *([f"And {rest:,} more rows."] if rest > 0 else [])]
    notes = "".join(f'<p class="note">{escape(sentence)}</p>' for sentence in below)
    return (
        f'<style>{STYLE}</style><div class="daace"><table class="dataframe">'
        f"<caption>{escape(title)}</caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>{notes}</div>"
    )


def _text(cell: Any) -> str:
    if not isinstance(cell, str) and pd.isna(cell):
        return "-"
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    return f"{float(cell):,.4g}" if isinstance(cell, float | np.floating) else str(cell)
