"""Components over numbers and codes, given some of their columns: exact weights and draws.

The likelihood of a fixed number may depend on which other numbers are at atoms. So the states of
the atoms that matter are enumerated: those of the free numbers on which fixed ones depend. Given
component and state, numbers are Gaussian, and codes follow a forest of tables.
"""

from __future__ import annotations

import math
from itertools import product

import numpy as np

from daace._typing import BoolArray, FloatArray, IntArray
from daace.density.bayes import log_sum_exp
from daace.density.codes import CodeTables
from daace.density.components import ClassComponents

#: Largest number of states of atoms that are enumerated.
MOST_STATES = 512


class ComponentsGiven:
    """Rows of components given some of their columns.

    Args:
        components: components with codes.
        fixed: the given columns.
        x: a row with the given values.

    Attributes:
        log_mass: log p of the given values.

    Raises:
        ValueError: there are more than `MOST_STATES` states of atoms that matter.
    """

    def __init__(self, components: ClassComponents, fixed: IntArray, x: FloatArray) -> None:
        assert components.codes is not None
        self._components, layout = components, components.codes.layout
        codes, self._numbers = layout.hold(fixed, x)
        matter = self._atoms_that_matter(codes)
        sizes = [layout.sizes[j] for j in matter]
        if math.prod(sizes) > MOST_STATES:
            raise ValueError(f"{math.prod(sizes):,} states of atoms matter")
        states = np.repeat(codes[None], math.prod(sizes), axis=0)
        states[:, matter] = list(product(*map(range, sizes)))
        known = [components.codes.given(state) for state in states]
        self._tables: list[CodeTables] = [tables for tables, _ in known]
        self._logs = components.gaussians.log_weights + np.stack([logs for _, logs in known])
        self._logs += self._log_likelihood(states)
        measure = components.codes.measure[~np.isnan(self._numbers)].sum()
        self.log_mass = float(log_sum_exp(self._logs.reshape(1, -1))[0] - measure)

    def draw(
        self, n: int, *, rng: np.random.Generator, index: int | None = None
    ) -> tuple[FloatArray, IntArray]:
        """Draw rows, and the class index of each.

        Args:
            n: number of rows.
            rng: source of the draws.
            index: draw from one class only.
        """
        owner, layout = self._components.owner, self._tables[0].layout
        logs = self._logs if index is None else np.where(owner == index, self._logs, -np.inf)
        shares = np.cumsum(np.exp(logs - logs.max()))
        place = np.searchsorted(shares / shares[-1], rng.random(n), side="right")
        state, component = np.divmod(place, len(owner))
        codes = np.zeros((n, len(layout.columns)), dtype=np.intp)
        for s in np.unique(state):
            rows = state == s
            codes[rows] = self._tables[s].sample(component[rows], rng=rng)
        noise = rng.normal(size=(n, len(layout.numbers)))
        return layout.join(self._place(component, codes, noise), codes), owner[component]

    def _atoms_that_matter(self, codes: IntArray) -> IntArray:
        """Return the free codes of atoms of numbers on which fixed numbers depend."""
        assert self._components.codes is not None
        layout = self._components.codes.layout
        depends = (self._components.gaussians.whiteners != 0).any(axis=0)
        waiting = np.flatnonzero(~np.isnan(self._numbers)).tolist()
        reached = set(waiting)
        while waiting:
            i = waiting.pop()
            if layout.atoms[i] >= 0 and codes[layout.atoms[i]] > 0:
                continue  # it is at an atom, independent of the others
            new = set(np.flatnonzero(depends[i]).tolist()) - reached
            reached |= new
            waiting += new
        atoms = {int(layout.atoms[i]) for i in reached} - {-1}
        return np.array(sorted(j for j in atoms if codes[j] < 0), dtype=np.intp)

    def _log_likelihood(self, states: IntArray) -> FloatArray:
        """Return the log-density of the fixed numbers, shape `(states, components)`.

        Numbers that no fixed one depends on integrate to 1, wherever they are.
        """
        gaussians, logs = self._components.gaussians, np.zeros((len(states), 1))
        if np.isnan(self._numbers).all():
            return logs
        components = np.tile(np.arange(len(gaussians.offsets)), len(states))
        codes = np.repeat(np.maximum(states, 0), len(gaussians.offsets), axis=0)
        elsewhere, free, values = self._known(codes)
        R, q, squares = self._systems(components, elsewhere, free, values)
        diagonals = np.log(np.abs(np.einsum("cii->ci", gaussians.whiteners)))[components]
        found: FloatArray = (elsewhere * diagonals).sum(axis=1)
        found -= 0.5 * np.log(2 * np.pi) * (elsewhere.sum(axis=1) - free.sum(axis=1))
        found -= np.linalg.slogdet(R)[1] + 0.5 * np.maximum(squares - (q**2).sum(axis=1), 0.0)
        return found.reshape(len(states), -1)

    def _place(self, components: IntArray, codes: IntArray, noise: FloatArray) -> FloatArray:
        """Return the numbers of rows whose components and codes are known."""
        assert self._components.codes is not None
        atoms = self._components.codes.layout.atoms[self._components.codes.layout.atomic]
        keys = np.column_stack([components, codes[:, atoms]])
        _, first, which = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        which = which.reshape(-1)
        elsewhere, free, values = self._known(codes[first])
        R, q, _ = self._systems(components[first], elsewhere, free, values)
        right = np.where(free[which], noise, 0.0) - q[which]
        drawn = np.linalg.solve(R[which], right[:, :, None])[:, :, 0]
        numbers: FloatArray = np.where(free[which], drawn, values[which])
        return numbers

    def _known(self, codes: IntArray) -> tuple[BoolArray, BoolArray, FloatArray]:
        """Return which numbers are elsewhere, which of them are free, and the known numbers."""
        assert self._components.codes is not None
        layout = self._components.codes.layout
        found = layout.elsewhere(codes)
        elsewhere = np.ones((len(codes), len(layout.numbers)), dtype=bool)
        if found is not None:
            elsewhere = found > 0
        free = elsewhere & np.isnan(self._numbers)
        fixed = np.where(np.isnan(self._numbers), 0.0, self._numbers)
        return elsewhere, free, np.where(elsewhere, fixed, layout.atom_values(codes))

    def _systems(
        self, components: IntArray, elsewhere: BoolArray, free: BoolArray, values: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the system whose residuals, of the numbers that are elsewhere, are Gaussian noise.

        They are `r = F u + v`, with F the columns of the whitener that belong to the free numbers
        u, and v the residuals for u = 0. With F = QR, `|r|^2 = |R u + Q'v|^2 + |v|^2 - |Q'v|^2`. A
        number that is not free has a row and a column of its own, with u_i = 0.

        Returns:
            R, Q'v and |v|^2 of each row.
        """
        gaussians = self._components.gaussians
        whiteners = gaussians.whiteners[components]
        F = np.where(elsewhere[:, :, None] & free[:, None], whiteners, 0.0)
        v = np.einsum("rij,rj->ri", whiteners, values) + gaussians.offsets[components]
        v = np.where(elsewhere, v, 0.0)
        aside = np.where(free[:, None], 0.0, np.eye(len(self._numbers)))
        Q, R = np.linalg.qr(np.concatenate([F, aside], axis=1))
        q = np.einsum("rij,ri->rj", Q[:, : v.shape[1]], v)
        return R, q, (v**2).sum(axis=1)
