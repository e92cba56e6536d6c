"""Whether a density from an untrusted file can be used: its sizes, its memory, and a trial."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from daace._typing import FloatArray
from daace.density.base import ConditionalDensity
from daace.density.draws import DRAWS, DRAWS_SEED

#: Model space is standardised, or in units that a user chose: larger numbers are neither.
FARTHEST = 1e15

#: Largest numbers of classes and features, and longest name, that a model file may have.
MAX_CLASSES, MAX_FEATURES, MAX_NAME = 2_000, 20_000, 1_000

#: Largest number of components of a mixture: each is evaluated at every draw.
MAX_COMPONENTS = 2_000

#: Maximum number of bytes of a density's draws, with the results for each of them.
MAX_MEMORY = 2**30

#: Number of draws of each class that are tried, and of all classes; at least one of each class.
TRIED_PER_CLASS, TRIED = 50, 2_000

#: Largest ratio of the ranges in the file to those of the draws that are tried.
WIDEST = 1e3


def check_sizes(
    classes: Sequence[object], names: Collection[str], features: int, components: int
) -> None:
    """Raise `ValueError` for a density that would take too much memory, before it is built.

    Args:
        classes: the class labels.
        names: every name in the file.
        features: number of features.
        components: number of components of a mixture; 0 for other densities.
    """
    for what, size, most in (
        ("classes", len(classes), MAX_CLASSES),
        ("features", features, MAX_FEATURES),
        ("components", components, MAX_COMPONENTS),
        ("characters in a name", max(map(len, names), default=0), MAX_NAME),
    ):
        if size > most:
            raise ValueError(f"it has {size:,} {what}, and {most:,} is the limit")
    # Every draw has its features, a number for each class and two copies of those in log-sum-exp.
    needed = 8 * DRAWS * (2 * features + 4 * len(classes))
    if needed > MAX_MEMORY:
        raise ValueError(
            f"it would take {needed / 2**30:.1f} GB of memory for {features:,} features and "
            f"{len(classes):,} classes, and {MAX_MEMORY / 2**30:.1f} GB is the limit"
        )


def try_density(density: ConditionalDensity) -> None:
    """Use a rebuilt density; raise `ValueError` if it fails or contradicts its statistics."""
    n, classes = density.encoding_.width, len(density.classes_)
    rng = np.random.default_rng(DRAWS_SEED)
    each = max(1, min(TRIED_PER_CLASS, TRIED // classes))
    with np.errstate(all="ignore"):
        log_joint = density.log_joint(np.zeros((1, n)))
        if log_joint.shape != (1, classes) or not np.isfinite(log_joint).all():
            raise ValueError("it gives no density for its features and classes")
        draws = np.concatenate(
            [density.sample(each, rng=rng, label=label)[0] for label in density.classes_.tolist()]
        )
        plain = density.sample(100, rng=rng)[0]
        if not (np.abs(draws) < FARTHEST).all() or not (np.abs(plain) < FARTHEST).all():
            raise ValueError("its draws are too far away")
        log_joint = density.log_joint(draws)
        joint, pullback = density.log_joint_and_pullback(plain)
        gradient = pullback(np.ones_like(joint))
        log_prob = density.log_prob(plain)
    if not np.isfinite(log_joint).all():
        raise ValueError("it gives no density for its own draws")
    if density.encoding_.code_sizes:
        rows = density.standardizer_.inverse(plain)
        again = density.encoding_.encode(density.encoding_.decode(rows))
        # A number beside an atom may be rounded to it, so codes of atoms are not compared.
        rows, again = rows[:, : len(density.features_)], again[:, : len(density.features_)]
        codes = [c for c in density.encoding_.code_sizes if c < len(density.features_)]
        if not np.array_equal(again[:, codes], rows[:, codes]):
            raise ValueError("its draws are not rows that its encoding knows")
        if not (np.abs(again - rows) <= 0.5 + 1e-6 * np.abs(rows)).all():
            raise ValueError("its atoms are not where its encoding has them")
    if not np.isfinite(gradient).all():
        raise ValueError("it has no slope at its own draws")
    _compare_statistics(density, np.concatenate([draws, plain]), log_prob)


def _compare_statistics(
    density: ConditionalDensity, draws: FloatArray, log_prob: FloatArray
) -> None:
    """Raise `ValueError` unless the statistics in the file are those of such draws."""
    known, encoding = density.draws_, density.encoding_
    for column, size in encoding.code_sizes.items():
        if (known.lower[column], known.upper[column]) != (0.0, size - 1.0):
            raise ValueError("the statistics are not those of its codes")
    free = [j for j in encoding.number_columns if j not in encoding.atom_columns]
    widths = np.ptp(draws, axis=0)
    if not (widths > 1e-12 * np.abs(draws).max(axis=0))[free].all():
        raise ValueError("its draws are lost beside their mean")
    typical = known.quantiles[5] <= np.median(log_prob) <= known.quantiles[95]
    typical &= known.quantiles[-1] - known.quantiles[0] <= WIDEST * np.ptp(log_prob)
    inside = (known.lower <= draws.max(axis=0)) & (known.upper >= draws.min(axis=0))
    inside &= known.upper - known.lower <= WIDEST * widths
    if not (typical and inside[free].all()):
        raise ValueError("the statistics are not those of its draws")
