"""What a training step minimises: cross entropy on the target's own choice, weighted by what a slot can add to acceptance.

It knows nothing of models; everything here is a pure function of predictions and masks.
"""

from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional


def dpace_weights(confidence: Tensor, valid: Tensor, alpha: float) -> Tensor:
    """D-PACE: w_j = sum over m >= j of prod over i <= m of ((1 - alpha) q_i + alpha), q the drafter's probability of the target's token.

    confidence float [..., slots], valid bool [..., slots] (drafted slots only, no anchor) -> float [..., slots], 0 where not valid.
    """
    smooth = torch.where(valid, (1 - alpha) * confidence + alpha, 1.0)
    reached = smooth.cumprod(-1) * valid
    return reached.flip(-1).cumsum(-1).flip(-1) * valid


def exponential_weights(valid: Tensor, gamma: float) -> Tensor:
    """DFlash: w_i = exp(-(i - 1) / gamma) for drafted slot i = 1, 2, ...; valid bool [..., slots] -> float [..., slots]."""
    return torch.exp(-torch.arange(valid.shape[-1]) / gamma) * valid


def draft_loss(
    logits: Tensor, choices: Tensor, valid: Tensor, *, weights: Literal["dpace", "exponential"], alpha: float, gamma: float
) -> Tensor:
    """The sum of weighted cross entropies over valid slots; speculators and the trainer divide it by the number of these slots.

    logits [valid slots, vocabulary], in the order of `valid`; choices int64 [..., slots]; valid bool [..., slots]. Returns a scalar.
    """
    entropy = functional.cross_entropy(logits, choices[valid], reduction="none")
    with torch.no_grad():
        if weights == "dpace":
            confidence = torch.zeros(valid.shape).masked_scatter_(valid, (-entropy).exp())
            weight = dpace_weights(confidence, valid, alpha)
        else:
            weight = exponential_weights(valid, gamma)
    return (entropy * weight[valid]).sum()
