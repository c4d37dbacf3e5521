"""What a training step minimises: how far a slot is from what it should say, weighted by what it can add to acceptance.

It knows nothing of models; everything here is a pure function of predictions and masks.
"""

from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional

Weights = Literal["dpace", "exponential"]
Loss = Literal["choices", "tokens", "cross_entropy", "kl"]


def dpace_weights(confidence: Tensor, valid: Tensor, alpha: float) -> Tensor:
    """D-PACE: w_j = sum over m >= j of prod over i <= m of ((1 - alpha) q_i + alpha), q the drafter's probability of the target's token.

    confidence float [..., slots], valid bool [..., slots] (drafted slots only, no anchor) -> float [..., slots], 0 where not valid.
    """
    smooth = torch.where(valid, (1 - alpha) * confidence + alpha, 1.0)
    reached = smooth.cumprod(-1) * valid
    return reached.flip(-1).cumsum(-1).flip(-1) * valid


def exponential_weights(valid: Tensor, gamma: float) -> Tensor:
    """DFlash: w_i = exp(-(i - 1) / gamma) for drafted slot i = 1, 2, ...; valid bool [..., slots] -> float [..., slots]."""
    return torch.exp(-torch.arange(valid.shape[-1], device=valid.device) / gamma) * valid


def draft_loss(
    logits: Tensor,
    choices: Tensor,
    valid: Tensor,
    *,
    weights: Weights,
    alpha: float,
    gamma: float,
    loss: Loss = "choices",
    wanted: Tensor | None = None,
) -> Tensor:
    """The sum of weighted losses over valid slots; speculators and the trainer divide it by the number of these slots.

    logits [valid slots, vocabulary], in the order of `valid`; choices int64 [..., slots], what each slot should say; valid bool
    [..., slots]. `wanted` [valid slots, vocabulary]: the target's logits there, which "cross_entropy" and "kl" want all of, while the
    others look at `choices` alone. D-PACE takes its confidence from `choices` in each case. Returns a scalar.
    """
    entropy = functional.cross_entropy(logits, choices[valid], reduction="none")
    apart = entropy if wanted is None or loss in ("choices", "tokens") else _apart(logits, wanted, loss)
    with torch.no_grad():
        if weights == "dpace":
            confidence = torch.zeros(valid.shape, device=valid.device).masked_scatter_(valid, (-entropy).exp())
            weight = dpace_weights(confidence, valid, alpha)
        else:
            weight = exponential_weights(valid, gamma)
    return (apart * weight[valid]).sum()


def _apart(logits: Tensor, wanted: Tensor, loss: Loss) -> Tensor:
    """Per slot H(p, q) = -sum p log q, or KL(p || q) = sum p (log p - log q), with p the target's distribution and q the drafter's."""
    drafted = logits.log_softmax(-1)
    if loss == "cross_entropy":
        return -(wanted.softmax(-1) * drafted).sum(-1)
    return functional.kl_div(drafted, wanted.log_softmax(-1), reduction="none", log_target=True).sum(-1)
