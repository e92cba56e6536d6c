"""Densities with codes: whether p sums to 1 over all states of the codes, and draws follow it."""

from __future__ import annotations

from itertools import product

import numpy as np

from daace._typing import FloatArray
from daace.density.base import ConditionalDensity
from daace.testing._assertions import require, require_close
from daace.testing.grids import Stretch

#: Largest numbers of states of the codes and of numbers that are summed over.
MOST_STATES, MOST_NUMBERS = 200, 2

#: Midpoints per number, and draws that are compared with the sums.
PIECES, DRAWN = 320, 20_000


def sums_to_one(density: ConditionalDensity, rng: np.random.Generator) -> None:
    """Raise `AssertionError` unless the plain density sums to 1 over codes and numbers."""
    masses = _masses(density, rng)
    if masses is not None:
        total = float(sum(masses.values()))
        sentence = f"p(x) must sum and integrate to 1 over codes and numbers. Got {total:.6g}."
        require_close(np.array(total), 1.0, sentence, rel=0, at_least=5e-5)


def follow_by_states(density: ConditionalDensity, rng: np.random.Generator) -> None:
    """Raise `AssertionError` unless the frequencies of the codes' states in draws agree with p."""
    masses = _masses(density, rng)
    if masses is None:
        return
    X, _ = density.sample(DRAWN, rng=rng)
    states, counts = np.unique(X[:, list(masses_columns(density))], axis=0, return_counts=True)
    seen = dict(zip(map(tuple, states.tolist()), counts.tolist(), strict=True))
    chosen = [state for state, mass in masses.items() if DRAWN * mass >= 5]
    expected = np.array([DRAWN * masses[state] for state in chosen])
    found = np.array([float(seen.get(state, 0)) for state in chosen])
    chi_square = float(((found - expected) ** 2 / expected).sum())
    require(
        chi_square < len(chosen) + 4 * np.sqrt(2 * len(chosen)),
        f"Samples must have each state of the codes with the density's frequency. Chi-square is "
        f"{chi_square:.4g} over {len(chosen)} states.",
    )


def masses_columns(density: ConditionalDensity) -> tuple[int, ...]:
    """Return the columns that hold codes."""
    return tuple(density.encoding_.code_sizes)


def _masses(
    density: ConditionalDensity, rng: np.random.Generator
) -> dict[tuple[float, ...], float] | None:
    """Return the probability of each state of the codes; None if there are too many."""
    encoding = density.encoding_
    sizes = list(encoding.code_sizes.values())
    if np.prod(sizes) > MOST_STATES or len(encoding.number_columns) > MOST_NUMBERS:
        return None
    X, _ = density.sample(10_000, rng=rng)
    return {
        tuple(map(float, state)): _mass(density, X, state)
        for state in product(*(range(size) for size in sizes))
    }


def _mass(density: ConditionalDensity, X: FloatArray, state: tuple[int, ...]) -> float:
    """Return the integral of the plain density over the numbers that are elsewhere."""
    encoding = density.encoding_
    at = dict(zip(encoding.code_sizes, state, strict=True))
    free = [j for j in encoding.number_columns if at.get(encoding.atom_columns.get(j, -1), 0) == 0]
    atoms = [j for j in encoding.number_columns if j not in free]
    axis = (np.arange(PIECES) + 0.5) / PIECES * 2 - 1
    u = np.zeros((1, 0))
    if free:
        mesh = np.meshgrid(*[axis] * len(free), indexing="ij")
        u = np.stack(mesh, axis=-1).reshape(-1, len(free))
    rows = np.zeros((len(u), encoding.width))
    rows[:, list(at)] = list(at.values())
    volume = np.ones(len(u))
    if free:
        stretch = Stretch.of(X[:, free])
        rows[:, free] = stretch.to_x(u)
        volume = stretch.volume(u) * (2 / PIECES) ** len(free)
    for j in atoms:
        feature = encoding.features[j]
        atom = feature.atoms[at[encoding.atom_columns[j]] - 1]
        value = feature.fill if atom != atom else atom
        scaling = density.standardizer_
        rows[:, j] = (value - scaling.mean[j]) / scaling.scale[j]
    plain = density.log_prob(rows) + density.log_measure(rows)
    return float((np.exp(plain) * volume).sum())
