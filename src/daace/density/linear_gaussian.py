"""Conditional linear Gaussian network, with or without hidden profiles: the density of BayesACE."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar, Literal, Self

import numpy as np
import pandas as pd

from daace._checks import check_choice, check_integer, check_word_or
from daace._typing import FloatArray, IntArray, Labels, Pullback
from daace._warnings import warn_user
from daace._wording import quote
from daace.data.spacing import find_spacing
from daace.data.table import Table, check_numbers, check_table
from daace.density.base import ConditionalDensity
from daace.density.base_measure import weigh_lines
from daace.density.codes import CodeLayout, CodeTables
from daace.density.components import ClassComponents
from daace.density.draws import HeldOut, check_draw
from daace.density.gaussian import WhitenedGaussians
from daace.density.given import draw_given_components, given_components
from daace.density.network.arc_rules import Arcs, check_counts, first_graph, read_arcs
from daace.density.network.expectation import MonomialRows
from daace.density.network.families import (
    VARIANCE_FLOOR,
    SufficientStatistics,
    fit_parameters,
    network_bic,
)
from daace.density.network.graph import Structure
from daace.density.network.hill_climbing import hill_climb
from daace.density.network.mixed_profiles import MixedLearner
from daace.density.network.mixed_rows import MixedRows
from daace.density.network.profile_count import (
    NumbersAndCodes,
    NumbersOnly,
    ProfileTrial,
    Trade,
    count_profiles,
    trials_frame,
)
from daace.density.network.profiles import Climb, ProfileLearner, ProfileParameters
from daace.density.network_arrays import (
    components_to_arrays,
    graph_to_arrays,
    parameters_from_arrays,
    tables_from_arrays,
)
from daace.density.privacy import FEWEST_ROWS, count_copies
from daace.density.profile_words import describe_profiles, find_profiles, number_within
from daace.density.segments import ToEnd
from daace.density.splits import split_for_check
from daace.density.transaction import all_or_nothing


class LinearGaussianNetwork(ConditionalDensity):
    """p(x, y) = p(y) sum_h p(h | y) prod_i N(x_i; b0 + b' parents_i, s2).

    A conditional linear Gaussian network (Lauritzen and Wermuth 1989, doi:10.1214/aos/1176347003)
    whose class is a root among the parents. With `profiles=1` there is no sum: that is the paper's
    network, in which a class is a single Gaussian. With more, every class has hidden profiles h,
    kinds of people, which the features depend on as they do on the class.

    Coefficients and variance of a feature depend on class and profile if the class is its parent.
    The structure is found by hill climbing on the BIC (Schwarz 1978,
    doi:10.1214/aos/1176344136), see `hill_climb`; coefficients are estimated by least squares,
    variances without bias; profiles by EM, see `ProfileLearner`. Given class and profile, x is a
    single Gaussian, so density and gradient are one matrix product.

    No row can be read out of the parameters: every class has at least 10 different rows, every
    profile at least 10 and at least twice the number of features, and the parameters of a feature
    (coefficients, intercept, variance) are at least two fewer than the rows of the class or
    profile, or of the table if the class is not its parent. See `privacy` for codes and copies.

    Args:
        start: 'naive' begins with the class as parent of every feature, 'empty' with no arcs.
        max_parents: largest number of parents of a feature, the class included; None for no limit.
        forced: arcs (parent, child) by name that the graph must have; the class has the name of
            the target column.
        forbidden: arcs that the graph must not have. The class never has parents.
        profiles: number of profiles of each class, or 'auto' to choose it by the likelihood of
            held-out rows, class by class; see `choose_profiles`. There are fewer if a profile
            would have too few rows.

    Attributes:
        arcs_: arcs (parent, child) by name.
        log_prior_: log p(y).
        components_: the profiles of all classes as Gaussians.
        profiles_: a frame of the profiles: class, number, share of the class, and description.
        trials_: with 'auto', a frame of the numbers that were tried: class, profiles, mean log
            p(x | y) of held-out rows, and BIC per row.
        coefficients_: `coefficients_[c, i, j]` of parent j in the mean of feature i, component c.
        intercepts_: intercept of each feature, shape `(components, features)`.
        variances_: residual variance of each feature, shape `(components, features)`.

    Example:
        >>> from daace.data.catalog import load_table
        >>> network = LinearGaussianNetwork(max_parents=2).fit(load_table("iris"))
        >>> ("class", "petal length") in network.arcs_
        True
    """

    kind: ClassVar[str] = "linear-gaussian"
    fewest_rows: ClassVar[int] = FEWEST_ROWS
    takes_codes: ClassVar[bool] = True

    def __init__(
        self,
        *,
        start: Literal["naive", "empty"] = "naive",
        max_parents: int | None = None,
        forced: Arcs = (),
        forbidden: Arcs = (),
        profiles: int | Literal["auto"] = 1,
    ) -> None:
        check_choice("start", start, ("naive", "empty"))
        if max_parents is not None:
            check_integer("max_parents", max_parents, at_least=0)
        check_word_or(
            partial(check_integer, at_least=1), "profiles", profiles,
            word="auto", expected="be an integer of at least 1, or 'auto'",
        )  # fmt: skip
        self.start = start
        self.max_parents = max_parents
        self.forced = tuple(forced)
        self.forbidden = tuple(forbidden)
        self.profiles = profiles

    @all_or_nothing
    def fit(self, table: Table, *, progress: bool = False) -> Self:
        """Learn structure, profiles and parameters.

        Args:
            table: rows with their class.
            progress: show a bar on stderr while numbers of profiles are tried.

        Raises:
            InvalidInput: a class has fewer than 10 rows; or arcs name unknown columns, contradict
                each other, make a cycle, or are too many for the rows of a class.
        """
        return self._fit(table, None, progress)

    def _fit(self, table: Table, counts: list[int] | None, progress: bool) -> Self:
        """Fit with these numbers of profiles, or those of the settings."""
        X, y = self._learn_names(table)
        layout = CodeLayout.of(self.encoding_, self.standardizer_)
        coded = bool(self.encoding_.code_sizes)
        numbers = X[:, layout.numbers] if coded else X
        stats = SufficientStatistics.of(numbers, y, len(self.classes_))
        climb = self._climb(stats)
        order = np.lexsort((*X.T[::-1], y))  # any order of the rows gives this one
        ends = np.searchsorted(y[order], np.arange(1, len(self.classes_)))
        rows = np.split(X[order], ends)
        counted = np.split(count_copies(numbers, y)[order], ends)
        grid = _rounding(table) / self.standardizer_.scale**2
        trade: Trade = NumbersOnly(grid, climb)
        if coded:
            grid = grid[layout.numbers]
            trade = NumbersAndCodes(layout, grid, climb)
        trials: list[list[ProfileTrial]] = []
        if counts is None and self.profiles == "auto":
            counts, trials = count_profiles(rows, trade, progress=progress)
        counts = counts or [int(self.profiles)] * len(rows)
        codes = None
        if coded:
            both = zip(rows, counted, strict=True)
            groups = [MixedRows(group, layout, own) for group, own in both]
            mixed, structure, _ = MixedLearner(groups, grid, climb).learn(counts)
            parameters = mixed.numbers
            codes = CodeTables(layout, mixed.parents, mixed.tables, np.zeros(len(layout.numbers)))
        elif max(counts) > 1:
            plain = [MonomialRows(*group) for group in zip(rows, counted, strict=True)]
            learner = ProfileLearner(plain, stats, grid, climb)
            parameters, structure, _ = learner.learn(counts)
        else:
            structure = climb(stats, None)
            parameters = ProfileParameters.without_profiles(*fit_parameters(stats, structure))
        self._keep(parameters, structure, codes)
        self.trials_ = trials_frame(trials, self.classes_, self.target_)
        self._finish()
        return self

    @all_or_nothing
    def fit_arcs(self, table: Table, arcs: Arcs) -> Self:
        """Learn the parameters only, for a given graph without profiles.

        Args:
            table: rows with their class.
            arcs: arcs (parent, child) by name.

        Raises:
            InvalidInput: a class has fewer than 10 rows; or arcs name unknown columns, make a
                cycle, or are too many for the rows of a class.
        """
        check_table(table)
        check_numbers(table)
        X, y = self._learn_names(table)
        stats = SufficientStatistics.of(X, y, len(self.classes_))
        structure = read_arcs(arcs, "arcs", self.features_, self.target_)
        check_counts(structure, stats, "arcs", self.features_)
        self._keep(ProfileParameters.without_profiles(*fit_parameters(stats, structure)), structure)
        self._finish()
        return self

    def held_out(self, table: Table) -> HeldOut | None:
        """Evaluate a network fitted on four fifths of the rows on the others."""
        parts = split_for_check(table)
        if parts is None:
            return None
        return self.refit(parts[0]).judge_table(parts[1])

    def refit(self, table: Table) -> Self:
        """Return a network of other rows, with the same settings and numbers of profiles."""
        counts = np.bincount(self.components_.owner).tolist()
        return type(self)(**self.get_params())._fit(table, counts, False)

    def bic(self, table: Table) -> float:
        """Return the BIC of this graph, without profiles, on a table: higher is better.

        It is that of the rows in model space, and -inf if a class has too few rows to learn the
        graph from them.

        Args:
            table: rows with their class, all of them numbers.
        """
        check_numbers(table)
        X = self.to_model(table.to_frame())
        y = np.searchsorted(self.classes_, table.y)
        stats = SufficientStatistics.of(X, y, len(self.classes_))
        return network_bic(stats, self.structure_)

    @property
    def arcs_(self) -> list[tuple[str, str]]:
        """Arcs (parent, child) by name, those of the class first."""
        self._check_fitted()
        names = self._numbers
        from_class = [(self.target_, names[j]) for j in np.flatnonzero(self.structure_.class_arcs)]
        between = [(names[i], names[j]) for i, j in np.argwhere(self.structure_.arcs)]
        codes = self.components_.codes
        if codes is None:
            return from_class + between
        names = [self.encoding_.column_names[column] for column in codes.layout.columns]
        from_class += [(self.target_, name) for name in names]
        between += [(names[i], names[j]) for j, i in enumerate(codes.parents) if i >= 0]
        return from_class + between

    @property
    def _numbers(self) -> list[str]:
        """Names of the features that are numbers, to which `structure_` and coefficients refer."""
        return [self.features_[j] for j in self.encoding_.number_columns]

    @property
    def profiles_(self) -> pd.DataFrame:
        """The profiles: class, number, share of the class, and description."""
        self._check_fitted()
        return describe_profiles(self.components_, self.classes_, self.encoding_, self.target_)

    def find_profiles(self, X: FloatArray) -> tuple[list[str], dict[str, str]]:
        return find_profiles(self.components_, X, self.classes_, self.encoding_)

    def coefficients_frame(self) -> pd.DataFrame:
        """Return parent, child, class, profile and coefficient of each arc between features.

        Coefficients are in model space: standard deviations of the child per standard deviation
        of the parent.
        """
        owner, names = self.components_.owner, self._numbers
        rows = [
            (names[i], names[j], label, number, self.coefficients_[c, j, i])
            for i, j in np.argwhere(self.structure_.arcs)
            for c, (label, number) in enumerate(
                zip(self.classes_[owner].tolist(), number_within(owner), strict=True)
            )
        ]
        columns = ["parent", "child", self.target_, "profile", "coefficient"]
        return pd.DataFrame(rows, columns=columns)

    def log_joint(self, X: FloatArray) -> FloatArray:
        """Return log p(x, y) for every class, shape `(rows, classes)`, block by block."""
        rows = self._check_rows(X)
        return self.components_.log_joint(rows)

    def log_joint_and_pullback(self, X: FloatArray) -> tuple[FloatArray, Pullback]:
        return self.components_.log_joint_and_pullback(X)

    def log_joint_along(self, paths: FloatArray, nodes: FloatArray) -> tuple[FloatArray, Pullback]:
        return self.components_.log_joint_along(paths, nodes)

    def log_joint_to_end(self, paths: FloatArray, nodes: FloatArray, looks: int) -> ToEnd:
        return self.components_.log_joint_to_end(paths, nodes)

    def sample(
        self, n: int, *, rng: np.random.Generator, label: object = None
    ) -> tuple[FloatArray, Labels]:
        check_draw(n, rng)
        index = None if label is None else self.class_index(label)
        X, chosen = self.components_.sample(n, rng=rng, index=index)
        return X, self.classes_[self.components_.owner[chosen]]

    def given(self, values: Mapping[str, object]) -> ConditionalDensity:
        return given_components(self, self.components_, values)

    def draw_given(
        self, fixed: IntArray, x: FloatArray, draws: int, *, label: object = None
    ) -> FloatArray | None:
        index = None if label is None else self.class_index(label)
        return draw_given_components(self.components_, fixed, x, draws, index)

    def to_arrays(self) -> tuple[dict[str, FloatArray], dict[str, Any]]:
        arrays = {
            "log_prior": self.log_prior_,
            "coefficients": self.coefficients_,
            "intercepts": self.intercepts_,
            "variances": self.variances_,
            **graph_to_arrays(self.structure_),
            **components_to_arrays(self.components_),
        }
        settings = {
            "start": self.start,
            "max_parents": self.max_parents,
            "forced": [list(arc) for arc in self.forced],
            "forbidden": [list(arc) for arc in self.forbidden],
            "profiles": self.profiles,
        }
        return arrays, settings

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, FloatArray], settings: Mapping[str, Any]) -> Self:
        network = cls(
            start=settings["start"],
            max_parents=settings["max_parents"],
            forced=tuple((a, b) for a, b in settings["forced"]),
            forbidden=tuple((a, b) for a, b in settings["forbidden"]),
            profiles=settings.get("profiles", 1),  # files of earlier versions have none
        )
        parameters, structure = parameters_from_arrays(arrays)
        codes = None
        if "encoding" in settings:
            codes = tables_from_arrays(arrays, settings["encoding"], parameters)
        network._keep(parameters, structure, codes)
        network.log_prior_ = arrays["log_prior"]
        return network

    def _keep(
        self,
        parameters: ProfileParameters,
        structure: Structure,
        codes: CodeTables | None = None,
    ) -> None:
        self.log_prior_ = parameters.log_prior
        self.coefficients_ = parameters.coefficients
        self.intercepts_ = parameters.intercepts
        self.variances_ = parameters.variances
        self.structure_ = structure
        gaussians = WhitenedGaussians(parameters.log_weights, *parameters.whitened())
        components = ClassComponents(gaussians, parameters.owner, len(self.log_prior_), codes)
        measured = codes is not None and codes.measure.any()  # as recorded in a model file
        self.components_ = components if measured else weigh_lines(components)
        self.line_weights_ = self.components_.line_weights
        self.gaussian_ = self.components_.single and codes is None
        self.resolution_ = self.components_.resolution

    def _finish(self) -> None:
        floored = np.flatnonzero(np.any(self.variances_ <= VARIANCE_FLOOR, axis=0))
        if len(floored):
            names = [self._numbers[j] for j in floored]
            warn_user(
                f"Nearly no variance is left in {quote(names)} given the class and other columns "
                "(a copy or a sum of them, or constant in a class): consider dropping them.",
            )
        self._describe_draws()

    def _climb(self, table: SufficientStatistics) -> Climb:
        """Return the search for a graph that keeps to the settings."""
        names = self._numbers
        forced = read_arcs(self.forced, "forced", names, self.target_)
        forbidden = read_arcs(self.forbidden, "forbidden", names, self.target_)
        most = self.max_parents
        first = first_graph(
            forced, forbidden, table, start=self.start, max_parents=most, features=names
        )

        def climb(stats: SufficientStatistics, before: Structure | None) -> Structure:
            begin = first if before is None else before
            return hill_climb(stats, begin, max_parents=most, forced=forced, forbidden=forbidden)

        return climb


def _rounding(table: Table) -> FloatArray:
    """Return the variance that rounding hides in each column (Sheppard's correction)."""
    atoms = table.encoding.atom_columns
    found = np.zeros(table.X.shape[1])
    for j in table.encoding.number_columns:
        values = table.X[:, j]
        found[j] = find_spacing(values[table.X[:, atoms[j]] == 0] if j in atoms else values)
    return found**2 / 12
