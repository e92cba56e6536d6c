"""Trees and forests of scikit-learn, asked without the checks that take most of their time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from daace._typing import FloatArray

#: Models whose probabilities are the mean of those in the leaves of their trees.
FORESTS = ("RandomForestClassifier", "ExtraTreesClassifier", "DecisionTreeClassifier")


def is_forest(thing: object) -> bool:
    """Whether something is a tree or forest of scikit-learn, and no subclass of one."""
    kind = type(thing)
    return kind.__module__.startswith("sklearn.") and kind.__name__ in FORESTS


class Forest:
    """The probabilities of a fitted tree or forest, bit by bit those of its `predict_proba`.

    For few rows, nearly all time of `predict_proba` goes into the preparations of each tree: a
    hundred trees are asked about ten rows in 4 ms, and here in 0.2 ms.

    Args:
        model: a tree or forest of scikit-learn; it is read anew at every call, as its user may
            fit it again.

    Example:
        >>> from sklearn.tree import DecisionTreeClassifier
        >>> model = DecisionTreeClassifier(random_state=0).fit([[0.0], [1.0]], ["no", "yes"])
        >>> Forest(model)(np.array([[0.9]])).tolist()
        [[0.0, 1.0]]
    """

    def __init__(self, model: Any) -> None:
        self._model = model

    def __call__(self, rows: FloatArray | pd.DataFrame) -> Any:
        """Return the probabilities of rows whose columns are in the order of the model."""
        model = self._model
        numbers = rows if isinstance(rows, np.ndarray) else rows.to_numpy(dtype=np.float64)
        with np.errstate(over="ignore"):
            single = np.ascontiguousarray(numbers, dtype=np.float32)
        if model.n_outputs_ != 1 or not np.isfinite(single).all():
            names = getattr(model, "feature_names_in_", None)  # what it cannot judge, it refuses
            return model.predict_proba(rows if names is None else pd.DataFrame(rows, columns=names))
        trees = getattr(model, "estimators_", [model])
        shares = np.zeros((len(single), int(model.n_classes_)))
        for tree in trees:
            shares += tree.tree_.predict(single)
        shares /= len(trees)
        return shares
