from __future__ import annotations

import numpy as np
import pytest

from daace.exceptions import InvalidInput
from daace.explain.explainer import Explainer
from daace.explain.judging.classifier import ClassifierPosterior
from daace.explain.judging.torch_module import is_torch_module

torch = pytest.importorskip("torch")


def test_modules_are_told_from_others():
    assert is_torch_module(torch.nn.Linear(2, 1))
    assert not is_torch_module(torch.nn.Linear)
    assert not is_torch_module(len)


@pytest.mark.parametrize("outputs", [1, 2])
def test_a_torch_module_is_differentiated_by_torch(mixture, outputs):
    torch.manual_seed(0)  # with some first weights the class hardly changes, and no way is found
    last = torch.nn.Sigmoid() if outputs == 1 else torch.nn.Softmax(dim=1)
    module = torch.nn.Sequential(torch.nn.Linear(2, outputs, dtype=torch.float64), last)
    with pytest.raises(InvalidInput, match=r"evaluation mode: call classifier.eval\(\)"):
        Explainer(mixture, classifier=module)
    judge = ClassifierPosterior(module.eval(), mixture)
    X = np.random.default_rng(0).normal(size=(6, 2))
    logs, slopes = judge.log_posterior_and_gradient(X, 1)
    assert np.exp(logs).sum(axis=1) == pytest.approx(np.ones(6))
    plain = ClassifierPosterior(lambda rows: np.exp(judge.log_posterior(rows.to_numpy())), mixture)
    np.testing.assert_allclose(
        slopes, plain.log_posterior_and_gradient(X, 1)[1], rtol=1e-5, atol=1e-9
    )
    assert Explainer(mixture, classifier=module).explain([0.0, 0.0]).status
