"""Uploaded tables: parsed as data only."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd

from daace.data.files import read_frame
from daace.exceptions import InvalidInput
from daace.explain.files.stream import model_columns
from daace.web.questions import RowQuestion
from daace.web.service import Service

#: Maximum number of rows of an upload.
MOST_ROWS = 10_000


def read_upload(service: Service, record: Mapping[str, Any]) -> tuple[RowQuestion, pd.DataFrame]:
    """Return the question about all rows, and the rows.

    The text is read by the package's reader of files, under a neutral name.

    Raises:
        InvalidInput: it is not a table, lacks a feature, has no rows or too many; or the question
            is invalid.
    """
    kind = "tsv" if record.get("format") == "tsv" else "csv"
    name = f"upload.{kind}"
    with TemporaryDirectory() as folder:
        path = Path(folder) / name
        try:
            path.write_text(str(record["text"]), encoding="utf-8", newline="")
            frame = read_frame(path)
        except UnicodeEncodeError:
            raise InvalidInput(argument="text", expected="be Unicode") from None
        except InvalidInput as error:
            raise InvalidInput(str(error).replace(str(path), name), argument="text") from None
        except Exception as error:  # parsers raise many kinds
            told = str(error).replace(str(path), name)[:200]
            raise InvalidInput(
                f"'text' must be a table. It is not: {told}", argument="text"
            ) from None
    model_columns(Path(name), frame.columns, service.explainer.density)
    if not 0 < len(frame) <= MOST_ROWS:
        expected = f"have 1 to {MOST_ROWS:,} rows"
        raise InvalidInput(argument="text", expected=expected, got=f"{len(frame):,}")
    question = RowQuestion.read({**record, "row": None})
    arguments = question.arguments(service.explainer, "explain_batch", limit=None)
    if arguments.get("target") is not None:
        service.explainer.density.class_index(arguments["target"])
    return question, frame
