"""Tables by name: bundled, simulated, in the folder `DAACE_DATA`, or on OpenML."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd

from daace._json import load_json
from daace._wording import quote
from daace.data.files.reader import read_frame
from daace.data.loans import draw_loans
from daace.data.table import Table
from daace.exceptions import InvalidInput

BUNDLED = ("breast_cancer", "iris", "wine_cultivars")

#: Simulated applications, and the seed that they are drawn with.
LOANS, LOANS_SEED = "loans", 0

#: Real tables with categories, and their class column.
MIXED = {
    "south_german_credit": "credit_risk",
    "adult": "income",
    "adult_test": "income",
    "compas": "two_year_recid",
    "bank_marketing": "y",
    "credit_default": "default_next_month",
    "heart_cleveland": "heart_disease",
    "student_por": "result",
}

OPENML = {
    "credit": 44089,
    "california": 44090,
    "wine": 44091,
    "electricity": 44120,
    "covertype": 44121,
    "pol": 44122,
    "house_16H": 44123,
    "kdd_ipums_la_97-small": 44124,
    "MagicTelescope": 44125,
    "bank-marketing": 44126,
    "phoneme": 44127,
    "MiniBooNE": 44128,
    "Higgs": 44129,
    "eye_movements": 44130,
    "jannis": 44131,
}


def load_table(name: str | int) -> Table:
    """Load a table by name, or by its id on OpenML.

    Looked up in this order: the tables inside scikit-learn's wheel and 'loans', 3,000 simulated
    loan applications (`daace.data.loans`); tables with categories in `$DAACE_DATA/mixed/NAME.csv`,
    whose ordered columns have the levels in `schema.json` beside it; then
    `$DAACE_DATA/benchmark/NAME.parquet` (any name; its column 'class' is the target, every feature
    is a number); then OpenML (downloaded once, cached by scikit-learn). The tables from OpenML are
    those of the benchmark of Grinsztajn et al. 2022 (arXiv:2207.08815).

    Args:
        name: name of a table, or its id on OpenML.

    Raises:
        InvalidInput: no table has this name, or it cannot be reached.

    Example:
        >>> load_table("breast_cancer")
        Table(name='breast_cancer', rows=569, features=30, classes=['benign', 'malignant'])
    """
    if isinstance(name, bool) or not isinstance(name, str | int | np.integer):
        raise InvalidInput(
            argument="name",
            expected="be the name of a table or an id of OpenML",
            got=type(name).__name__,
        )
    number = OPENML.get(name) if isinstance(name, str) else int(name)
    if not isinstance(name, str):
        name = next((known for known, id_ in OPENML.items() if id_ == number), str(number))
    if name in BUNDLED:
        return _bundled(name)
    if name == LOANS:
        frame = draw_loans(rng=np.random.default_rng(LOANS_SEED))
        return Table.from_frame(frame, target="decision", name="loans (simulated)")
    folder = os.environ.get("DAACE_DATA")
    if folder and Path(name).name == name:  # a name, not a path out of the folder
        if name in MIXED and (Path(folder) / "mixed" / f"{name}.csv").exists():
            return _mixed(Path(folder) / "mixed", name)
        path = Path(folder) / "benchmark" / f"{name}.parquet"
        if path.exists():
            return Table.from_frame(read_frame(path), target="class", name=name, kinds="number")
    if name in MIXED:
        raise InvalidInput(
            f"'{name}' is missing: set DAACE_DATA to a folder that holds mixed/{name}.csv."
        )
    if number is None:
        raise InvalidInput(
            argument="name",
            expected=(
                f"be one of {quote([*BUNDLED, LOANS, *MIXED, *OPENML], limit=30)}, an id of "
                "OpenML, or a file in $DAACE_DATA/benchmark without its '.parquet'"
            ),
            got=f"'{name}'",
        )
    return _from_openml(name, number)


def _bundled(name: str) -> Table:
    from sklearn import datasets

    loader = {
        "breast_cancer": datasets.load_breast_cancer,
        "iris": datasets.load_iris,
        "wine_cultivars": datasets.load_wine,
    }[name]
    bunch = loader()
    frame = pd.DataFrame(bunch.data, columns=[str(column) for column in bunch.feature_names])
    units: dict[str, str] = {}
    if name == "iris":
        frame.columns = [column.removesuffix(" (cm)") for column in frame.columns]
        units = dict.fromkeys(frame.columns, "cm")
    frame["class"] = np.asarray(bunch.target_names).astype(str)[bunch.target]
    return Table.from_frame(frame, target="class", units=units, name=name)


def _mixed(folder: Path, name: str) -> Table:
    """Return a table with categories; `schema.json` has the levels of its ordered columns."""
    schema = folder / "schema.json"
    order = {}
    if schema.exists():
        order = load_json(schema.read_text(encoding="utf-8"))[name]["ordinal"]
    frame = read_frame(folder / f"{name}.csv")
    return Table.from_frame(frame, target=MIXED[name], order=order, name=name)


def _from_openml(name: str, number: int) -> Table:
    from sklearn.datasets import fetch_openml

    try:
        bunch = fetch_openml(data_id=number, as_frame=True, parser="auto")
    except Exception as error:
        raise InvalidInput(
            f"'{name}' could not be fetched from OpenML ({type(error).__name__}): set DAACE_DATA "
            f"to a folder that holds benchmark/{name}.parquet, or try again with a network."
        ) from None
    if not isinstance(bunch.target, pd.Series):
        raise InvalidInput(f"'{name}' must have one target on OpenML. It has none, or several.")
    paper = name in OPENML  # its features are numbers
    frame = bunch.data.astype(np.float64) if paper else bunch.data.copy()
    target = "class" if "class" not in frame.columns else str(bunch.target.name)
    frame[target] = bunch.target.to_numpy()
    return Table.from_frame(frame, target=target, name=name, kinds="number" if paper else None)
