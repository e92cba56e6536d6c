"""Pipelines of scikit-learn that prepare columns for a forest, asked without a frame.

A search asks about a few rows at a time, and their preparation takes longer than the forest itself.
Encoders treat each column by itself, so what they make of a level is looked up; scalers are a
difference and a quotient.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from daace._typing import FloatArray, IntArray
from daace.data.encoding import Encoding
from daace.explain.judging.trees import Forest, is_forest

#: Transformers that make something of each level of a column, whatever the other columns hold.
ENCODERS = ("OneHotEncoder", "OrdinalEncoder")

#: Transformers of numbers: where they keep what they subtract, and what they divide by.
SCALERS = {"StandardScaler": ("mean_", "scale_"), "RobustScaler": ("center_", "scale_")}


def is_forest_pipeline(thing: Any) -> bool:
    """Whether something is a fitted pipeline of a column transformer and a forest."""
    kind = type(thing)
    if not (kind.__module__ == "sklearn.pipeline" and kind.__name__ == "Pipeline"):
        return False
    steps = [step for _, step in thing.steps]
    return (
        len(steps) == 2
        and type(steps[0]).__module__ == "sklearn.compose._column_transformer"
        and hasattr(steps[0], "transformers_")
        and is_forest(steps[1])
    )


@dataclass(eq=False)
class ForestPipeline:
    """The probabilities of a pipeline with a forest, bit by bit those of its `predict_proba`.

    Args:
        pipeline: as in `is_forest_pipeline`; it is read anew at every call, as its user may fit it
            again.
        encoding: of the rows.
        place: the feature that each of the pipeline's columns shows or is computed from.
        frame: makes of rows in user units what the pipeline takes.
        whole: features that are rounded.
        trial: rows in user units at which lookups are compared with the pipeline.
    """

    pipeline: Any
    encoding: Encoding
    place: Mapping[str, int]
    frame: Callable[[FloatArray], Any]
    whole: IntArray
    trial: FloatArray
    _fitted: object = None
    _lookup: Lookup | None = None

    def __call__(self, rows: FloatArray) -> FloatArray | None:
        """Return the probabilities of rows in user units; None if the pipeline must be asked."""
        transformer, forest = (step for _, step in self.pipeline.steps)
        if transformer.transformers_ is not self._fitted:  # the first time, or fitted again
            self._fitted = transformer.transformers_
            self._lookup = self._make_lookup(transformer)
        prepared = None if self._lookup is None else self._lookup.prepare(self._shown(rows))
        return None if prepared is None else Forest(forest)(prepared)

    def _shown(self, rows: FloatArray) -> FloatArray:
        """Return rows with the numbers that the frame shows."""
        shown = rows.copy()
        shown[:, self.whole] = np.rint(shown[:, self.whole])
        for j, column in self.encoding.atom_columns.items():
            for code, atom in enumerate(self.encoding.features[j].atoms, start=1):
                shown[np.rint(rows[:, column]) == code, j] = atom
        return shown

    def _make_lookup(self, transformer: Any) -> Lookup | None:
        """Return a lookup that agrees with a column transformer bit by bit, if there is one."""
        coded = {j: feature for j, feature in enumerate(self.encoding.features) if feature.coded}
        numbers = list(_numbers(transformer, self.place, coded))
        if None in numbers:
            return None
        trial = self.trial[np.isfinite(self._shown(self.trial)).all(axis=1)]
        if not len(trial):
            return None
        base = trial[:1].copy()
        base[:, list(coded)] = 0
        rows, sizes = [base], [len(feature.words) for feature in coded.values()]
        for (j, feature), size in zip(coded.items(), sizes, strict=True):
            rows.append(np.repeat(base, size, axis=0))
            rows[-1][:, j] = [0 if code == feature.pool_code else code for code in range(size)]
        try:
            made = _dense(transformer.transform(self.frame(np.concatenate(rows))))
        except (ValueError, TypeError):  # a level that the pipeline does not know
            return None
        levels = {}
        for j, block in zip(coded, np.split(made[1:], np.cumsum(sizes)[:-1]), strict=True):
            own = np.flatnonzero((block != made[0]).any(axis=0))
            levels[j] = own, block[:, own]
        pools = {j: feature.pool_code for j, feature in coded.items() if feature.pooled}
        lookup = Lookup(made[0], np.array(numbers, dtype=np.float64).reshape(-1, 4), levels, pools)
        for j, pool in pools.items():
            trial[trial[:, j] == pool, j] = 0
        known = lookup.prepare(self._shown(trial))
        expected = _dense(transformer.transform(self.frame(trial)))
        return lookup if known is not None and np.array_equal(known, expected) else None


@dataclass(frozen=True, eq=False)
class Lookup:
    """What a column transformer makes of numbers and codes.

    Attributes:
        base: a prepared row.
        numbers: of each number its column among the rows and among the prepared ones, what is
            subtracted, and what it is divided by, shape `(numbers, 4)`.
        levels: by column of codes where its outputs are, and their values for each code.
        pools: codes that stand for more than one level, by column.
    """

    base: FloatArray
    numbers: FloatArray
    levels: Mapping[int, tuple[IntArray, FloatArray]]
    pools: Mapping[int, int | None]

    def prepare(self, rows: FloatArray) -> FloatArray | None:
        """Return prepared rows; None if one has a level or a gap that was not looked up."""
        codes = {j: np.rint(rows[:, j]).astype(np.intp) for j in self.levels}
        if any((codes[j] == pool).any() for j, pool in self.pools.items()):
            return None
        prepared = np.repeat(self.base[None], len(rows), axis=0)
        sources, places = self.numbers[:, :2].astype(np.intp).T
        prepared[:, places] = (rows[:, sources] - self.numbers[:, 2]) / self.numbers[:, 3]
        for j, (own, values) in self.levels.items():
            prepared[:, own] = values[codes[j]]
        return prepared if np.isfinite(prepared).all() else None


def _numbers(
    transformer: Any, place: Mapping[str, int], coded: Mapping[int, Any]
) -> Iterator[tuple[float, ...] | None]:
    """Yield the numbers of a `Lookup`; None for what cannot be looked up."""
    for name, part, columns in transformer.transformers_:
        block, kind = transformer.output_indices_[name], type(part).__name__
        if block.start == block.stop:
            continue
        named = not isinstance(columns, str) and all(str(column) in place for column in columns)
        sources = [place[str(column)] for column in columns] if named else [-1]
        numbers = [k for k, source in enumerate(sources) if source not in coded]
        through = kind == "FunctionTransformer" and part.func is None
        if kind == "SimpleImputer":  # a row with a gap is asked about as it is
            through = isinstance(part.missing_values, float) and np.isnan(part.missing_values)
        if kind in ENCODERS and not numbers:
            continue
        wide = block.stop - block.start != len(sources)
        if wide or not (named and (through or kind in SCALERS)):
            yield None
            continue
        fitted = [None, None] if through else [getattr(part, key) for key in SCALERS[kind]]
        shift, divide = (
            np.full(len(sources), neutral) if values is None else values
            for values, neutral in zip(fitted, (0.0, 1.0), strict=True)
        )
        for k in numbers:
            yield sources[k], block.start + k, shift[k], divide[k]


def _dense(prepared: Any) -> FloatArray:
    """Return the output of a transformer as an array."""
    dense = prepared.toarray() if hasattr(prepared, "toarray") else prepared
    return np.asarray(dense, dtype=np.float64)
