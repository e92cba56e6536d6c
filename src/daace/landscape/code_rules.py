"""Which codes a path may have: levels, transitions, and atoms, whose value is known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from daace._typing import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class AtomRule:
    """The atoms of one number, in model space.

    Attributes:
        value: column of the number.
        code: column of its atom code.
        places: value at each code; NaN if the code has none.
        spots: the atoms that are values, ascending, without "missing".
        low: smallest value elsewhere.
        high: largest value elsewhere.
        below: distance below each of the spots beyond which a value is off the atom.
        above: distance above each of the spots beyond which a value is off the atom.
        missing: the code of "missing"; None without one.
    """

    value: int
    code: int
    places: FloatArray
    spots: FloatArray
    low: float
    high: float
    below: FloatArray
    above: FloatArray
    missing: int | None = None

    def sides(self, values: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the bounds of values elsewhere, on the side of each atom where they are.

        A value at an atom is taken to be above it, or below the last one if there is no room.
        """
        low, high = np.full(values.shape, self.low), np.full(values.shape, self.high)
        for spot, before, after in zip(self.spots, self.below, self.above, strict=True):
            above = (values >= spot) & (spot + after <= self.high)
            above |= spot - before < self.low
            low = np.where(above, np.maximum(low, spot + after), low)
            high = np.where(above, high, np.minimum(high, spot - before))
        return np.minimum(low, high), high


@dataclass(frozen=True, eq=False)
class CodeRules:
    """What the codes along a path obey, in model space.

    A category switches at most once on a path, an ordered feature moves in one direction, and a
    number is at an atom if its code is; it becomes missing, or known, at most once.

    Attributes:
        x: the start.
        columns: columns that hold codes.
        may: whether a path may go from one code to another, `(codes, codes)` for each column.
        levels: number of codes of an ordered feature; 0 for others.
        atoms: the rules of the numbers that have atoms.
    """

    x: FloatArray
    columns: IntArray
    may: tuple[BoolArray, ...]
    levels: IntArray
    atoms: tuple[AtomRule, ...]

    def allows(self, X: FloatArray) -> BoolArray:
        """Whether the codes of points, shape `(..., n)`, can be reached and fit the numbers."""
        good = np.ones(X.shape[:-1], dtype=bool)
        for may, column in zip(self.may, self.columns, strict=True):
            codes = X[..., column]
            known = (codes == np.rint(codes)) & (codes >= 0) & (codes < len(may))
            safe = np.where(known, codes, 0).astype(np.intp)
            good &= known & may[int(self.x[column]), safe]
        for atom in self.atoms:
            value, place = X[..., atom.value], atom.places[X[..., atom.code].astype(np.intp)]
            low, high = atom.sides(value)
            beside = (value >= low) & (value <= high)
            begun = (value == self.x[atom.value]) & ~np.isin(value, atom.spots)
            good &= np.where(np.isnan(place), beside | begun, value == place)
        return good

    def contains(self, waypoints: FloatArray) -> bool:
        """Whether the codes of a path from the start are allowed, and every change of them."""
        codes = waypoints[:, self.columns]
        return bool(self.passes(codes[:-1], codes[1:]).all())

    def passes(self, before: FloatArray, after: FloatArray) -> BoolArray:
        """Whether a path from the start may go from some codes to others.

        The earlier waypoints are not needed: a category that differs from the start has switched
        already, and an ordered feature above its start may only rise. So a path is allowed if each
        of its steps is.

        Args:
            before: codes, shape `(steps, code columns)`.
            after: codes, of the same shape.
        """
        passes: BoolArray = np.all(self._each_passes(before, after), axis=-1)
        return passes

    def _each_passes(self, before: FloatArray, after: FloatArray) -> BoolArray:
        """Whether each code may go from one to another, as in `passes`, column by column."""
        good = np.ones(before.shape, dtype=bool)
        gaps = {atom.code: atom.missing for atom in self.atoms}
        for k, (may, top, column) in enumerate(
            zip(self.may, self.levels, self.columns, strict=True)
        ):
            s, a, b = int(self.x[column]), before[:, k].astype(np.intp), after[:, k].astype(np.intp)
            good[:, k] = may[a, b] & may[s, b]
            gap = gaps.get(int(column))
            if column not in gaps:
                onwards = ((s <= a) & (a <= b)) | ((s >= a) & (a >= b))
                ladder = (s < top) & (a < top) & (b < top)
                good[:, k] &= (a == b) | (a == s) | (ladder & onwards)
            elif gap is not None:
                good[:, k] &= ((a == gap) == (b == gap)) | ((a == gap) == (s == gap))
        return good

    def mend(self, paths: FloatArray) -> FloatArray:
        """Return paths in which codes stay where they may not change, atoms in place.

        Args:
            paths: shape `(paths, waypoints, n)`, the start first.
        """
        mended = paths.copy()
        for k in range(1, paths.shape[1]):
            before, after = mended[:, k - 1, self.columns], mended[:, k, self.columns]
            passes = self._each_passes(before, after)
            mended[:, k, self.columns] = np.where(passes, after, before)
        mended[:, 1:] = self.place(mended[:, 1:])
        return mended

    def targets(self, k: int) -> IntArray:
        """Return the codes that the k-th column may reach, its own among them."""
        return np.flatnonzero(self.may[k][int(self.x[self.columns[k]])])

    def reachable(self, X: FloatArray, lower: FloatArray, upper: FloatArray) -> FloatArray:
        """Return points with the start's code where theirs cannot be reached, atoms in place.

        Args:
            X: shape `(points, n)`.
            lower: lower bounds of all columns, shape `(n,)`.
            upper: upper bounds, of the same shape.
        """
        moved = X.copy()
        for may, column in zip(self.may, self.columns, strict=True):
            codes = moved[:, column]
            good = may[int(self.x[column]), codes.astype(np.intp)]
            good &= (codes >= lower[column]) & (codes <= upper[column])
            moved[:, column] = np.where(good, codes, self.x[column])
        return self.place(moved)

    def place(self, X: FloatArray) -> FloatArray:
        """Return points, shape `(..., n)`, with numbers at their atoms, or off them."""
        moved = X.copy()
        for atom in self.atoms:
            place = atom.places[moved[..., atom.code].astype(np.intp)]
            beside = np.clip(moved[..., atom.value], *atom.sides(moved[..., atom.value]))
            moved[..., atom.value] = np.where(np.isnan(place), beside, place)
        return moved

    def hold(
        self, free: FloatArray, lower: FloatArray, upper: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return bounds that keep the codes of paths, and numbers at or off their atoms.

        Args:
            free: waypoints after the start, shape `(paths, waypoints, n)`.
            lower: lower bounds, of the same shape.
            upper: upper bounds, of the same shape.
        """
        lower, upper = lower.copy(), upper.copy()
        lower[..., self.columns] = upper[..., self.columns] = free[..., self.columns]
        for atom in self.atoms:
            j = atom.value
            place = atom.places[free[..., atom.code].astype(np.intp)]
            off = np.isnan(place)
            beside = atom.sides(free[..., j])
            low = np.where(off, np.maximum(lower[..., j], beside[0]), place)
            high = np.where(off, np.minimum(upper[..., j], beside[1]), place)
            lower[..., j], upper[..., j] = np.minimum(low, high), high
        return lower, upper

    def enters_atom(self, begin: FloatArray, end: FloatArray) -> BoolArray:
        """Whether steps between points, shape `(..., n)`, take a number to an atom from outside."""
        entered = np.zeros(begin.shape[:-1], dtype=bool)
        for atom in self.atoms:
            there = end[..., atom.code]
            entered |= (there != 0) & (there != begin[..., atom.code])
        return entered

    def between(self, begin: FloatArray, end: FloatArray, middle: FloatArray) -> FloatArray:
        """Return points between waypoints, with the codes of the segment's end.

        A number that leaves one atom for another, or enters one, is elsewhere in between.

        Args:
            begin: points of shape `(..., n)`.
            end: points of the same shape.
            middle: points of the same shape, whose codes are overwritten.
        """
        codes = middle.copy()
        codes[..., self.columns] = end[..., self.columns]
        for atom in self.atoms:
            same = begin[..., atom.code] == end[..., atom.code]
            codes[..., atom.code] = np.where(same, end[..., atom.code], 0.0)
        return self.place(codes)
