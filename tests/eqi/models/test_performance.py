from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from daace.data.table import Table
from daace.density.linear_gaussian import LinearGaussianNetwork
from daace.eqi.data.counties import Counties
from daace.eqi.models.densities import restricted_network
from daace.eqi.models.performance import cross_validate, performance


def test_performance_is_what_it_says(fitted: LinearGaussianNetwork, counties: Counties) -> None:
    table, scale = counties.table, counties.table.X.std(axis=0)
    mine = performance(fitted, table, scale)
    X = fitted.to_model(table.to_frame())
    truth = np.searchsorted(fitted.classes_, table.y)
    rows = np.arange(len(table))
    assert mine.log_joint == pytest.approx(fitted.log_joint(X)[rows, truth].mean())
    P = fitted.predict_proba(X)
    assert mine.accuracy == (P.argmax(axis=1) == truth).mean()
    assert mine.log_loss == pytest.approx(-np.log(P[rows, truth]).mean())
    onehot = np.eye(P.shape[1])[truth]
    assert mine.brier == pytest.approx(((P - onehot) ** 2).sum(axis=1).mean())
    # In other units of the features it is the same.
    other = Table(table.X * 7 - 3, table.y, table.features, table.classes, table.target)
    again = performance(LinearGaussianNetwork().fit_arcs(other, fitted.arcs_), other, scale * 7)
    assert again.log_joint == pytest.approx(mine.log_joint)


def test_cross_validation_holds_rows_out(counties: Counties) -> None:
    seen: list[Table] = []

    def fit(table: Table) -> Any:
        seen.append(table)
        return restricted_network(counties).fit(table)

    table = counties.table
    held_out = cross_validate(fit, table, folds=4)
    assert [len(t) for t in seen] == [464, 464, 464, 465]
    inside = performance(fit(table), table, table.X.std(axis=0))
    assert held_out.log_joint < inside.log_joint
