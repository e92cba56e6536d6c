from __future__ import annotations

import numpy as np
import pytest

from daace.exceptions import InvalidInput, MissingDependency
from daace.explain import backends
from daace.explain.batch import row_generator
from daace.explain.explainer import Explainer


def test_the_generator_of_a_row_is_the_spawned_one():
    spawned = np.random.default_rng(7).spawn(40)
    assert row_generator(7, 33).random() == spawned[33].random()


@pytest.mark.parametrize("backend", ["dask", "ray"])
def test_other_backends_give_the_same_answers(mixture, backend):
    pytest.importorskip({"dask": "distributed", "ray": "ray"}[backend])
    rows = np.random.default_rng(3).normal(size=(40, 2))
    explainer = Explainer(mixture)
    serial = explainer.explain_batch(rows, target="well")
    parallel = explainer.explain_batch(rows, target="well", n_jobs=2, backend=backend)
    for one, other in zip(serial, parallel, strict=True):
        assert one.path.equals(other.path)
        assert one.cost == other.cost


@pytest.mark.parametrize(("backend", "package"), [("dask", "distributed"), ("ray", "ray")])
def test_a_missing_backend_says_how_to_get_it(simple, monkeypatch, backend, package):
    def refuse(name):
        raise ImportError(name)

    monkeypatch.setattr(backends, "import_module", refuse)
    rows = np.zeros((40, 2))
    with pytest.raises(MissingDependency, match=rf"pip install 'daace\[{backend}\]'"):
        simple.explain_batch(rows, target="well", n_jobs=2, backend=backend)


def test_an_unknown_backend_is_refused(simple):
    with pytest.raises(InvalidInput, match="'backend' must be one of 'loky', 'dask', 'ray'"):
        simple.explain_batch([[0.0, 0.0]], target="well", backend="threads")
