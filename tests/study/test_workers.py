from __future__ import annotations

import gc
from pathlib import Path

import numpy as np
import pytest

from daace import Explainer, GaussianMixture, _workers
from daace._workers import Workers
from daace.exceptions import InvalidInput, MissingDependency
from daace.study.paper import PAPER
from daace.study.run import run_study
from daace.study.spec import StudySpec

from .conftest import lines


def square(number: int) -> int:
    if number < 0:
        raise ArithmeticError("negative")
    return number**2


@pytest.mark.parametrize("jobs", [1, 2])
def test_every_task_comes_back_with_its_number(jobs: int) -> None:
    with Workers(jobs=jobs).ready() as crew:
        assert dict(crew.run(square, range(20))) == {k: k**2 for k in range(20)}


@pytest.mark.parametrize("jobs", [1, 2])
def test_errors_come_through(jobs: int) -> None:
    with Workers(jobs=jobs).ready() as crew, pytest.raises(ArithmeticError, match="negative"):
        list(crew.run(square, [1, -1]))


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"jobs": 0}, "'jobs' must be an integer of at least 1. Got 0."),
        ({"backend": "slurm"}, "'backend' must be one of 'loky', 'dask', 'ray'"),
        ({"dask_address": "tcp://a:1"}, "'dask_address' must go with the backend 'dask'"),
        ({"ray_address": "ray://a:1"}, "'ray_address' must go with the backend 'ray'"),
    ],
)
def test_wrong_settings_are_named(wrong: dict[str, object], sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        Workers(**wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("backend", ["dask", "ray"])
def test_a_missing_package_is_named(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(name: str) -> None:
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(_workers, "import_module", nothing)
    with (
        pytest.raises(MissingDependency, match=rf"pip install 'daace\[{backend}\]'"),
        Workers(backend=backend).ready(),  # type: ignore[arg-type]
    ):
        pass


@pytest.mark.filterwarnings("ignore")  # of the clusters, when they come and go
@pytest.mark.parametrize(("backend", "package"), [("dask", "distributed"), ("ray", "ray")])
def test_a_cluster_gives_the_same_answers_and_records(
    backend: str,
    package: str,
    whole: Path,
    tiny: StudySpec,
    tmp_path: Path,
) -> None:
    pytest.importorskip(package, reason=f"needs {package}: pip install 'daace[{backend}]'")
    eyes = [np.eye(2)] * 2
    explainer = Explainer(GaussianMixture([1, 1], [[0, 0], [4, 1]], eyes, ["ill", "well"]))
    rows = np.random.default_rng(3).normal(size=(70, 2))
    workers = Workers(jobs=2, backend=backend)  # type: ignore[arg-type]
    with workers.ready():  # it takes seconds to start: both use the one that is there
        many = explainer.explain_batch(rows, target="well", n_jobs=2, backend=backend)  # type: ignore[arg-type]
        summary = run_study(tiny, tmp_path, workers=workers, client=PAPER)
    gc.collect()  # what the cluster left open is closed here, not in another test
    for one, other in zip(explainer.explain_batch(rows, target="well"), many, strict=True):
        assert one.path.equals(other.path)
        assert one.cost == other.cost
    assert (summary.answered, summary.failed) == (32, 0)
    assert lines(tmp_path) == lines(whole)
