"""Questions and answers as plain JSON, over HTTP or in a notebook."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from threading import Lock
from typing import Any

from daace._json import dump_json, plain
from daace._wording import quote
from daace.data.files import csv_text
from daace.exceptions import InvalidInput
from daace.explain.answers.tables import Layout, to_outcome
from daace.explain.asking.identity import identify_density
from daace.explain.explainer import Explainer
from daace.explain.explanation import Explanation
from daace.web.model_facts import model_facts, network_facts
from daace.web.people import People
from daace.web.questions import RowQuestion, is_number
from daace.web.receipt import write_receipt
from daace.web.views import (
    view_answer,
    view_pictures,
    view_summary,
    view_terrain,
    view_tradeoff,
)

#: Number of answers that are kept, so that their pictures and files need no new search.
KEPT = 256

#: Maximum number of alternatives.
MOST_ALTERNATIVES = 6

#: Default of the longest search, in seconds.
TIME_LIMIT = 60.0

FORMATS = {
    "json": "application/json",
    "csv": "text/csv; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "receipt": "text/html; charset=utf-8",
}

#: Matplotlib's caches are not safe for several threads.
_drawing = Lock()


@dataclass(frozen=True)
class Export:
    """An answer as a file.

    Attributes:
        name: name of the file.
        kind: media type.
        text: content.
    """

    name: str
    kind: str
    text: str


@dataclass(eq=False)
class Service:
    """A model that answers questions, from several threads at once.

    Args:
        explainer: the model.
        people: rows to choose from; simulated ones when None.
        name: name of the model.
        digest: digest of the model file; if empty, that of what the density has learned.
        time_limit: longest search, in seconds.
    """

    explainer: Explainer
    people: People = None  # type: ignore[assignment]  # set below, so that it is never None
    name: str = "model"
    digest: str = ""
    time_limit: float = TIME_LIMIT
    _answers: OrderedDict[str, tuple[RowQuestion, Explanation]] = field(default_factory=OrderedDict)
    _lock: Lock = field(default_factory=Lock)

    def __post_init__(self) -> None:
        given: object = self.people
        if given is None:
            self.people = People.drawn(self.explainer.density)
        if not self.digest:
            self.digest = identify_density(self.explainer.density)

    @cached_property
    def facts(self) -> dict[str, Any]:
        """The facts of the model for the page."""
        return model_facts(self.explainer, digest=self.digest, name=self.name)

    @cached_property
    def network(self) -> dict[str, Any]:
        """Nodes and arcs of the network behind the model."""
        return network_facts(self.explainer)

    def explain(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """Answer a question about one row."""
        question, e = self.answer(RowQuestion.read(record))
        return _json(view_answer(e, question, question.digest))

    def alternatives(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """Answer a question, and search for alternatives."""
        count = record.get("count", 3)
        if not (type(count) is int and 1 <= count <= MOST_ALTERNATIVES):
            expected = f"be a whole number from 1 to {MOST_ALTERNATIVES}"
            raise InvalidInput(argument="count", expected=expected, got=str(count)[:40])
        question = RowQuestion.read(record)
        e = self._ask(question, "explain", alternatives=count)
        views = []
        for number, other in enumerate(e.alternatives, 1):
            name = f"{question.digest}-a{number}"
            self._keep(name, question, other)
            views.append({"answer": name, **view_summary(other)})
        notes = [str(note) for note in e.notes if note.code == "no_alternative"]
        return _json({"best": view_summary(e), "alternatives": views, "notes": notes})

    def tradeoff(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """Answer a question at several penalties."""
        question = RowQuestion.read(record)
        scan = self._ask(question, "tradeoff")
        names = []
        for penalty, e in zip(scan.penalties, scan, strict=True):
            asked = replace(question, settings={**question.settings, "penalty": penalty})
            names.append(f"{question.digest}-t{penalty:g}")
            self._keep(names[-1], asked, e)
        return _json({"points": view_tradeoff(scan, names)})

    def reasons(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """Return the features that now count against the target."""
        found = self._ask(RowQuestion.read(record), "reasons")
        listed = [{"feature": r.feature, "sentence": r.sentence, "against": r.against}
                  for r in found]  # fmt: skip
        head = str(found).splitlines()[0]
        return _json({"head": head, "judge": found.judge, "reasons": listed})

    def view(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """Return a kept answer, such as an alternative, or one from an exported file."""
        if record.get("record") is not None:
            text = dump_json(record["record"])
            e = Explanation.from_json(text, density=self.explainer.density)
            if tuple(e.path.columns) != tuple(self.explainer.density.features_):
                raise InvalidInput(
                    argument="record",
                    expected="be an answer of this model",
                    got=f"features {quote(e.path.columns)}",
                )
            question = RowQuestion.behind(e)
            name = f"{question.digest}-r"
            self._keep(name, question, e)
            return _json(view_answer(e, question, name))
        name = str(record.get("answer"))
        question, e = self._find(record)
        return _json(view_answer(e, question, name))

    def pictures(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """Return the curves along the path of an answer."""
        return _json(view_pictures(self._find(record)[1]))

    def terrain(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """Return the landscape under two features, and the path on it."""
        e, chosen = self._find(record)[1], record.get("features")
        coded = [feature.coded for feature in self.explainer.density.encoding_.features]
        numbers = [
            name
            for name, code, known in zip(e.path.columns, coded, e.measured, strict=True)
            if known and not code
        ]
        if chosen is None:  # the numbers that change most
            moving = [name for name in e.changes()["feature"] if name in numbers]
            chosen = list(dict.fromkeys([*moving, *numbers]))[:2]
            if len(chosen) < 2:
                return {"features": chosen, "axes": [], "path": []}
        good = isinstance(chosen, list | tuple) and len(chosen) == 2
        if not good or any(name not in numbers for name in chosen):
            raise InvalidInput(
                argument="features",
                expected=f"be two features that are numbers all along: {quote(numbers, 30)}",
                got=str(chosen)[:80],
            )
        return _json(view_terrain(e, (chosen[0], chosen[1])))

    def export(self, record: Mapping[str, Any]) -> Export:
        """Return an answer as a file: JSON, CSV (a row per change), a page or a receipt."""
        kind = str(record.get("format", "json"))
        if kind not in FORMATS:
            raise InvalidInput(
                argument="format", expected=f"be one of {quote(FORMATS)}", got=f"'{kind[:40]}'"
            )
        question, e = self._find(record)
        name = f"explanation.{kind}" if kind != "receipt" else "receipt.html"
        if kind == "json":
            text = e.to_json() + "\n"
        elif kind == "csv":
            text = changes_csv(e)
        elif kind == "html":
            with _drawing:
                text = e.to_html()
        else:
            made = datetime.now(UTC).astimezone()
            text = write_receipt(e, question, self.facts, made=made)
        return Export(name, FORMATS[kind], text)

    def answer(self, question: RowQuestion) -> tuple[RowQuestion, Explanation]:
        """Return the answer to a question, from the kept ones if possible."""
        name = question.digest
        with self._lock:
            if name in self._answers:
                self._answers.move_to_end(name)
                return self._answers[name]
        e = self._ask(question, "explain")
        self._keep(name, question, e)
        return question, e

    def batch(
        self, question: RowQuestion, frame: object, progress: Callable[[int, int], None]
    ) -> dict[str, str]:
        """Explain every row of a frame; return the files, by format.

        Args:
            question: target, settings and rules; its row is ignored.
            frame: the rows.
            progress: called with the number of finished rows and of all rows.
        """
        many = self._ask(question, "explain_batch", row=frame, progress=progress)
        records = "".join(f"{e.to_json(indent=None)}\n" for e in many)
        return {
            "csv": csv_text(many.to_frame(detail=True)),
            "jsonl": records,
            "summary": str(many.summary()),
        }

    def _ask(self, question: RowQuestion, method: str, *, row: Any = None, **more: Any) -> Any:
        """Call a method of the explainer."""
        explainer = question.configure(self.explainer)
        # Rows of a batch are solved together, and a batch can be stopped: it needs no limit.
        limit = None if method == "explain_batch" else self.time_limit
        arguments = question.arguments(explainer, method, limit=limit)
        asked = self._complete(question.row) if row is None else row
        return getattr(explainer, method)(asked, **arguments, **more)

    def _complete(self, row: Mapping[str, Any]) -> dict[str, Any]:
        missing = [name for name in self.explainer.density.features_ if name not in row]
        if missing:
            raise InvalidInput(
                argument="row",
                expected="have a value for every feature, null where it is missing",
                got=f"nothing for {quote(missing)}",
            )
        for feature in self.explainer.density.encoding_.features:
            value = row[feature.name]
            truth = isinstance(value, bool) and bool not in map(type, feature.levels)
            if truth or not (feature.coded or value is None or is_number(value)):
                what = "a level" if feature.coded else "a number"
                raise InvalidInput(
                    argument="row",
                    expected=f"have {what} for '{feature.name}'",
                    got=repr(value)[:40],
                )
        return dict(row)

    def _find(self, record: Mapping[str, Any]) -> tuple[RowQuestion, Explanation]:
        """Return an answer by its name, or by its question if it is no longer kept."""
        name = record.get("answer")
        with self._lock:
            if isinstance(name, str) and name in self._answers:
                self._answers.move_to_end(name)
                return self._answers[name]
        if record.get("row"):
            return self.answer(RowQuestion.read(record))
        raise InvalidInput(
            argument="answer",
            expected="be the name of a recent answer",
            got=repr(name)[:80],
            remedy="ask the question again",
        )

    def _keep(self, name: str, question: RowQuestion, e: Explanation) -> None:
        with self._lock:
            self._answers[name] = (question, e)
            self._answers.move_to_end(name)
            while len(self._answers) > KEPT:
                self._answers.popitem(last=False)


def changes_csv(e: Explanation) -> str:
    """Return an answer as CSV, one row for each change."""
    import pandas as pd

    index = pd.RangeIndex(1)
    layout = Layout(list(e.path.columns))
    return csv_text(layout.long([to_outcome(e)], index, pd.DataFrame(index=index), sd=e.sd))


def _json(value: dict[str, Any]) -> dict[str, Any]:
    return dict(plain(value))
