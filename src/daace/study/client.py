"""Clients: what a particular study adds, such as facts, a reference, and parts of the page.

Studies in general do not depend on the algorithms that are compared, nor on claims about them. A
client supplies what does; `daace.study.paper` is one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from daace._typing import FloatArray
from daace.study.figure_list import Drawn
from daace.study.results import Reference, StudyResults
from daace.study.spec import StudySpec


@dataclass(frozen=True)
class TableFact:
    """A number about the resampled rows of a table, recorded and shown with it.

    Functions must be importable by name, as workers compute the number.

    Attributes:
        name: entry of the record.
        label: head of its column on the page.
        compute: from rows in model space, shape `(rows, features)`, to the number.
        show: from the number to text.
    """

    name: str
    label: str
    compute: Callable[[FloatArray], float]
    show: Callable[[float], str]


def _no_notes(spec: StudySpec, tables: Sequence[str]) -> Mapping[str, Any]:
    return {}


def _no_figures(results: StudyResults) -> Drawn:
    return iter(())


def _no_sections(results: StudyResults) -> Sequence[str]:
    return ()


@dataclass(frozen=True, kw_only=True)
class StudyClient:
    """What a particular study adds; each part is optional.

    Attributes:
        facts: numbers about each table.
        reference: algorithm whose counterfactuals all others are measured against.
        note_plan: from the study and the names of the tables that were run to entries of the plan,
            which `StudyResults.plan` has later.
        write_sections: from the results to parts of the page, in HTML.
        draw_figures: from the results to further figures: name, caption and figure of each.

    Example:
        >>> client = StudyClient(write_sections=lambda results: ["<h2>What we expected</h2>"])
        >>> client.facts, client.reference
        ((), None)
    """

    facts: tuple[TableFact, ...] = ()
    reference: Reference | None = None
    note_plan: Callable[[StudySpec, Sequence[str]], Mapping[str, Any]] = _no_notes
    write_sections: Callable[[StudyResults], Sequence[str]] = _no_sections
    draw_figures: Callable[[StudyResults], Drawn] = _no_figures


#: The client that adds nothing.
NO_CLIENT = StudyClient()
