"""Gaussian components, each of one class: what networks with profiles and mixtures are made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from daace._typing import FloatArray, IntArray, Pullback
from daace.density.bayes import log_sum_exp
from daace.density.codes import CodeTables
from daace.density.draws import DRAWS_SEED, draw_classes
from daace.density.gaussian import WhitenedGaussians
from daace.density.segments import ToEnd


@dataclass(frozen=True, eq=False)
class ClassComponents:
    """`p(x, d, y=k) = sum over the components c of class k of w_c p(d | c) N(x; mu_c, Sigma_c)`.

    Without codes d it is a mixture of Gaussians. With codes, `p(d | c)` is a product of tables,
    and a number that stands at an atom is given: its factor drops out of `N(x; mu_c, Sigma_c) =
    prod_i p(x_i | those that number i depends on)`.

    Attributes:
        gaussians: the components; their weights sum to 1 over all classes.
        owner: class index of each component, in ascending order.
        classes: number of classes; each has a component.
        codes: tables of the codes, None if all columns are numbers without atoms.
    """

    gaussians: WhitenedGaussians
    owner: IntArray
    classes: int
    codes: CodeTables | None = None

    @cached_property
    def single(self) -> bool:
        """Whether every class is one Gaussian."""
        return len(self.owner) == self.classes

    @cached_property
    def members(self) -> list[slice]:
        """The components of each class."""
        ends = np.searchsorted(self.owner, np.arange(self.classes + 1)).tolist()
        return [slice(begin, end) for begin, end in pairwise(ends)]

    @cached_property
    def resolution(self) -> float:
        """Length over which log p may bend: the smallest standard deviation of a component."""
        if self.single or not self.gaussians.offsets.size:
            return np.inf
        return float(1 / np.linalg.norm(self.gaussians.whiteners, ord=2, axis=(1, 2)).max())

    @property
    def line_weights(self) -> dict[int, float]:
        """H by column, for numbers with atoms; see `weigh_lines`."""
        if self.codes is None:
            return {}
        layout, measure = self.codes.layout, self.codes.measure
        return {int(layout.numbers[i]): float(measure[i]) for i in layout.atomic}

    def log_joint(self, X: FloatArray) -> FloatArray:
        """Return log p(x, y) of rows, shape `(rows, classes)`, block by block."""
        blocks = self.gaussians.blocks(len(X))
        return np.concatenate([self.log_joint_and_pullback(X[part])[0] for part in blocks])

    def log_joint_and_pullback(self, X: FloatArray) -> tuple[FloatArray, Pullback]:
        """Return log p(x, y) of rows and its pullback, as `ConditionalDensity` defines them."""
        joint, pullback = self._by_component(X)
        log_joint, spread = self._by_class(joint)
        return log_joint, lambda W: pullback(spread(W))

    def log_joint_along(self, paths: FloatArray, nodes: FloatArray) -> tuple[FloatArray, Pullback]:
        """Return log p(x, y) along segments and its pullback, as `ConditionalDensity` defines."""
        joint, _, pullback = self._along(paths, nodes)
        nowhere = np.empty((len(paths), 0, self.classes))
        return joint, lambda W: pullback(W, nowhere)[0]

    def log_joint_to_end(self, paths: FloatArray, nodes: FloatArray) -> ToEnd:
        """Return log p(x, y) along segments and at ends, as `ConditionalDensity` defines it."""
        along, ends, pullback = self._along(paths, nodes)
        return along, ends[:, 0], pullback

    def _along(self, paths: FloatArray, nodes: FloatArray) -> ToEnd:
        """Return the same; ends have the shape `(paths, 1, classes)`, none without segments."""
        if self.codes is None:
            joint, ends, pullback = self.gaussians.log_joint_to_end(paths, nodes)
        else:
            layout = self.codes.layout
            numbers, codes = layout.split(paths)
            elsewhere = layout.elsewhere(codes[:, 1:])
            joint, ends, inner = self.gaussians.log_joint_to_end(numbers, nodes, elsewhere)
            logs = self._log_codes(codes[:, 1:], elsewhere)
            joint += logs[:, :, None]
            ends += logs[:, -1:]

            def pullback(W: FloatArray, V: FloatArray) -> tuple[FloatArray, FloatArray]:
                gradient, slopes = inner(W, V)
                return layout.join(gradient), layout.join(slopes)

        along, spread = self._by_class(joint)
        there, spread_ends = self._by_class(ends)
        return along, there, lambda W, V: pullback(spread(W), spread_ends(V))

    def _by_component(self, X: FloatArray) -> tuple[FloatArray, Pullback]:
        """Return log p(x, y, component) of rows and its pullback."""
        if self.codes is None:
            return self.gaussians.log_joint_and_pullback(X)
        layout = self.codes.layout
        numbers, codes = layout.split(X)
        elsewhere = layout.elsewhere(codes)
        joint, pullback = self.gaussians.log_joint_and_pullback(numbers, elsewhere)
        joint += self._log_codes(codes, elsewhere)
        return joint, lambda W: layout.join(pullback(W))

    def _log_codes(self, codes: IntArray, elsewhere: FloatArray | None) -> FloatArray:
        """Return what codes add to log p of each component, with the measure taken off."""
        assert self.codes is not None
        measure = np.asarray(self.codes.log_measure(elsewhere))
        logs: FloatArray = self.codes.log_prob(codes) - measure[..., None]
        return logs

    def _by_class(self, joint: FloatArray) -> tuple[FloatArray, Callable[[FloatArray], FloatArray]]:
        """Sum the components of each class; they are the last axis.

        Return also what spreads weights of classes over their components. In memory the axis before
        the last one varies fastest, along which all operations are fast.
        """
        if self.single:
            return joint, lambda W: W
        *outer, inner, count = joint.shape
        log_joint = np.empty((*outer, self.classes, inner)).swapaxes(-1, -2)
        shares = np.empty((*outer, count, inner)).swapaxes(-1, -2)
        for k, part in enumerate(self.members):
            here, share = joint[..., part], shares[..., part]
            top = here.max(axis=-1)
            np.subtract(here, top[..., None], out=share)
            np.exp(share, out=share)
            total = share.sum(axis=-1)
            share /= total[..., None]
            np.add(top, np.log(total), out=log_joint[..., k])

        def spread(W: FloatArray) -> FloatArray:
            *outer, inner, _ = W.shape
            weights = np.empty((*outer, count, inner)).swapaxes(-1, -2)
            for k, part in enumerate(self.members):
                np.multiply(W[..., k, None], shares[..., part], out=weights[..., part])
            return weights

        return log_joint, spread

    def log_components(self, X: FloatArray) -> FloatArray:
        """Return log p(x, y, component) of rows, shape `(rows, components)`."""
        return self._by_component(X)[0]

    def sample(
        self, n: int, *, rng: np.random.Generator, index: int | None = None
    ) -> tuple[FloatArray, IntArray]:
        """Draw rows, and the component of each.

        Args:
            n: number of rows.
            rng: source of the draws.
            index: draw from one class only.
        """
        logs = self.gaussians.log_weights
        if index is not None and not self.single:
            logs, index = np.where(self.owner == index, logs, -np.inf), None
        chosen = draw_classes(logs, n, rng=rng, index=index)
        return self.draw(chosen, rng=rng), chosen

    def draw(self, components: IntArray, *, rng: np.random.Generator) -> FloatArray:
        """Draw one row for each entry of `components`."""
        if self.codes is None:
            return self.gaussians.sample(components, rng=rng)
        layout = self.codes.layout
        codes = self.codes.sample(components, rng=rng)
        numbers = self.gaussians.sample(
            components,
            rng=rng,
            elsewhere=layout.elsewhere(codes),
            values=layout.atom_values(codes),
        )
        return layout.join(numbers, codes)

    def draw_given(
        self, fixed: IntArray, x: FloatArray, draws: int, *, index: int | None = None
    ) -> FloatArray:
        """Return draws of numbers that share some features with a row, shape `(draws, n)`.

        The draws of all rows come from the same standard normal numbers, and components are drawn
        systematically, so that rows which differ little get draws that differ little.

        Args:
            fixed: columns of the shared features; at least one feature is free.
            x: the row, shape `(n,)`.
            draws: how many.
            index: draw from one class only.
        """
        conditional = self.given(fixed, x[fixed])[0]
        logs = conditional.gaussians.log_weights
        if index is not None:
            logs = np.where(self.owner == index, logs, -np.inf)
        shares = np.cumsum(np.exp(logs - logs.max()))
        marks = (np.arange(draws) + 0.5) / draws * shares[-1]
        X = np.repeat(x[None], draws, axis=0)
        X[:, np.setdiff1d(np.arange(len(x)), fixed)] = conditional.gaussians.sample(
            np.searchsorted(shares, marks), rng=np.random.default_rng(DRAWS_SEED)
        )
        return X

    def given(self, fixed: IntArray, values: FloatArray) -> tuple[ClassComponents, float]:
        """Return p(x_free, y | x_fixed) as components over the free features, and log p(x_fixed).

        The residuals of a component are `r = F x_free + v`, with F the columns of its whitener
        that belong to the free features and v what the fixed values make of the rest. With F = QR,
        `|r|^2 = |R x_free + Q'v|^2 + |v|^2 - |Q'v|^2`: R whitens the free features, and what is
        left is the component's density of the fixed ones.

        Args:
            fixed: columns of the fixed features; at least one feature is free.
            values: their values, shape `(fixed,)`.
        """
        gaussians, n = self.gaussians, self.gaussians.offsets.shape[1]
        free = np.setdiff1d(np.arange(n), fixed)
        rest = gaussians.whiteners[:, :, fixed] @ values + gaussians.offsets
        Q, R = np.linalg.qr(gaussians.whiteners[:, :, free])
        offsets = np.einsum("cnf,cn->cf", Q, rest)
        beside = (rest**2).sum(axis=1) - (offsets**2).sum(axis=1)
        determinants = np.linalg.slogdet(gaussians.whiteners)[1] - np.linalg.slogdet(R)[1]
        logs = gaussians.log_weights + determinants - 0.5 * np.maximum(beside, 0.0)
        logs -= 0.5 * len(fixed) * np.log(2 * np.pi)
        total = float(log_sum_exp(logs[None])[0])
        conditional = WhitenedGaussians(logs - total, R, offsets)
        return ClassComponents(conditional, self.owner, self.classes), total
