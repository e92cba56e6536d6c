"""A torch module as a classifier: asked without gradients, differentiated by torch."""

from __future__ import annotations

from typing import Any

import numpy as np

from daace._typing import FloatArray
from daace.exceptions import InvalidInput


def is_torch_module(thing: object) -> bool:
    """Whether something is a `torch.nn.Module`; asked without loading torch."""
    return any(
        f"{kind.__module__}.{kind.__qualname__}" == "torch.nn.modules.module.Module"
        for kind in type(thing).__mro__
    )


class TorchModule:
    """Calls a module with rows that are arrays, in the precision and place of its parameters.

    Args:
        module: in evaluation mode; its output is probabilities.

    Raises:
        InvalidInput: the module is in training mode, where dropout makes answers random.

    Example:
        >>> import torch
        >>> model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Softmax(dim=1))
        >>> TorchModule(model.eval())(np.zeros((5, 3))).shape
        (5, 2)
    """

    def __init__(self, module: Any) -> None:
        if module.training:
            raise InvalidInput(
                "'classifier' must be in evaluation mode: call classifier.eval() first.",
                argument="classifier",
            )
        self._module = module

    def __call__(self, rows: FloatArray) -> FloatArray:
        """Return the module's output."""
        import torch

        with torch.no_grad():
            return np.asarray(self._module(self._tensor(rows)).double().cpu().numpy())

    def gradient(self, rows: FloatArray) -> FloatArray:
        """Return the gradient of every output with respect to each row, `(rows, outputs, n)`."""
        import torch

        inputs = self._tensor(rows).requires_grad_(True)
        outputs = self._module(inputs).reshape(len(rows), -1)
        slopes = [
            torch.autograd.grad(outputs[:, k].sum(), inputs, retain_graph=True)[0]
            for k in range(outputs.shape[1])
        ]
        stacked = np.asarray(torch.stack(slopes, dim=1).double().cpu().numpy())
        return stacked[:, 0] if stacked.shape[1] == 1 else stacked

    def _tensor(self, rows: FloatArray) -> Any:
        import torch

        like = next(self._module.parameters(), torch.empty(0))
        return torch.as_tensor(rows, dtype=like.dtype, device=like.device)
