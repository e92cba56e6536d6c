"""What a classifier must be to judge rows: its questions, classes, columns, answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from daace._typing import FloatArray, IntArray
from daace._wording import quote
from daace.data.labels import label_array
from daace.density.base import ConditionalDensity
from daace.exceptions import InvalidInput
from daace.explain.judging.torch_module import TorchModule, is_torch_module
from daace.explain.judging.trees import Forest, is_forest

#: Questions that are asked about arrays, whatever the columns are called.
OF_ARRAYS = (TorchModule, Forest)

#: How far probabilities may be from adding up to 1: single precision is enough.
SUM_TOLERANCE = 1e-3


def read_questions(
    classifier: Any, grad: Callable[[Any], Any] | None
) -> tuple[Callable[[Any], Any], Callable[[Any], Any] | None]:
    """Return the functions that give probabilities of rows and, if known, their gradient."""
    if not (grad is None or callable(grad)):
        raise InvalidInput(
            argument="classifier_grad", expected="be a function of rows", got=type(grad).__name__
        )
    if is_forest(classifier):
        return Forest(classifier), grad
    if hasattr(classifier, "predict_proba"):
        return classifier.predict_proba, grad
    if is_torch_module(classifier):
        module = TorchModule(classifier)
        return module, module.gradient if grad is None else grad
    if callable(classifier) and not isinstance(classifier, type):
        return classifier, grad
    raise InvalidInput(
        argument="classifier",
        expected="have 'predict_proba', or be a torch module or a function of rows",
        got=_in_words(classifier),
    )


def match_classes(classifier: Any, density: ConditionalDensity) -> list[int]:
    """Return the classifier's column of each class of the density."""
    wanted = density.classes_.tolist()
    if not hasattr(classifier, "classes_"):
        if hasattr(classifier, "predict_proba") and hasattr(classifier, "fit"):
            raise InvalidInput(
                f"'classifier' must be fitted. {type(classifier).__name__} has no 'classes_' yet.",
                argument="classifier",
            )
        return list(range(len(wanted)))
    position = {str(label): k for k, label in enumerate(label_array(classifier.classes_).tolist())}
    if set(position) != {str(label) for label in wanted}:
        raise InvalidInput(
            argument="classifier",
            expected=f"know the classes {quote(wanted)}",
            got=quote(position),
            remedy="if these are other names for them, in this order, pass "
            "classifier=model.predict_proba",
        )
    return [position[str(label)] for label in wanted]


def read_columns(owner: Any, density: ConditionalDensity) -> list[str] | None:
    """Return the columns that an estimator was fitted on, in its order; None if it has no names.

    Columns that are computed from features may be among them or not.
    """
    features = density.features_
    derived = [column.name for column in density.encoding_.derived]
    names = getattr(owner, "feature_names_in_", None)
    if names is not None:
        wanted = [str(name) for name in names]
        found = match_columns(wanted, [*features, *derived])
        if not (set(range(len(features))) <= set(found) and found.min() >= 0):
            others = sorted({*wanted} ^ {*features, *(set(derived) & set(wanted))})
            raise InvalidInput(
                f"'classifier' must have the density's columns. They differ in {quote(others)}: "
                "fit both on the same columns, or pass a function that makes its columns from "
                "these.",
                argument="classifier",
            )
        return wanted
    width = getattr(owner, "n_features_in_", len(features))
    if width != len(features):
        left_out = density.left_out_
        why = f": the density leaves out {quote(left_out)}, fit it without" if left_out else ""
        raise InvalidInput(
            argument="classifier",
            expected=f"have the density's {len(features)} columns",
            got=f"{width}{why}",
        )
    return None


def match_columns(names: Iterable[str], features: Sequence[str]) -> IntArray:
    """Return the position of each name among the features, -1 where it is not among them.

    LightGBM turns spaces into underscores, and what it and xgboost refuse in names is renamed by
    their users: names that differ in such characters only are taken for the same.

    Example:
        >>> match_columns(["b", "mean_size"], ["mean size", "b"]).tolist()
        [1, 0]
    """
    wanted, known = pd.Index(names), pd.Index(features)
    if set(wanted) != set(known):
        wanted, known = (index.str.replace(r"\W", "_", regex=True) for index in (wanted, known))
    if not known.is_unique:
        return np.full(len(wanted), -1, dtype=np.intp)
    place: IntArray = known.get_indexer(wanted)
    return place


def check_probabilities(answer: Any, rows: int, classes: int) -> FloatArray:
    """Return a classifier's answer as an array of probabilities, shape `(rows, classes)`.

    Raises:
        InvalidInput: it is none.
    """
    try:
        shares = np.asarray(answer, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidInput(
            argument="classifier", expected="return numbers", got=type(answer).__name__
        ) from None
    if classes == 2 and shares.shape in ((rows,), (rows, 1)):
        second = shares.reshape(rows)
        shares = np.stack([1 - second, second], axis=1)
    if shares.shape != (rows, classes):
        raise InvalidInput(
            argument="classifier",
            expected=f"return a probability for each of {rows} rows and {classes} classes, "
            f"shape ({rows}, {classes})",
            got=str(shares.shape),
        )
    lost = int(np.isnan(shares).any(axis=1).sum())
    if lost:
        raise InvalidInput(
            argument="classifier",
            expected="return probabilities",
            got=f"NaN for {lost} of {rows} rows",
            remedy="let it answer for any numbers, or bound the features with Constraints",
        )
    off = float(np.abs(shares.sum(axis=1) - 1).max(initial=0.0))
    if not (off <= SUM_TOLERANCE and shares.min(initial=0.0) >= -SUM_TOLERANCE):
        raise InvalidInput(
            argument="classifier",
            expected="return probabilities, from 0 to 1, that add up to 1",
            got=str(np.array2string(shares[np.abs(shares.sum(axis=1) - 1).argmax()], precision=3)),
            remedy="if these are scores, put a softmax (or, for one score, a sigmoid) behind them",
        )
    return np.clip(shares, 0.0, 1.0)


def _in_words(thing: object) -> str:
    return f"the class {thing.__name__}" if isinstance(thing, type) else type(thing).__name__
