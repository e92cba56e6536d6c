"""The tables of a study: named ones with two classes, and mixtures with a known density."""

from __future__ import annotations

import hashlib

import numpy as np

from daace._wording import quote
from daace.data.catalog import load_table
from daace.data.preprocess import preprocess
from daace.data.synthetic import MixtureParameters, moons, random_mixture, rings
from daace.data.table import Table
from daace.exceptions import InvalidInput
from daace.study.spec import TableSpec


def load_rows(table: TableSpec) -> Table:
    """Return a named table as the study uses it: two classes, preprocessed.

    Args:
        table: a table of the study; no mixture.

    Raises:
        InvalidInput: the table has other classes, or more than two.
    """
    rows = load_table(table.name)
    if table.classes:
        unknown = [name for name in table.classes if name not in map(str, rows.classes)]
        if unknown:
            raise InvalidInput(
                argument="classes",
                expected=f"be among {quote(rows.classes)}",
                got=quote(unknown),
            ).at(f"Table '{table.name}': ")
        chosen = np.isin(rows.y.astype(str), table.classes)
        frame = rows.to_frame()[chosen]
        rows = Table.from_frame(
            frame, target=rows.target, units=rows.units, name=rows.name, kinds="number"
        )
    if len(rows.classes) != 2:
        raise InvalidInput(
            f"A table of a study must have two classes. '{table.name}' has {len(rows.classes)}: "
            f'write {{ name = "{table.name}", classes = ["{rows.classes[0]}", '
            f'"{rows.classes[1]}"] }}.'
        )
    return preprocess(rows)


def mixture_of(table: TableSpec, seed: int) -> MixtureParameters:
    """Return the parameters of a known mixture.

    Args:
        table: a table of the study; a mixture.
        seed: seed of a random mixture.
    """
    if table.mixture == "random":
        return random_mixture(table.features, rng=np.random.default_rng([seed, table.features]))
    return moons() if table.mixture == "moons" else rings()


def fingerprint(table: TableSpec, seed: int) -> str:
    """Return a hash of the content of a table: names and every number.

    Args:
        table: a table of the study.
        seed: seed of a random mixture.
    """
    hashed = hashlib.sha256()
    if table.mixture:
        parameters = mixture_of(table, seed)
        arrays = [*parameters[:3]]
        names = [str(label) for label in parameters.labels]
    else:
        rows = load_rows(table)
        arrays = [rows.X]
        names = [*rows.features, rows.target, *map(str, rows.y)]
    for array in arrays:
        hashed.update(repr(array.shape).encode())
        hashed.update(np.ascontiguousarray(array, dtype=np.float64).tobytes())
    hashed.update("\0".join(names).encode())
    return hashed.hexdigest()[:20]
