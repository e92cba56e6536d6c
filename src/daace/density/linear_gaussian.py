"""Conditional linear Gaussian network: the Bayesian network of BayesACE."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Literal, Self

import numpy as np
import pandas as pd

from daace._checks import check_choice, check_integer
from daace._typing import FloatArray, IntArray, Labels, Pullback
from daace._warnings import warn_user
from daace._wording import quote
from daace.data.table import Table
from daace.density.base import ConditionalDensity
from daace.density.draws import HeldOut, draw_classes
from daace.density.gaussian import WhitenedGaussians
from daace.density.network.families import (
    VARIANCE_FLOOR,
    SufficientStatistics,
    Terms,
    fit_parameters,
    gaussian_scores,
    most_parents,
    regress,
)
from daace.density.network.graph import Structure, topological_order
from daace.density.network.hill_climbing import hill_climb
from daace.density.privacy import FEWEST_ROWS
from daace.density.splits import split_for_check
from daace.density.transaction import all_or_nothing
from daace.exceptions import InvalidInput

Arcs = Iterable[tuple[str, str]]


class LinearGaussianNetwork(ConditionalDensity):
    """p(x, y) = p(y) prod_i N(x_i; b0 + b' parents_i, s2), the class a root among the parents.

    A conditional linear Gaussian network (Lauritzen and Wermuth 1989, doi:10.1214/aos/1176347003).
    Coefficients and variance of a feature depend on the class if the class is its parent. The
    structure is found by hill climbing on the BIC (Schwarz 1978, doi:10.1214/aos/1176344136), see
    `hill_climb`; coefficients are estimated by least squares, variances without bias. Given the
    class, x is a single Gaussian, so density and gradient are one matrix product.

    No row can be read out of the parameters: every class has at least 10 rows, and a feature has
    at least two parameters (coefficients, intercept, variance) fewer than there are rows in the
    class, or in the table if the class is not its parent.

    Args:
        start: 'naive' begins with the class as parent of every feature, 'empty' with no arcs.
        max_parents: largest number of parents of a feature, the class included; None for no limit.
        forced: arcs (parent, child) by name that the graph must have; the class has the name of
            the target column.
        forbidden: arcs that the graph must not have. The class never has parents.

    Attributes:
        arcs_: arcs (parent, child) by name.
        log_prior_: log p(y).
        coefficients_: `coefficients_[k, i, j]` of parent j in the mean of feature i, class k.
        intercepts_: intercept of each feature, shape `(classes, features)`.
        variances_: residual variance of each feature, shape `(classes, features)`.

    Example:
        >>> from daace.data.catalog import load_table
        >>> network = LinearGaussianNetwork(max_parents=2).fit(load_table("iris"))
        >>> ("class", "petal length") in network.arcs_
        True
    """

    kind: ClassVar[str] = "linear-gaussian"
    fewest_rows: ClassVar[int] = FEWEST_ROWS

    def __init__(
        self,
        *,
        start: Literal["naive", "empty"] = "naive",
        max_parents: int | None = None,
        forced: Arcs = (),
        forbidden: Arcs = (),
    ) -> None:
        check_choice("start", start, ("naive", "empty"))
        if max_parents is not None:
            check_integer("max_parents", max_parents, at_least=0)
        self.start = start
        self.max_parents = max_parents
        self.forced = tuple(forced)
        self.forbidden = tuple(forbidden)

    @all_or_nothing
    def fit(self, table: Table) -> Self:
        """Learn structure and parameters.

        Args:
            table: rows with their class.

        Raises:
            InvalidInput: a class has fewer than 10 rows; or arcs name unknown columns, contradict
                each other, make a cycle, or are too many for the rows of a class.
        """
        X, y = self._learn_names(table)
        stats = SufficientStatistics.of(X, y, len(self.classes_))
        forced = self._structure(self.forced, "forced")
        forbidden = self._structure(self.forbidden, "forbidden")
        begin = self._begin(forced, forbidden, stats)
        structure = hill_climb(
            stats, begin, max_parents=self.max_parents, forced=forced, forbidden=forbidden
        )
        return self._learn(stats, structure)

    @all_or_nothing
    def fit_arcs(self, table: Table, arcs: Arcs) -> Self:
        """Learn the parameters only, for a given graph.

        Args:
            table: rows with their class.
            arcs: arcs (parent, child) by name.

        Raises:
            InvalidInput: a class has fewer than 10 rows; or arcs name unknown columns, make a
                cycle, or are too many for the rows of a class.
        """
        X, y = self._learn_names(table)
        stats = SufficientStatistics.of(X, y, len(self.classes_))
        structure = self._structure(arcs, "arcs")
        self._check_counts(structure, stats, "arcs")
        return self._learn(stats, structure)

    def held_out(self, table: Table) -> HeldOut | None:
        """Return what a network of four fifths of the rows says of the others."""
        parts = split_for_check(table)
        if parts is None:
            return None
        return type(self)(**self.get_params()).fit(parts[0]).judge_table(parts[1])

    def bic(self, table: Table) -> float:
        """Return the BIC of this graph on a table, in model space: higher is better.

        It is -inf if a class has too few rows to learn the graph from them.

        Args:
            table: rows with their class.
        """
        X = self.to_model(table.to_frame())
        y = np.searchsorted(self.classes_, table.y)
        stats = SufficientStatistics.of(X, y, len(self.classes_))
        members = stats.counts[:-1]
        total = float((members * np.log(members / stats.rows)).sum())
        total -= 0.5 * float(np.log(stats.rows)) * (len(members) - 1)
        for child in range(len(self.features_)):
            parents = self.structure_.parents(child)
            with_class = bool(self.structure_.class_arcs[child])
            _, residuals = regress(stats, child, parents, with_class)
            counts = stats.counts[stats.groups(with_class)]
            terms = Terms.of(counts, np.array([len(parents)]), stats.rows)
            total += float(gaussian_scores(counts, residuals[:, None], terms).sum())
        return total

    @property
    def arcs_(self) -> list[tuple[str, str]]:
        """Arcs (parent, child) by name, those of the class first."""
        self._check_fitted()
        names = self.features_
        from_class = [(self.target_, names[j]) for j in np.flatnonzero(self.structure_.class_arcs)]
        return from_class + [(names[i], names[j]) for i, j in np.argwhere(self.structure_.arcs)]

    def coefficients_frame(self) -> pd.DataFrame:
        """Return parent, child, class and coefficient of each arc between features.

        Coefficients are in model space: standard deviations of the child per standard deviation
        of the parent.
        """
        rows = [
            (self.features_[i], self.features_[j], label, self.coefficients_[k, j, i])
            for i, j in np.argwhere(self.structure_.arcs)
            for k, label in enumerate(self.classes_.tolist())
        ]
        return pd.DataFrame(rows, columns=["parent", "child", self.target_, "coefficient"])

    def log_joint(self, X: FloatArray) -> FloatArray:
        """Return log p(x, y) for every class, shape `(rows, classes)`, block by block."""
        rows = self._check_rows(X)
        parts = [self.log_joint_and_pullback(rows[b])[0] for b in self.gaussians_.blocks(len(X))]
        return np.concatenate(parts)

    def log_joint_and_pullback(self, X: FloatArray) -> tuple[FloatArray, Pullback]:
        return self.gaussians_.log_joint_and_pullback(X)

    def log_joint_along(self, paths: FloatArray, nodes: FloatArray) -> tuple[FloatArray, Pullback]:
        return self.gaussians_.log_joint_along(paths, nodes)

    def sample(
        self, n: int, *, rng: np.random.Generator, label: object = None
    ) -> tuple[FloatArray, Labels]:
        index = None if label is None else self.class_index(label)
        chosen: IntArray = draw_classes(self.log_prior_, n, rng=rng, index=index)
        return self.gaussians_.sample(chosen, rng=rng), self.classes_[chosen]

    def to_arrays(self) -> tuple[dict[str, FloatArray], dict[str, Any]]:
        arrays = {
            "log_prior": self.log_prior_,
            "coefficients": self.coefficients_,
            "intercepts": self.intercepts_,
            "variances": self.variances_,
            "arcs": self.structure_.arcs.astype(np.float64),
            "class_arcs": self.structure_.class_arcs.astype(np.float64),
        }
        settings = {
            "start": self.start,
            "max_parents": self.max_parents,
            "forced": [list(arc) for arc in self.forced],
            "forbidden": [list(arc) for arc in self.forbidden],
        }
        return arrays, settings

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, FloatArray], settings: Mapping[str, Any]) -> Self:
        network = cls(
            start=settings["start"],
            max_parents=settings["max_parents"],
            forced=tuple((a, b) for a, b in settings["forced"]),
            forbidden=tuple((a, b) for a, b in settings["forbidden"]),
        )
        k, n = arrays["intercepts"].shape
        expected = {
            "log_prior": (k,),
            "coefficients": (k, n, n),
            "variances": (k, n),
            "arcs": (n, n),
            "class_arcs": (n,),
        }
        for name, shape in expected.items():
            if arrays[name].shape != shape:
                raise ValueError(f"'{name}' has shape {arrays[name].shape}, not {shape}")
        if not (arrays["variances"] > 0).all():
            raise ValueError("a variance is not positive")
        if not all(np.isin(arrays[name], (0.0, 1.0)).all() for name in ("arcs", "class_arcs")):
            raise ValueError("an arc is neither there nor not there")
        structure = Structure(arrays["arcs"] > 0, arrays["class_arcs"] > 0)
        if (arrays["coefficients"][:, ~structure.arcs.T] != 0).any():
            raise ValueError("a coefficient stands where there is no arc")
        topological_order(structure.arcs)
        network._keep(
            arrays["log_prior"],
            arrays["coefficients"],
            arrays["intercepts"],
            arrays["variances"],
            structure,
        )
        return network

    def _keep(
        self,
        log_prior: FloatArray,
        coefficients: FloatArray,
        intercepts: FloatArray,
        variances: FloatArray,
        structure: Structure,
    ) -> None:
        self.log_prior_ = log_prior
        self.coefficients_ = coefficients
        self.intercepts_ = intercepts
        self.variances_ = variances
        self.structure_ = structure
        self.gaussian_ = True
        inverse_sd = 1 / np.sqrt(variances)
        whiteners = inverse_sd[:, :, None] * (np.eye(intercepts.shape[1]) - coefficients)
        self.gaussians_ = WhitenedGaussians(log_prior, whiteners, -inverse_sd * intercepts)

    def _learn(self, stats: SufficientStatistics, structure: Structure) -> Self:
        self._keep(*fit_parameters(stats, structure), structure)
        self._warn_collinear()
        self._describe_draws()
        return self

    def _structure(self, arcs: Arcs, argument: str) -> Structure:
        n = len(self.features_)
        position = {name: j for j, name in enumerate(self.features_)}
        structure = Structure(np.zeros((n, n), dtype=bool), np.zeros(n, dtype=bool))
        for arc in arcs:
            if isinstance(arc, str) or len(arc) != 2:
                raise InvalidInput(
                    argument=argument, expected="be pairs (parent, child)", got=repr(arc)
                )
            parent, child = (str(end) for end in arc)
            unknown = [
                end for end in (parent, child) if end not in position and end != self.target_
            ]
            if unknown:
                raise InvalidInput(
                    argument=argument, expected="name columns of the table", got=quote(unknown)
                )
            if child == self.target_:
                if argument == "forbidden":
                    continue  # the class never has parents anyway
                raise InvalidInput(
                    argument=argument,
                    expected="not point to the class",
                    got=f"('{parent}', '{child}')",
                    remedy="the class never has parents",
                )
            if parent == self.target_:
                structure.class_arcs[position[child]] = True
            else:
                structure.arcs[position[parent], position[child]] = True
        if argument != "forbidden":
            try:
                topological_order(structure.arcs)
            except ValueError:
                raise InvalidInput(argument=argument, expected="not make a cycle") from None
        return structure

    def _begin(
        self, forced: Structure, forbidden: Structure, stats: SufficientStatistics
    ) -> Structure:
        if (forced.arcs & forbidden.arcs).any() or (forced.class_arcs & forbidden.class_arcs).any():
            raise InvalidInput(
                argument="'forced' and 'forbidden'", expected="not name the same arc"
            )
        self._check_counts(forced, stats, "forced")
        class_arcs = forced.class_arcs.copy()
        limit = self.max_parents
        parents = forced.arcs.sum(axis=0)
        if self.start == "naive":
            room = parents <= most_parents(stats.counts[:-1].min())
            room &= limit is None or parents < limit
            class_arcs |= ~forbidden.class_arcs & room
        parents = parents + forced.class_arcs
        if limit is not None and (parents > limit).any():
            child = self.features_[int(np.argmax(parents))]
            raise InvalidInput(
                argument="forced",
                expected=f"keep to max_parents={limit}",
                got=f"{parents.max()} for '{child}'",
            )
        return Structure(forced.arcs.copy(), class_arcs)

    def _check_counts(
        self, structure: Structure, stats: SufficientStatistics, argument: str
    ) -> None:
        """Raise unless every family has enough rows for its parents."""
        parents = structure.arcs.sum(axis=0)
        fewest = np.where(structure.class_arcs, stats.counts[:-1].min(), stats.rows)
        most = most_parents(fewest)
        lacking = np.flatnonzero(parents > most)
        if len(lacking):
            child = int(lacking[0])
            where = "the smallest class" if structure.class_arcs[child] else "the table"
            raise InvalidInput(
                argument=argument,
                expected=(
                    f"give '{self.features_[child]}' at most {most[child]:g} parents beside the "
                    f"class, as {where} has {fewest[child]:g} rows"
                ),
                got=str(parents[child]),
            )

    def _warn_collinear(self) -> None:
        floored = np.flatnonzero(np.any(self.variances_ <= VARIANCE_FLOOR, axis=0))
        if len(floored):
            names = [self.features_[j] for j in floored]
            warn_user(
                f"Nearly no variance is left in {quote(names)} given the class and other columns "
                "(a copy or a sum of them, or constant in a class): consider dropping them.",
            )
