"""A small generated table of the shape of EPA's files: the pipeline must not need the real ones."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from daace.cli import main
from daace.density.linear_gaussian import LinearGaussianNetwork
from daace.eqi.data.counties import DOMAINS, Counties
from daace.eqi.data.files import SUFFIX, read_counties
from daace.eqi.models.densities import restricted_network
from daace.eqi.policy.advisor import Advisor
from daace.eqi.policy.study import run_atlas
from daace.planners.nsga2 import NSGA2

ROWS = 620
SIZES = {"Air": 6, "Built": 5, "Land": 5, "Sociodemographic": 5, "Water": 5}
OVERALL = {"Air": 0.57, "Sociodemographic": -0.13, "Built": 0.53, "Land": 0.26, "Water": 0.19}
STATES = ("AL", "CA", "CO", "NY", "OR", "TX")


def generate(folder: Path, *, seed: int = 0) -> Path:
    """Write three files: latent quality per domain, indices by singular value decomposition."""
    rng = np.random.default_rng(seed)
    shared = rng.normal(size=ROWS)
    raw, dictionary, indices = {}, [], {}
    for domain, size in SIZES.items():
        factor = 0.5 * shared + rng.normal(size=ROWS)
        names = [f"{domain[0].lower()}{k}" for k in range(1, size + 1)]
        signs = np.where(np.arange(size) % 3 == 2, -1.0, 1.0)
        Z = factor[:, None] * signs + rng.normal(size=(ROWS, size))
        columns = 0.3 * Z + 1.0
        for k, name in enumerate(names):
            logged = k % 2 == 0
            raw[name] = np.exp(columns[:, k]) if logged else columns[:, k]
            unit = "tons emitted per year" if domain == "Air" else "percent"
            flag = "log-transformed" if logged else ""
            written = f"{name}_ln" if logged else name
            dictionary.append((domain, f"{domain} measure {k + 1} ", written, unit, flag))
        standard = (columns - columns.mean(axis=0)) / columns.std(axis=0)
        U, _, _ = np.linalg.svd(standard, full_matrices=False)
        component = U[:, 0] * np.sqrt(ROWS)
        indices[domain] = component * np.sign(np.corrcoef(component, factor)[0, 1])
    raw["w6"] = np.full(ROWS, 3.0)  # constant: of no weight in its index, and dropped
    dictionary.append(("Water", "Water measure 6", "w6", "mg/L", ""))
    overall = sum(weight * indices[domain] for domain, weight in OVERALL.items())
    middle = np.argsort(np.abs(overall))[:3]
    fips = np.arange(1001, 1001 + ROWS)
    fips[middle] = (6037, 8021, 36061)
    names = np.array([f"Place {k} County" for k in range(ROWS)], dtype=object)
    states = np.array([STATES[k % len(STATES)] for k in range(ROWS)], dtype=object)
    names[middle] = ("Los Angeles County", "Conejos County", "New York County")
    states[middle] = ("CA", "CO", "NY")
    spare = [k for k in range(ROWS) if k not in middle][:4]
    names[spare[:3]] = "Washington County"
    names[spare[3]] = "Nowhere Borough"
    overall[spare[3]] = np.nan
    ids = pd.DataFrame(
        {"stfips": fips, "State": states, "County_Name": names, "cat_RUCC": 1 + np.arange(ROWS) % 4}
    )
    folder.mkdir(parents=True, exist_ok=True)
    pd.concat([ids, pd.DataFrame(raw)], axis=1).to_csv(folder / "variables.csv", index=False)
    published = pd.DataFrame({f"{DOMAINS[d]}_{SUFFIX}": indices[d] for d in SIZES})
    published[SUFFIX] = overall
    pd.concat([ids, published], axis=1).to_csv(folder / "indices.csv", index=False)
    head = ["Domain", "Variable Definition", "Variable Name", "Units", "Log Transformed"]
    pd.DataFrame([("ID", "FIPS", "stfips", "", ""), *dictionary], columns=head).to_csv(
        folder / "dictionary.csv", index=False, sep=";", encoding="utf-8-sig"
    )
    return folder


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return generate(tmp_path_factory.mktemp("eqi"))


@pytest.fixture
def changed(files: Path, tmp_path: Path) -> Callable[[str, Callable[[str], str]], Path]:
    """Copy the files with one of them changed as text."""

    def change(name: str, edit: Callable[[str], str]) -> Path:
        for file in files.iterdir():
            text = file.read_text(encoding="utf-8")
            (tmp_path / file.name).write_text(
                edit(text) if file.name == name else text, encoding="utf-8"
            )
        return tmp_path

    return change


@pytest.fixture(scope="session")
def counties(files: Path) -> Counties:
    return read_counties(files)


@pytest.fixture(scope="session")
def fitted(counties: Counties) -> LinearGaussianNetwork:
    return restricted_network(counties).fit(counties.table)


@pytest.fixture(scope="session")
def advisor(counties: Counties) -> Advisor:
    table = counties.table.take(counties.split[0])
    network = restricted_network(counties).fit(table)
    # A second density on the same rows stands where the flow would: the code asks for no more.
    other = restricted_network(counties, max_parents=2).fit(table)
    quick = NSGA2(vertices=(0, 1), population=20, generations=20, vertex_tolerance=0.0)
    return Advisor(counties, network, other, genetic=quick)


@pytest.fixture(scope="session")
def fit_command(files: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder of models that `daace eqi fit` wrote, and what it printed."""
    folder, printed = tmp_path_factory.mktemp("models"), io.StringIO()
    with redirect_stdout(printed), pytest.raises(SystemExit) as caught:
        main(["eqi", "fit", "--out", str(folder), "--data", str(files)])
    assert not caught.value.code
    return folder, printed.getvalue()


@pytest.fixture(scope="session")
def atlas(advisor: Advisor, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an atlas of the worst counties, planned in one process."""
    folder = tmp_path_factory.mktemp("atlas")
    run_atlas(advisor, folder, improve=6)
    return folder


@pytest.fixture(scope="session")
def real_counties(data_folder: Path) -> Counties:
    if not (data_folder / "eqi").is_dir():
        pytest.skip("needs the folder eqi in DAACE_DATA")
    return read_counties(data_folder / "eqi")


def topology() -> dict[str, Any]:
    """Two squares side by side that share an arc, the right one with an island of its own."""
    return {
        "type": "Topology",
        "transform": {"scale": [0.5, 2.0], "translate": [10.0, -1.0]},
        "arcs": [
            [[2, 0], [0, 2]],  # the shared side, upwards
            [[2, 2], [-2, 0], [0, -2], [2, 0]],  # round the left square
            [[2, 0], [2, 0], [0, 2], [-2, 0]],  # round the right square
            [[9, 9], [1, 0], [0, 1], [-1, -1]],
        ],
        "objects": {
            "counties": {
                "geometries": [
                    {"type": "Polygon", "id": "06037", "arcs": [[0, 1]]},
                    {"type": "MultiPolygon", "id": "02158", "arcs": [[[2, -1]], [[3]]]},
                ]
            }
        },
    }


@pytest.fixture
def map_file(tmp_path: Path) -> Path:
    path = tmp_path / "map.json"
    path.write_text(json.dumps(topology()))
    return path
