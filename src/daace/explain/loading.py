"""An explainer from its file."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from typing import Any

from daace.explain.explainer import Explainer
from daace.explain.files.model_file import read_settings


def load(
    path: str | os.PathLike[str],
    classifier: Any = None,
    *,
    classifier_grad: Callable[[Any], Any] | None = None,
    classifier_budget: int | None = None,
) -> Explainer:
    """Read an explainer that `Explainer.save` wrote.

    Args:
        path: the model file.
        classifier: judge of the class; model files never hold one.
        classifier_grad: gradient of its class probabilities; see `Explainer`.
        classifier_budget: rows that it may be asked about in a search; see `Explainer`.

    Raises:
        ModelFileError: the file is damaged, hostile, or of another version.
        MissingFile: there is no such file.
    """
    arguments, judge = read_settings(path)
    if classifier is not None:
        return Explainer(
            **arguments,
            classifier=classifier,
            classifier_grad=classifier_grad,
            classifier_budget=classifier_budget,
        )
    if judge is not None:
        warnings.warn(
            f"'{path}' was saved with a classifier ({judge}), which a model file does not hold: "
            "the density judges the class now. Pass classifier=... to load.",
            stacklevel=2,
        )
    return Explainer(**arguments)
