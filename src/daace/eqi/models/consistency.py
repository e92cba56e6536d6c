"""Planning over the variables alone: the indices follow by their formulas and are consistent.

In model space an index is `c + C z`, with z the county's variables. A state that obeys the
formulas is thus `x = A u + b`: an affine slice of the model's space, with the planner's coordinates
u. Variables that are not in the model, and those that must not change, stay as they are in the
county: they are part of b.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import ClassVar

import numpy as np

from daace._typing import FloatArray, Labels, Pullback
from daace.data.encoding import Encoding
from daace.data.standardizer import Standardizer
from daace.density.base import ConditionalDensity
from daace.density.bayes import log_sum_exp
from daace.density.draws import DrawStatistics, check_draw, draw_classes
from daace.density.linear_gaussian import LinearGaussianNetwork
from daace.eqi.data.counties import DOMAINS, INDICES, Counties, index_name
from daace.exceptions import InvalidInput


class SlicedDensity(ConditionalDensity):
    """A density on the states `x = A u + b`, as a function of u.

    Its values are those of the model, `log p(A u + b, y)`: costs, thresholds and class
    probabilities have the same meaning. As a function of u it is proportional to the density
    given that the formulas hold; it is not normalised. Level, spread and mean of log p are the
    model's. Rows are coordinates u: there are no user units beside them.

    Args:
        base: the density of the model.
        basis: A, shape `(n, m)`.
        offset: b, shape `(n,)`.
        features: names of the m coordinates.
        box: lower and upper bounds of u.

    Example:
        >>> from daace import GaussianMixture
        >>> two = [np.eye(2), 2 * np.eye(2)]
        >>> plane = GaussianMixture([1, 1], np.zeros((2, 2)), two, ["a", "b"])
        >>> A, b = np.array([[1.0], [0.5]]), np.array([0.0, 1.0])
        >>> line = SlicedDensity(plane, A, b, ("u",), ([-9.0], [9.0]))
        >>> float(line.log_prob(np.array([[2.0]]))[0] == plane.log_prob(np.array([[2.0, 2.0]]))[0])
        1.0
    """

    kind: ClassVar[str] = "slice"

    def __init__(
        self,
        base: ConditionalDensity,
        basis: FloatArray,
        offset: FloatArray,
        features: tuple[str, ...],
        box: tuple[FloatArray, FloatArray],
    ) -> None:
        self.base, self.basis, self.offset = base, basis, offset
        self.classes_, self.target_ = base.classes_, base.target_
        self.features_, self.encoding_ = features, Encoding.of_numbers(features)
        self.units_: dict[str, str] = {}
        self.standardizer_ = Standardizer.identity(len(features))
        self.resolution_ = base.resolution_ / float(np.linalg.norm(basis, ord=2))
        self.gaussian_ = base.gaussian_
        draws, (lower, upper) = base.draws_, box
        self.draws_ = DrawStatistics(
            draws.quantiles, draws.mean, draws.sd, np.asarray(lower), np.asarray(upper)
        )

    def lift(self, U: FloatArray) -> FloatArray:
        """Return the whole states x = A u + b."""
        lifted: FloatArray = U @ self.basis.T + self.offset
        return lifted

    def log_joint_and_pullback(self, X: FloatArray) -> tuple[FloatArray, Pullback]:
        joint, pullback = self.base.log_joint_and_pullback(self.lift(X))
        return joint, lambda W: pullback(W) @ self.basis

    def sample(
        self, n: int, *, rng: np.random.Generator, label: object = None
    ) -> tuple[FloatArray, Labels]:
        """Draw from the density given that the formulas hold.

        Exactly where the model is a linear Gaussian network: each class is then a Gaussian on the
        slice. Of another density, its own draws, moved to the nearest point of the slice.
        """
        check_draw(n, rng)
        index = None if label is None else self.class_index(label)
        if isinstance(self.base, LinearGaussianNetwork):
            return self._sample_gaussians(self.base, n, rng, index)
        X, y = self.base.sample(n, rng=rng, label=label)
        nearest = np.linalg.lstsq(self.basis, (X - self.offset).T, rcond=None)[0].T
        return np.asarray(nearest, dtype=np.float64), y

    def _sample_gaussians(
        self,
        network: LinearGaussianNetwork,
        n: int,
        rng: np.random.Generator,
        index: int | None,
    ) -> tuple[FloatArray, Labels]:
        """Draw `u = R^-1 (e - Q' r0)`, where `M A = Q R` and `r0 = M b + c` whiten a class."""
        gaussians = network.components_.gaussians
        Q, R = np.linalg.qr(gaussians.whiteners @ self.basis)
        at_zero = gaussians.whiteners @ self.offset + gaussians.offsets
        along = np.einsum("kij,ki->kj", Q, at_zero)
        mass = (
            gaussians.log_weights
            + np.linalg.slogdet(gaussians.whiteners)[1]
            - np.linalg.slogdet(R)[1]
            - 0.5 * ((at_zero**2).sum(axis=1) - (along**2).sum(axis=1))
        )
        log_prior = mass - log_sum_exp(mass[None])[0]
        chosen = draw_classes(log_prior, n, rng=rng, index=index)
        noise = rng.normal(size=(n, self.basis.shape[1]))
        U = np.empty_like(noise)
        for k in np.unique(chosen):
            rows = chosen == k
            U[rows] = np.linalg.solve(R[k], (noise[rows] - along[k]).T).T
        return U, self.classes_[chosen]


def consistent_slice(
    density: ConditionalDensity,
    counties: Counties,
    fips: int,
    *,
    fixed: Collection[str] = (),
    turned: bool = False,
) -> tuple[SlicedDensity, FloatArray]:
    """Return the states of a county in which every index follows from the variables.

    Args:
        density: the density of the model, in the table's units.
        counties: which give formulas and values.
        fips: the county, whose dropped variables are held.
        fixed: variables that keep their value.
        turned: whether the coordinates of each domain are turned so that the first points along
            its index and bears its name (a rule about the index is then one about a coordinate;
            lengths are the same); otherwise they are the variables.

    Returns:
        the slice, and the county in its coordinates.

    Raises:
        InvalidInput: no variable is left to change.
    """
    names = density.features_
    free = [j for j, name in enumerate(names) if name not in INDICES and name not in fixed]
    if not free:
        raise InvalidInput(argument="fixed", expected="leave a variable that can change")
    place = [names.index(index) for index in INDICES]
    z = density.standardizer_.transform(counties.table.X[counties.position(fips)])
    C, c = index_map(density, counties, fips)
    held = z.copy()
    held[free] = held[place] = 0.0  # what stays as it is, zero elsewhere

    basis = np.zeros((len(names), len(free)))
    offset = held.copy()
    offset[place] = c + C @ held
    axes, labels = np.eye(len(free)), [names[j] for j in free]
    if turned:
        for domain, slope in zip(DOMAINS, C[:, free], strict=True):
            mine = [k for k, j in enumerate(free) if counties.domain(names[j]) == domain]
            for number, k in enumerate(mine):
                labels[k] = f"{domain} {number + 1}" if number else index_name(domain)
            if mine:
                axes[np.ix_(mine, mine)] = first_axis(slope[mine])
    basis[free] = axes
    basis[place] = C[:, free] @ axes
    corners = [axes * side[free][:, None] for side in (density.draws_.lower, density.draws_.upper)]
    box = np.minimum(*corners).sum(axis=0), np.maximum(*corners).sum(axis=0)
    return SlicedDensity(density, basis, offset, tuple(labels), box), axes.T @ z[free]


def index_map(
    density: ConditionalDensity, counties: Counties, fips: int
) -> tuple[FloatArray, FloatArray]:
    """Return C and c of `index = C z + c`, the formulas of the five indices in model space.

    Variables that the model does not have are as in the county: they are part of c.

    Returns:
        C of shape `(5, n)`, 0 in the columns of the indices, and c of shape `(5,)`.
    """
    names = list(density.features_)
    mean, scale = density.standardizer_.mean, density.standardizer_.scale
    held = counties.transformed.loc[fips, counties.dropped]
    C, c = np.zeros((len(INDICES), len(names))), np.zeros(len(INDICES))
    for d, domain in enumerate(DOMAINS):
        formula, i = counties.formulas.domains[domain], names.index(index_name(domain))
        weights = formula.weights.reindex(names).fillna(0.0).to_numpy(dtype=np.float64)
        dropped = formula.weights.reindex(held.index).fillna(0.0).to_numpy(dtype=np.float64)
        C[d] = weights * scale / scale[i]
        at_mean = formula.intercept + weights @ mean + dropped @ held.to_numpy(dtype=np.float64)
        c[d] = (at_mean - mean[i]) / scale[i]
    return C, c


def first_axis(direction: FloatArray) -> FloatArray:
    """Return an orthonormal basis, as columns, whose first axis points along a direction.

    Householder's reflection of the first coordinate axis.

    Example:
        >>> first_axis(np.array([0.0, 2.0]))[:, 0].tolist()
        [0.0, 1.0]
    """
    n = len(direction)
    unit = direction / np.linalg.norm(direction)
    normal = unit - np.eye(n)[0]
    size = float(normal @ normal)
    if size < 1e-30:
        return np.eye(n)
    reflected: FloatArray = np.eye(n) - 2 * np.outer(normal, normal) / size
    return reflected
