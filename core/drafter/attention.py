"""Attention of draft blocks over [context ; own block], without a mask over all pairs of blocks.

Scores against the shared context and against the block itself are computed apart and put under one softmax, so the work is
anchors x block x (context + block), not (anchors x block) squared. It knows neither projections nor rotary positions.
"""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Sight:
    """What the slots of a layer see besides their context before the anchor."""

    window: int = 0
    """How many tokens before the anchor; 0: all of them."""
    causal: bool = False
    """Whether a slot sees nothing of its block that stands after it."""


EVERYTHING = Sight()


def block_attention(
    query: Tensor,
    context_key: Tensor,
    context_value: Tensor,
    block_key: Tensor,
    block_value: Tensor,
    anchors: Tensor | None,
    sight: Sight = EVERYTHING,
) -> Tensor:
    """Softmax attention of every slot over the context before its anchor and over its own block, both ways unless `sight` says otherwise.

    query [rows, blocks, slots, heads, dim]; context_key and context_value [rows, context, kv_heads, dim]; block_key and
    block_value [rows, blocks, slots, kv_heads, dim]; anchors [rows, blocks] int64: block b sees context positions j < anchors[b] only.
    None: every block stands at the end of the whole context (decoding). Returns [rows, blocks, slots, heads * dim].
    """
    rows, blocks, slots, heads, dim = query.shape
    kv_heads, context = context_key.shape[2], context_key.shape[1]
    group = heads // kv_heads
    if anchors is None and sight.window and sight.window < context:
        context_key, context_value, context = context_key[:, -sight.window :], context_value[:, -sight.window :], sight.window
    # [rows, kv_heads, blocks, group * slots, dim]: the heads that share a key/value head stand under each other.
    q = query.view(rows, blocks, slots, kv_heads, group, dim).permute(0, 3, 1, 4, 2, 5).reshape(rows, kv_heads, blocks, group * slots, dim)
    q = q * dim**-0.5
    own = q @ block_key.permute(0, 3, 1, 4, 2)
    if sight.causal:
        later = torch.ones(slots, slots, dtype=torch.bool, device=query.device).triu_(1).repeat(group, 1)
        own = own.masked_fill(later, float("-inf"))
    q = q.reshape(rows, kv_heads, blocks * group * slots, dim)
    seen = (q @ context_key.permute(0, 2, 3, 1)).view(rows, kv_heads, blocks, group * slots, context)
    if anchors is not None:
        places = torch.arange(context, device=query.device)
        hidden = places >= anchors[..., None]
        if sight.window:
            hidden = hidden | (places < anchors[..., None] - sight.window)
        away = torch.zeros(hidden.shape, dtype=seen.dtype, device=query.device).masked_fill_(hidden, float("-inf"))
        seen = seen + away[:, None, :, None, :]
    weights = torch.cat([seen, own], -1).softmax(-1)
    over_context = weights[..., :context].reshape(rows, kv_heads, blocks * group * slots, context) @ context_value.transpose(1, 2)
    over_block = weights[..., context:] @ block_value.permute(0, 3, 1, 2, 4)
    out = over_context.view(rows, kv_heads, blocks, group * slots, dim) + over_block
    out = out.view(rows, kv_heads, blocks, group, slots, dim).permute(0, 2, 4, 1, 3, 5)
    return out.reshape(rows, blocks, slots, heads * dim)
