"""The explorer: one page and a JSON API over an explainer, behind `daace serve` and in notebooks.

This room calls `daace.explain` and adds no method of its own. `service` answers questions that are
plain JSON; `app` puts it behind HTTP, `widget` into a notebook; `static` holds the page.
"""
