"""Checks of a density: held-out fit, calibration and membership."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from daace._typing import BoolArray, FloatArray, IntArray
from daace._wording import quote
from daace.data.frames import as_pandas
from daace.data.table import Table
from daace.density.base import ConditionalDensity
from daace.density.bayes import log_posterior, log_sum_exp
from daace.density.draws import HeldOut
from daace.density.registry import learned_kinds, name_of
from daace.exceptions import InvalidInput
from daace.explain.pages.frames import render_frame
from daace.landscape.goal import Posterior

if TYPE_CHECKING:
    from daace.explain.pictures.canvas import Plot

#: Rows less plausible than 99% of the density's draws: 1% is expected. On rows of the same kind
#: good fits of small tables had up to 17%, on rows of another kind the share was above 50%.
RAREST, TOO_MANY_RARE = 1.0, 0.25

#: Expected calibration error above which a warning is given.
POORLY_CALIBRATED = 0.15

#: Groups of rows, by how sure the model is, whose accuracy is compared with their confidence.
BINS = 10


@dataclass(frozen=True, eq=False, kw_only=True)
class Check:
    """How well a density describes held-out rows.

    Attributes:
        rows: number of held-out rows.
        log_prob: their mean log-density (model space).
        expected: mean log-density of the density's own samples.
        z: the difference in standard errors; on large tables, real rows are rarely within 2.
        rare: share of rows less plausible than 99% of the samples; 0.01 is expected.
        percentiles: percentile of each row's log-density among the samples.
        accuracy: share of rows whose most probable class is the recorded one.
        brier: mean squared error of the probabilities, summed over classes.
        brier_baseline: the same for the shares of the classes, which ignore the features.
        brier_error: standard error of the difference of these two.
        calibration_error: mean difference between confidence and accuracy (ECE).
        reliability: rows, confidence and accuracy of groups of equal size.
        warnings: one sentence per problem; empty if there is none.

    Example:
        >>> from daace import fit, load_table
        >>> train, held_out = load_table("iris").split(0.3, rng=np.random.default_rng(0))
        >>> fit(train).check(held_out).warnings
        ()
    """

    rows: int
    log_prob: float
    expected: float
    z: float
    rare: float
    percentiles: FloatArray
    accuracy: float
    brier: float
    brier_baseline: float
    brier_error: float
    calibration_error: float
    reliability: pd.DataFrame
    warnings: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether there are no warnings."""
        return not self.warnings

    @property
    def numbers(self) -> str:
        """The measures as text, one per line."""
        lines = [
            f"{self.rows} rows",
            f"mean log p        {self.log_prob:.4g} (expected {self.expected:.4g}, z {self.z:.3g})",
            f"rare rows         {100 * self.rare:.3g}% (expected 1%)",
            f"accuracy          {100 * self.accuracy:.3g}%",
            f"Brier score       {self.brier:.3g} (class shares alone: {self.brier_baseline:.3g})",
            f"calibration error {self.calibration_error:.3g}",
        ]
        return "\n".join(lines)

    def __str__(self) -> str:
        return "\n".join([self.numbers, *(self.warnings or ("No warnings.",))])

    def _repr_html_(self) -> str:
        sentences = self.warnings or ("No warnings.",)
        return render_frame(f"{self.rows:,} held-out rows", self.to_frame(), sentences=sentences)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per measure: its value, and the value to compare it with."""
        rows = [
            ("log_prob", self.log_prob, self.expected),
            ("z", self.z, 0.0),
            ("rare", self.rare, RAREST / 100),
            ("accuracy", self.accuracy, np.nan),
            ("brier", self.brier, self.brier_baseline),
            ("calibration_error", self.calibration_error, 0.0),
        ]
        return pd.DataFrame(rows, columns=["measure", "value", "compare"]).set_index("measure")

    def plot(self) -> Plot:
        """Draw the percentiles of the rows among samples, and the calibration of the classes."""
        from daace.explain.pictures.model_plots import draw_check

        return draw_check(self.percentiles, self.reliability)


def check_density(density: ConditionalDensity, table: object, judge: Posterior | None) -> Check:
    """Check a density on held-out rows.

    Args:
        density: a fitted density.
        table: held-out rows with their classes, as a `Table` or a frame.
        judge: the model that decides the class; None for the density.

    Raises:
        InvalidInput: the table has no rows, other features, or unknown classes.
    """
    X, labels = model_rows(density, table)
    held_out = HeldOut(density.log_joint(X), labels, density.draws_)
    posteriors = None if judge is None else judge.log_posterior(X)
    return summarize(held_out, name_of(density), posteriors)


def summarize(held_out: HeldOut, kind: str, log_posteriors: FloatArray | None = None) -> Check:
    """Return how well a density fits rows.

    Args:
        held_out: log-densities and classes of the rows.
        kind: kind of the density.
        log_posteriors: log p(y | x) of the model that decides the class, `(rows, classes)`; None
            for the density's.
    """
    labels, draws = held_out.labels, held_out.draws
    log_prob = log_sum_exp(held_out.log_joint)
    percentiles = np.array([draws.percentile(value) for value in log_prob])
    if log_posteriors is None:
        log_posteriors = log_posterior(held_out.log_joint)
    shares = np.exp(log_posteriors)
    truth = labels[:, None] == np.arange(shares.shape[1])
    errors = ((shares - truth) ** 2).sum(axis=1)
    baselines = ((truth.mean(axis=0) - truth) ** 2).sum(axis=1)
    bins = reliability(shares, truth)
    gap = (bins["confidence"] - bins["accuracy"]).abs()
    brier, baseline = float(errors.mean()), float(baselines.mean())
    rare = float((percentiles < RAREST).mean())
    error = float((gap * bins["rows"]).sum() / len(labels))
    return Check(
        rows=len(labels),
        log_prob=float(log_prob.mean()),
        expected=draws.mean,
        z=float((log_prob.mean() - draws.mean) / draws.sd * np.sqrt(len(labels))),
        rare=rare,
        percentiles=percentiles,
        accuracy=float(truth[np.arange(len(labels)), shares.argmax(axis=1)].mean()),
        brier=brier,
        brier_baseline=baseline,
        brier_error=float((errors - baselines).std() / np.sqrt(len(labels))),
        calibration_error=error,
        reliability=bins,
        warnings=find_warnings(kind, rare, brier, baseline, error),
    )


def as_frame(rows: object, *, name: str) -> pd.DataFrame:
    """Return a `Table`, or a frame of any package, as a pandas frame.

    Args:
        rows: in user units.
        name: name of the argument, for the message.

    Raises:
        InvalidInput: it is neither.
    """
    frame = rows.to_frame() if isinstance(rows, Table) else as_pandas(rows)
    if not isinstance(frame, pd.DataFrame):
        raise InvalidInput(
            argument=name, expected="be a daace.Table or a frame", got=type(rows).__name__
        )
    return frame


def as_table(density: ConditionalDensity, rows: object, *, name: str) -> Table:
    """Return rows with their classes as a table; columns that the density lacks are left out.

    Args:
        density: knows its features and its class column.
        rows: a `Table`, which is returned as it is, or a frame.
        name: name of the argument, for the message.

    Raises:
        InvalidInput: it is neither, lacks a column, or has cells that cannot be read.
    """
    if isinstance(rows, Table):
        return rows
    frame = as_frame(rows, name=name)
    frame = frame.set_axis([str(column) for column in frame.columns], axis=1)
    if density.target_ not in frame.columns:
        raise InvalidInput(
            argument=str(name),
            expected=f"have the class column of the model, '{density.target_}'",
            got="a frame without it",
            remedy="if it has another name, pass daace.Table.from_frame(frame, target=...)",
        )
    missing = [feature for feature in density.features_ if feature not in frame.columns]
    if missing:
        raise InvalidInput(f"'{name}' must have every feature. Missing: {quote(missing)}.")
    if len(frame) == 0:
        raise InvalidInput(f"'{name}' must have rows. It has none.")
    return known_table(density, frame, target=density.target_)


def known_table(
    density: ConditionalDensity, frame: pd.DataFrame, *, target: str, name: str = "table"
) -> Table:
    """Return rows as a table, read as the table of a density was.

    Args:
        density: knows its features.
        frame: with every feature and the class; other columns are ignored.
        target: name of the class column.
        name: what the table is called.

    Raises:
        InvalidInput: a cell cannot be read, or there are fewer than two classes.
    """
    if density.encoding_.code_sizes:
        return Table.from_frame(frame, target=target, name=name, encoding=density.encoding_)
    return Table.from_frame(
        frame, target=target, features=density.features_, kinds="number", name=name
    )


def model_rows(
    density: ConditionalDensity, rows: object, *, name: str = "table"
) -> tuple[FloatArray, IntArray]:
    """Return the rows of a table or frame in model space, and the index of each row's class."""
    table = as_table(density, rows, name=name)
    if len(table) == 0:
        raise InvalidInput(f"'{name}' must have rows. It has none.")
    lost = [feature for feature in density.features_ if feature in table.left_out]
    if lost:
        raise InvalidInput(
            f"'{name}' must have every feature. It leaves out {quote(lost)}: pass the frame, "
            "or make the table with Table.from_frame(..., features=explainer.density.features_)."
        )
    coded = bool(density.encoding_.code_sizes)
    X = density.to_model(
        table.to_frame() if coded else pd.DataFrame(table.X, columns=list(table.features))
    )
    place = {str(label): k for k, label in enumerate(density.classes_.tolist())}
    unknown = sorted({str(label) for label in table.y.tolist()} - set(place))
    if unknown:
        raise InvalidInput(
            argument=str(name),
            expected=f"have classes of the model: {quote(place)}",
            got=quote(unknown),
        )
    return X, np.array([place[str(label)] for label in table.y.tolist()])


def reliability(shares: FloatArray, truth: BoolArray) -> pd.DataFrame:
    """Return rows, confidence and accuracy of groups of rows, from unsure to sure.

    Args:
        shares: probability of each class, shape `(rows, classes)`.
        truth: whether it is the class.

    Example:
        >>> shares = np.array([[0.6, 0.4], [0.9, 0.1]])
        >>> reliability(shares, np.array([[False, True], [True, False]]))["accuracy"].tolist()
        [0.0, 1.0]
    """
    confidence = shares.max(axis=1)
    right = truth[np.arange(len(shares)), shares.argmax(axis=1)]
    groups = np.array_split(np.argsort(confidence, kind="stable"), min(BINS, len(shares)))
    rows = [(len(g), float(confidence[g].mean()), float(right[g].mean())) for g in groups]
    return pd.DataFrame(rows, columns=["rows", "confidence", "accuracy"])


def find_warnings(
    kind: str, rare: float, brier: float, baseline: float, error: float
) -> tuple[str, ...]:
    """Return the problems of a density of this kind, one sentence each."""
    found = []
    others = " or ".join(f"'{name}'" for name in learned_kinds() if name != kind)
    if rare > TOO_MANY_RARE:
        found.append(
            f"{100 * rare:.0f}% of the rows are less plausible than 99% of the density's samples: "
            "they differ from the training rows, or the density fits poorly. Fit it on such rows, "
            f"or try density={others}."
        )
    if brier >= baseline:
        found.append(
            f"The probabilities (Brier score {brier:.3g}) are no better than the shares of the "
            f"classes ({baseline:.3g}): do not rely on the classes of the ends."
        )
    elif error > POORLY_CALIBRATED:
        found.append(
            f"The probabilities are off by {100 * error:.0f}% on average: raise 'min_posterior', "
            "or pass a calibrated classifier."
        )
    return tuple(found)


# Membership ---------------------------------------------------------------------------------------


def membership_auc(density: ConditionalDensity, training: object, held_out: object) -> float:
    """Return how well log p distinguishes training rows from others: 0.5 not at all, 1 always.

    The area under the ROC curve, that is the probability that a training row is denser than a
    held-out row; ties count half.
    """
    from scipy.stats import rankdata

    inside = density.log_prob(model_rows(density, training, name="training")[0])
    outside = density.log_prob(model_rows(density, held_out, name="held_out")[0])
    ranks = rankdata(np.concatenate([inside, outside]))[: len(inside)]
    below = ranks.sum() - len(inside) * (len(inside) + 1) / 2
    return float(below / (len(inside) * len(outside)))
