"""The explorer in a notebook: the same page, answered by the kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

import pandas as pd

from daace._json import plain
from daace.exceptions import DaaceError, MissingDependency
from daace.explain.asking.rows import read_row
from daace.explain.explainer import Explainer
from daace.explain.explanation import Explanation
from daace.landscape.constraints import Constraints
from daace.web.assets import joined_module, style_sheet
from daace.web.questions import RowQuestion
from daace.web.service import Service
from daace.web.views import plain_cell

if TYPE_CHECKING:
    from anywidget import AnyWidget

#: Requests of the page, besides `get` and `export`.
ASKED = ("explain", "alternatives", "tradeoff", "reasons", "view", "pictures", "terrain")


def open_widget(explainer: Explainer, row: object, *, target: object = None) -> AnyWidget:
    """Return the explorer as a widget; see `Explainer.widget`.

    Args:
        explainer: the model.
        row: the row to begin with, in user units.
        target: the class to reach.

    Raises:
        MissingDependency: anywidget is not installed.
        InvalidInput: the row cannot be read.
    """
    read_row(explainer.density, row)
    frame = explainer.density.user_frame(row)
    cells = {
        name: None if pd.isna(cell) else plain_cell(cell)
        for name, cell in frame[list(explainer.density.features_)].iloc[0].items()
    }
    question = RowQuestion(row={str(name): cell for name, cell in cells.items()}, target=target)
    return _widget_class()(Service(explainer, name="Explorer"), question)


def _widget_class() -> Any:
    """Return the class of widgets, whose base is an optional package."""
    try:
        import anywidget
        import traitlets
    except ImportError:
        raise MissingDependency(
            "'widget' needs anywidget: pip install 'daace[notebook]'."
        ) from None

    class ExplorerWidget(anywidget.AnyWidget):
        """The explorer in a notebook.

        Attributes:
            question: the present question, as plain data.
            explanation: the answer to it.
            constraints: its rules.
        """

        _esm = joined_module()
        _css = style_sheet()
        question = traitlets.Dict().tag(sync=True)

        def __init__(self, service: Service, question: RowQuestion) -> None:
            super().__init__(question=plain(question.to_record()))
            self._service = service
            self.on_msg(self._hear)

        @property
        def explanation(self) -> Explanation:
            """The answer to the current question."""
            return self._service.answer(RowQuestion.read(self.question))[1]

        @property
        def constraints(self) -> Constraints:
            """The rules of the current question."""
            return RowQuestion.read(self.question).rules

        def _hear(self, _: Any, message: Any, buffers: Any) -> None:
            number = message.get("id") if isinstance(message, dict) else None
            try:
                what = str(message["what"])
                value = answer_message(self._service, what, dict(message["body"]))
                if what == "explain":
                    self.question = value["question"]
                self.send({"id": number, "value": plain(value)})
            except DaaceError as error:
                self.send({"id": number, "error": str(error)})
            except Exception as error:
                self.send({"id": number, "error": f"Internal error: {type(error).__name__}."})
                raise

    return ExplorerWidget


def answer_message(service: Service, what: str, body: dict[str, Any]) -> dict[str, Any]:
    """Return the answer to one message of the page.

    Args:
        service: service of the model.
        what: name of the request.
        body: body of the message.

    Raises:
        DaaceError: there is nothing of that name, or the question is invalid.
    """
    if what == "get":
        return read_facts(service, str(body["what"]))
    if what == "export":
        made = service.export(body)
        return {"name": made.name, "kind": made.kind, "text": made.text}
    if what not in ASKED:
        raise DaaceError(f"There is nothing called '{what[:40]}'.")
    found: dict[str, Any] = getattr(service, what)(body)
    return found


def read_facts(service: Service, what: str) -> dict[str, Any]:
    """Return what a server would return from `/api/...`.

    Args:
        service: service of the model.
        what: the path, such as 'model' or 'rows?query=high&offset=0&limit=8'.
    """
    parts = urlsplit(what)
    if parts.path == "model":
        return service.facts
    if parts.path == "network":
        return service.network
    if parts.path == "rows":
        given = dict(parse_qsl(parts.query))
        return service.people.page(
            query=given.get("query", ""),
            offset=int(given.get("offset", 0)),
            limit=int(given.get("limit", 20)),
        )
    raise DaaceError(f"There is nothing called '{parts.path[:40]}'.")
