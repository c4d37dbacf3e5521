"""Matrix products with fixed weights, for passes over a handful of tokens.

PyTorch's product is made for one row or for very many: on a core of an AMD EPYC, 8 rows through the demo target take 1.3 ms with it and
0.9 ms with oneDNN and a weight laid out for it beforehand (17 rows: 2.4 and 1.4 ms). One row stays with PyTorch (0.3 and 0.6 ms).
"""

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

FEWEST_ROWS = 4
"""From so many rows on the laid out weight is used."""

LARGEST = 1 << 24
"""Weights with more entries than this are not laid out a second time: memory counts more than overhead there."""


class Weight:
    """A weight [outputs, inputs] float32; called with [rows, inputs] it gives [rows, outputs]."""

    def __init__(self, matrix: Tensor) -> None:
        self.matrix = matrix.detach()
        self._packed = _laid_out(self.matrix)

    def __call__(self, rows: Tensor) -> Tensor:
        """The product."""
        if self._packed is None or len(rows) < FEWEST_ROWS:
            return functional.linear(rows, self.matrix)
        product: Tensor = _ops().mkldnn._linear_pointwise(rows, self._packed, None, "none", [], "")
        return product


def _ops() -> Any:
    return torch.ops


def _laid_out(matrix: Tensor) -> Tensor | None:
    """The weight as oneDNN wants it; None where this PyTorch cannot, or does not give the same product."""
    if matrix.numel() > LARGEST or matrix.device.type != "cpu":
        return None
    try:
        packed: Tensor = _ops().mkldnn._reorder_linear_weight(matrix.contiguous(), 8)
        probe = torch.linspace(-1, 1, 8 * matrix.shape[1]).view(8, -1)
        got = _ops().mkldnn._linear_pointwise(probe, packed, None, "none", [], "")
    except (AttributeError, RuntimeError, NotImplementedError):
        return None
    return packed if torch.allclose(got, functional.linear(probe, matrix), rtol=1e-3, atol=1e-3) else None
