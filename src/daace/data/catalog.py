"""Named tables: bundled with scikit-learn, in the folder `DAACE_DATA`, or on OpenML."""

from __future__ import annotations

import os
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pandas as pd

from daace.data.table import Table, quote
from daace.exceptions import InvalidInput, MissingDependency

BUNDLED = ("breast_cancer", "iris", "wine_cultivars")

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


def load_table(name: str) -> Table:
    """Load a table by name.

    Looked up in this order: the tables inside scikit-learn's wheel, then
    `$DAACE_DATA/benchmark/NAME.parquet`, then OpenML (downloaded once, cached by scikit-learn).

    Raises:
        InvalidInput: no table has this name, or it cannot be reached.

    Example:
        >>> load_table("breast_cancer")
        Table(name='breast_cancer', rows=569, features=30, classes=['benign', 'malignant'])
    """
    if name in BUNDLED:
        return _bundled(name)
    if name not in OPENML:
        raise InvalidInput(
            f"'name' must be one of {quote([*BUNDLED, *OPENML], limit=30)}. Got '{name}'."
        )
    folder = os.environ.get("DAACE_DATA")
    if folder:
        path = Path(folder) / "benchmark" / f"{name}.parquet"
        if path.exists():
            return Table.from_frame(read_frame(path), target="class", name=name)
    return _from_openml(name)


def read_frame(path: str | Path) -> pd.DataFrame:
    """Read a CSV or parquet file, or say why it cannot be read.

    Raises:
        InvalidInput: the file is missing, empty or of another kind.
        MissingDependency: parquet without pyarrow.
    """
    path = Path(path)
    if not path.is_file():
        raise InvalidInput(f"'{path}' must be an existing file. It is not there.")
    try:
        if path.suffix == ".parquet":
            return pd.read_parquet(path)
        if path.suffix in {".csv", ".gz", ".zip", ".txt"}:
            return pd.read_csv(path)
        if path.suffix == ".tsv":
            return pd.read_csv(path, sep="\t")
    except ImportError:
        raise MissingDependency(
            "Reading parquet needs pyarrow: pip install 'daace[parquet]'."
        ) from None
    except (ValueError, OSError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise InvalidInput(f"'{path}' could not be read as a table: {error}") from None
    raise InvalidInput(f"'{path}' must end in .csv, .tsv or .parquet. Got '{path.suffix}'.")


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


def _from_openml(name: str) -> Table:
    from sklearn.datasets import fetch_openml

    try:
        bunch = fetch_openml(data_id=OPENML[name], as_frame=True, parser="auto")
    except Exception as error:
        raise InvalidInput(
            f"'{name}' could not be fetched from OpenML ({type(error).__name__}): set DAACE_DATA "
            f"to a folder that holds benchmark/{name}.parquet, or try again with a network."
        ) from None
    frame = bunch.data.astype(np.float64)
    frame["class"] = bunch.target.to_numpy()
    return Table.from_frame(frame, target="class", name=name)
