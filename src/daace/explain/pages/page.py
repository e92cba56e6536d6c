"""The parts that all HTML pages share: frame, style, tables and figures; no scripts."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from html import escape

STYLE = """
.daace { font: 15px/1.5 system-ui, "Segoe UI", Helvetica, Arial, sans-serif; color: #222;
         background: #fff; max-width: 60rem; margin: 0 auto; padding: 1.5rem 1rem; }
.daace h1 { font-size: 1.6rem; line-height: 1.25; margin: 0 0 1rem; overflow-wrap: anywhere; }
.daace h2 { font-size: 1.15rem; margin: 2rem 0 .6rem; }
.daace h3 { font-size: 1rem; margin: 1.2rem 0 .3rem; }
.daace h3 small { font-weight: normal; color: #555; margin-left: .5rem; }
.daace .cards { display: flex; flex-wrap: wrap; gap: .75rem; margin: 0; }
.daace .cards div { flex: 1 1 11rem; border: 1px solid #ddd; border-radius: .5rem;
                    padding: .6rem .9rem; }
.daace .cards dt { color: #555; font-size: .85rem; overflow-wrap: anywhere; }
.daace .cards dd { margin: 0; font-size: 1.25rem; font-weight: 600; }
.daace .advice { border-left: .3rem solid #D55E00; background: #fdf4ee; padding: .6rem 1rem; }
.daace table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
.daace th, .daace td { text-align: right; padding: .2rem .6rem; border-bottom: 1px solid #eee; }
.daace th { color: #555; font-weight: 600; font-size: .85rem; border-color: #bbb; }
.daace caption { text-align: left; font-weight: 600; padding: .3rem 0; }
.daace th:first-child, .daace td:first-child { text-align: left; overflow-wrap: anywhere; }
.daace td.left, .daace th.left { text-align: left; }
.daace .settings td { text-align: left; overflow-wrap: anywhere; }
.daace .settings td:first-child { color: #555; width: 12rem; }
.daace img { max-width: 100%; height: auto; display: block; margin: .5rem 0 1.5rem; }
.daace .caveats li { margin: .3rem 0; }
.daace .todo { font-size: 1.1rem; line-height: 1.7; overflow-wrap: anywhere; }
.daace details { margin-top: 2rem; border-top: 1px solid #ddd; padding-top: .8rem; }
.daace summary { cursor: pointer; color: #555; }
.daace .note { color: #555; font-size: .85rem; margin: .3rem 0; }
@media print { .daace { max-width: none; padding: 0; font-size: 11px; line-height: 1.35; }
  .daace h1 { font-size: 1.4rem; margin: 0 0 .4rem; } .daace h2 { margin: .8rem 0 .2rem; }
  .daace h3 { margin: .5rem 0 .1rem; } .daace ul { margin: .2rem 0; }
  .daace .todo { font-size: 12px; line-height: 1.4; }
  .daace details:not([open]) { display: none; }
  .daace tr, .daace img, .daace .cards { break-inside: avoid; }
  .daace h2, .daace h3, .daace h2 + p { break-after: avoid; } }
"""

PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
      content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<title>{title}</title>
<style>body {{ margin: 0; background: #fff; }}{style}</style>
</head>
<body>
<main class="daace">
{body}
</main>
</body>
</html>
"""

#: For pages of results: wide, with tables of words and verdicts.
RESULTS_STYLE = """
.daace { max-width: 72rem; }
.daace td, .daace th { vertical-align: top; }
.daace td:first-child, .daace th:first-child { overflow-wrap: normal; }
.daace figure { margin: 0; }
.daace .gallery { display: grid; gap: 0 1.5rem; align-items: start;
                  grid-template-columns: repeat(auto-fit, minmax(min(30rem, 100%), 1fr)); }
.daace .gallery .wide { grid-column: 1 / -1; }
.daace .words td, .daace .words th { text-align: left; }
.daace .words td:last-child { white-space: nowrap; }
.daace .holds { color: #00664B; font-weight: 600; }
.daace .contra { color: #A33B00; font-weight: 600; }
.daace .open { color: #555; font-weight: 600; }
"""


class Html(str):
    """Text that is HTML already, and is not escaped again."""


def page_of_results(title: str, parts: Sequence[str]) -> str:
    """Return a page of results.

    Args:
        title: title of the window; the page has its own heading.
        parts: parts of the body, in HTML.
    """
    return PAGE.format(title=escape(title), style=STYLE + RESULTS_STYLE, body="\n".join(parts))


def verdict(text: str, kind: str = "") -> Html:
    """Return a verdict in its colour.

    Args:
        text: such as 'holds'.
        kind: 'holds', 'contra' or 'open'; made from the text when left out.

    Example:
        >>> verdict("does not hold")
        '<span class="contra">does not hold</span>'
    """
    kind = kind or {"holds": "holds", "does not hold": "contra"}.get(text, "open")
    return Html(f'<span class="{kind}">{escape(text)}</span>')


def outcome(text: str, *, holding: int, of: int) -> Html:
    """Return how many parts of a claim hold, in its colour.

    Args:
        text: to be shown.
        holding: parts that hold.
        of: parts that were tested.
    """
    kind = {of: "holds", 0: "contra"}.get(holding, "open") if of else "open"
    return verdict(text, kind)


def words_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table of words, all columns of which are aligned to the left.

    Args:
        head: titles of the columns.
        rows: cells, which are escaped unless they are `Html`.
    """
    return f'<table class="words">{_cells(head, rows, words=0)}</table>'


def table(head: Sequence[str], rows: Sequence[Sequence[str]], *, words: int = 1) -> str:
    """Return a table whose first columns hold words instead of numbers.

    Args:
        head: titles of the columns.
        rows: cells, which are escaped unless they are `Html`.
        words: how many columns hold words.

    Example:
        >>> table(["table", "rows"], [["iris", "150"]])[-46:]
        '<td>iris</td><td>150</td></tr></tbody></table>'
    """
    return f"<table>{_cells(head, rows, words=words)}</table>"


def _cells(head: Sequence[str], rows: Sequence[Sequence[str]], *, words: int) -> str:
    def line(kind: str, cells: Sequence[str]) -> str:
        left = f'{kind} class="left"'
        return "".join(
            f"<{left if 0 < j < words else kind}>"
            f"{cell if isinstance(cell, Html) else escape(cell)}</{kind}>"
            for j, cell in enumerate(cells)
        )

    body = "".join(f"<tr>{line('td', row)}</tr>" for row in rows)
    return f"<thead><tr>{line('th', head)}</tr></thead><tbody>{body}</tbody>"


def cards(items: Sequence[tuple[str, object]]) -> str:
    """Return names and values, side by side."""
    shown = "".join(f"<div><dt>{escape(a)}</dt><dd>{escape(str(b))}</dd></div>" for a, b in items)
    return f'<dl class="cards">{shown}</dl>'


def picture(text: str, data: bytes, *, kind: str = "svg+xml") -> str:
    """Return an image that is part of the page, with an alternative text."""
    source = base64.b64encode(data).decode("ascii")
    return f'<img alt="{escape(text)}" src="data:image/{kind};base64,{source}">'


def captioned(text: str, data: bytes, *, kind: str = "svg+xml") -> str:
    """Return an image under its caption."""
    image = picture(text, data, kind=kind)
    return f'<figure><figcaption class="note">{escape(text)}</figcaption>{image}</figure>'
