"""Linear projections whose gradients may come from products of bfloat16 factors, while what they give stays float32.

A CPU with AVX512-BF16 multiplies these in half the time. Rounding a factor to 8 bits changes a gradient by a few thousandths, much less
than another batch would; what is said, and so the loss, stays exact. It knows nothing about models.
"""

from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

ROWS = 32
"""Rows are filled up to a multiple of this, or of a 32nd of the next power of two: oneDNN builds and keeps a kernel for every new shape,
which takes as long as the product."""

FEWEST = 6_000_000
"""Multiplications from which on the factors are worth converting (288 rows, 192 by 192: 0.44 and 0.32 ms; 192 by 64: 0.15 and 0.16)."""


def bfloat16_pays() -> bool:
    """Whether this CPU has instructions for products of bfloat16, as far as this PyTorch tells."""
    asked = getattr(torch.cpu, "_is_avx512_bf16_supported", None)
    return bool(asked is not None and asked() and torch.backends.mkldnn.is_available())  # type: ignore[no-untyped-call]


class Projection(nn.Linear):
    """[..., inputs] -> [..., outputs], without a bias."""

    gradients: torch.dtype = torch.float32
    """of the factors from which gradients are computed"""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__(inputs, outputs, bias=False)

    def forward(self, rows: Tensor) -> Tensor:
        """The product."""
        return project(rows, self.weight, self.gradients)


def project(rows: Tensor, weight: Tensor, gradients: torch.dtype) -> Tensor:
    """rows [..., inputs] through a weight [outputs, inputs]; gradients of both from factors of that type."""
    if gradients is torch.float32 or not torch.is_grad_enabled() or rows.numel() * len(weight) < FEWEST:
        return functional.linear(rows, weight)
    return cast(Tensor, _Product.apply(rows, weight))  # type: ignore[no-untyped-call]


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, rows: Tensor, weight: Tensor) -> Tensor:
        ctx.save_for_backward(rows, weight)
        return functional.linear(rows, weight)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, Tensor | None]:
        rows, weight = ctx.saved_tensors
        of_rows, of_weight = ctx.needs_input_grad
        outputs = _rounded(grads[0])
        to_rows = (outputs @ weight.bfloat16())[: rows.numel() // rows.shape[-1]].float().view_as(rows) if of_rows else None
        return to_rows, (outputs.t() @ _rounded(rows)).float() if of_weight else None


def _rounded(rows: Tensor) -> Tensor:
    """[..., width] as bfloat16 [rows, width], filled up with rows of zeros."""
    rows = rows.reshape(-1, rows.shape[-1])
    missing = -len(rows) % max(ROWS, 1 << len(rows).bit_length() >> 5)
    return rows.bfloat16() if not missing else functional.pad(rows, (0, 0, 0, missing)).bfloat16()
