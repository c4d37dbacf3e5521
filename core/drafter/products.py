"""Matrix products with fixed weights, for passes over a handful of tokens.

PyTorch's product is made for one row or for very many. On a core of an AMD EPYC (AVX512) 8 rows through the demo target's head take 206 us
with it and 133 us with oneDNN and a weight laid out for it beforehand (one row: 82 and 61 us), through its MLP's first weight 54 and 45 us
(one row: 18 and 26 us). A call of oneDNN costs 12 us more than PyTorch's, so smaller weights stay there (192 x 192, 8 rows: 10 and 18 us).
"""

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

FEWEST_ROWS = ((500_000, 1), (150_000, 2), (90_000, 5))
"""(entries, rows): from so many rows on a weight of at least so many entries is used as it was laid out; smaller ones are not laid out."""

LARGEST = 1 << 24
"""Weights with more entries than this are not laid out a second time: memory counts more than overhead there."""


class Weight:
    """A weight [outputs, inputs] float32; called with [rows, inputs] it gives [rows, outputs]."""

    def __init__(self, matrix: Tensor) -> None:
        self.matrix = matrix.detach()
        self._fewest = next((rows for entries, rows in FEWEST_ROWS if self.matrix.numel() >= entries), None)
        self._packed = None if self._fewest is None else _laid_out(self.matrix)

    def __call__(self, rows: Tensor) -> Tensor:
        """The product."""
        if self._packed is None or len(rows) < (self._fewest or 1):
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
