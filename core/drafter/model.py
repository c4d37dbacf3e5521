"""The DFlash draft model (arXiv 2602.06036): blocks of mask tokens, denoised at once over the target's own features.

Parameters are named as in speculators (`fc`, `hidden_norm`, `norm`, `layers.*`), so that weights can be exchanged. The embedding
and the head are the target's and are not part of it, but for a head of fewer tokens. It knows nothing about training or decoding loops.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from core.drafter.attention import EVERYTHING, Sight, block_attention
from core.drafter.projections import Projection, project


@dataclass(frozen=True)
class DraftShape:
    """The sizes of a drafter; widths and rotary base follow the target's."""

    hidden_size: int
    intermediate_size: int
    heads: int
    kv_heads: int
    head_dim: int
    layers: int
    block_size: int
    target_layers: tuple[int, ...]
    mask_token_id: int
    vocab_size: int
    rope_theta: float = 1_000_000.0
    norm_eps: float = 1e-6
    draft_vocab_size: int | None = None
    """how many of the target's tokens it can say; None: all of them"""
    windows: tuple[int, ...] = ()
    """per layer how many tokens before the committed one it sees, 0 for all of them; empty: all layers see all"""
    causal_windows: bool = False
    """whether, in layers with a window, a slot sees nothing of its block that stands after it (as speculators trains them by default)"""

    def sight(self, layer: int) -> Sight:
        """What a layer's slots see."""
        window = self.windows[layer] if self.windows else 0
        return Sight(window, self.causal_windows) if window else EVERYTHING


Rotation = tuple[Tensor, Tensor]
"""Cosines and sines, each [..., dim], of some positions."""


class DraftAttention(nn.Module):
    """Queries come from the block; keys and values of context and block come from the same projections."""

    def __init__(self, shape: DraftShape, sight: Sight) -> None:
        super().__init__()
        self.heads, self.kv_heads, self.dim = shape.heads, shape.kv_heads, shape.head_dim
        self.sight = sight
        self.q_proj = Projection(shape.hidden_size, shape.heads * shape.head_dim)
        self.k_proj = Projection(shape.hidden_size, shape.kv_heads * shape.head_dim)
        self.v_proj = Projection(shape.hidden_size, shape.kv_heads * shape.head_dim)
        self.o_proj = Projection(shape.heads * shape.head_dim, shape.hidden_size)
        self.q_norm = nn.RMSNorm(shape.head_dim, shape.norm_eps)
        self.k_norm = nn.RMSNorm(shape.head_dim, shape.norm_eps)

    def forward(self, block: Tensor, rotation: Rotation, context: tuple[Tensor, Tensor], anchors: Tensor | None) -> Tensor:
        """block [rows, blocks, slots, hidden], context keys and values [rows, context, kv_heads, dim] -> like block."""
        heads, kv_heads = self.heads, self.kv_heads
        made = heads_of(block, [self.q_proj, self.k_proj, self.v_proj], self.dim)
        turned, value = torch.split(made, [heads + kv_heads, kv_heads], -2)
        turned = rotate(normed(turned, [self.q_norm, self.k_norm], [heads, kv_heads]), rotation)
        query, key = torch.split(turned, [heads, kv_heads], -2)
        attended: Tensor = self.o_proj(block_attention(query, *context, key, value, anchors, self.sight))
        return attended


class DraftMLP(nn.Module):
    """The gated feed-forward part of Qwen3."""

    def __init__(self, shape: DraftShape) -> None:
        super().__init__()
        self.gate_proj = Projection(shape.hidden_size, shape.intermediate_size)
        self.up_proj = Projection(shape.hidden_size, shape.intermediate_size)
        self.down_proj = Projection(shape.intermediate_size, shape.hidden_size)

    def forward(self, states: Tensor) -> Tensor:
        """[..., hidden] -> [..., hidden]."""
        out: Tensor = self.down_proj(functional.silu(self.gate_proj(states)) * self.up_proj(states))
        return out


class DraftLayer(nn.Module):
    """One pre-norm layer. Context features are not normed again here: `hidden_norm` has done it once for all layers."""

    def __init__(self, shape: DraftShape, sight: Sight) -> None:
        super().__init__()
        self.self_attn = DraftAttention(shape, sight)
        self.mlp = DraftMLP(shape)
        self.input_layernorm = nn.RMSNorm(shape.hidden_size, shape.norm_eps)
        self.post_attention_layernorm = nn.RMSNorm(shape.hidden_size, shape.norm_eps)

    def forward(self, block: Tensor, rotation: Rotation, context: tuple[Tensor, Tensor], anchors: Tensor | None) -> Tensor:
        """block [rows, blocks, slots, hidden] -> the same shape."""
        block = block + self.self_attn(self.input_layernorm(block), rotation, context, anchors)
        out: Tensor = block + self.mlp(self.post_attention_layernorm(block))
        return out


class DraftHead(nn.Module):
    """The rows of the target's head for the tokens that a drafter with fewer tokens can say; frozen."""

    def __init__(self, tokens: int, hidden_size: int) -> None:
        super().__init__()
        self.gradients = torch.float32
        self.weight: Tensor
        self.register_buffer("weight", torch.full((tokens, hidden_size), torch.nan))

    def forward(self, states: Tensor) -> Tensor:
        """[..., hidden] -> [..., tokens]."""
        return project(states, self.weight, self.gradients)


class DraftModel(nn.Module):
    """From the target's features and a block's embeddings to the states the target's head turns into draft tokens."""

    def __init__(self, shape: DraftShape, seed: int = 0) -> None:
        super().__init__()
        self.shape = shape
        self.fc = Projection(len(shape.target_layers) * shape.hidden_size, shape.hidden_size)
        self.hidden_norm = nn.RMSNorm(shape.hidden_size, shape.norm_eps)
        self.layers = nn.ModuleList(DraftLayer(shape, shape.sight(layer)) for layer in range(shape.layers))
        self.norm = nn.RMSNorm(shape.hidden_size, shape.norm_eps)
        self.lm_head: DraftHead | None = None
        self.t2d: Tensor
        self.d2t: Tensor | None
        """[draft vocabulary] int64: target id minus draft id of every token the drafter can say; None where it can say all"""
        if shape.draft_vocab_size is None:
            self.d2t = None
        else:
            self.lm_head = DraftHead(shape.draft_vocab_size, shape.hidden_size)
            self.register_buffer("d2t", torch.zeros(shape.draft_vocab_size, dtype=torch.int64))
            self.register_buffer("t2d", torch.zeros(shape.vocab_size, dtype=torch.bool))
        self._rotations: Rotation = (torch.empty(0, shape.head_dim), torch.empty(0, shape.head_dim))
        self.reset(seed)

    def reset(self, seed: int) -> None:
        """First weights: normal with deviation 1 / sqrt(inputs), norms 1. Depends on nothing but `seed`.

        The usual 0.02 suits widths of thousands; at the demo target's 192 the block's own embedding would drown what attention brings.
        """
        generator = torch.Generator().manual_seed(seed)
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.normal_(module.weight, std=module.in_features**-0.5, generator=generator)
            elif isinstance(module, nn.RMSNorm):
                nn.init.ones_(module.weight)

    def choose_vocabulary(self, kept: Tensor, head: Tensor) -> None:
        """Let it say the target ids `kept` (int64, ascending) and no others; `head` [target vocabulary, hidden]: the target's."""
        assert self.lm_head is not None and self.d2t is not None
        self.lm_head.weight.copy_(head[kept])
        self.d2t.copy_(kept - torch.arange(len(kept)))
        self.t2d.zero_()[kept] = True

    @property
    def said(self) -> Tensor | None:
        """[draft vocabulary] int64: the target ids that the drafter can say; None: all of them."""
        return None if self.d2t is None else self.d2t + torch.arange(len(self.d2t), device=self.d2t.device)

    def rotation(self, positions: Tensor) -> Rotation:
        """Rotary cosines and sines of real sequence positions [...] -> each [..., dim] float32."""
        last, device = int(positions.max()) + 1, positions.device
        if last > len(self._rotations[0]) or self._rotations[0].device != device:
            half = torch.arange(0, self.shape.head_dim, 2, dtype=torch.float32, device=device) / self.shape.head_dim
            angles = torch.arange(2 * last, device=device)[:, None].float() * self.shape.rope_theta**-half
            angles = torch.cat([angles, angles], -1)
            self._rotations = (angles.cos(), angles.sin())
        cos, sin = self._rotations
        return cos[positions], sin[positions]

    def context(self, features: Tensor, first: int = 0) -> list[tuple[Tensor, Tensor]]:
        """Per layer the keys and values of target features [rows, context, taps * hidden] at positions `first`, `first + 1`, ...

        These are all the drafter needs to remember of a sequence; decoding appends to them as tokens are accepted.
        """
        states = self.hidden_norm(self.fc(features))
        rotation = self.rotation(torch.arange(first, first + features.shape[1], device=features.device))
        layers: list[Any] = [layer.self_attn for layer in self.layers]
        key, value = heads_of(
            states, [*(layer.k_proj for layer in layers), *(layer.v_proj for layer in layers)], self.shape.head_dim
        ).chunk(2, -2)
        kv_heads = self.shape.kv_heads
        key = rotate(normed(key, [layer.k_norm for layer in layers], [kv_heads] * len(layers)), rotation)
        return list(zip(torch.split(key, kv_heads, -2), torch.split(value, kv_heads, -2), strict=True))

    def forward(self, block: Tensor, positions: Tensor, context: list[tuple[Tensor, Tensor]], anchors: Tensor | None) -> Tensor:
        """Embeddings [rows, blocks, slots, hidden] at positions [rows, blocks, slots] -> normed states of the same shape.

        `anchors` [rows, blocks]: a block sees the context strictly before its anchor; None where the context ends there anyway.
        """
        rotation = self.rotation(positions)
        for layer, keys_values in zip(self.layers, context, strict=True):
            block = layer(block, rotation, keys_values, anchors)
        out: Tensor = self.norm(block)
        return out


def heads_of(states: Tensor, projections: Sequence[Projection], dim: int) -> Tensor:
    """[..., hidden] through several projections with one product, which takes less time than one each -> [..., all heads, dim]."""
    weight = torch.cat([projection.weight for projection in projections])
    return project(states, weight, projections[0].gradients).view(*states.shape[:-1], -1, dim)


def normed(heads: Tensor, norms: Sequence[nn.RMSNorm], counts: Sequence[int]) -> Tensor:
    """[..., heads, dim], the first `counts[0]` heads through the first norm, and so on."""
    weight = torch.cat([norm.weight.expand(count, -1) for norm, count in zip(norms, counts, strict=True)])
    return functional.rms_norm(heads, (heads.shape[-1],), None, norms[0].eps) * weight


def rotate(heads: Tensor, rotation: Rotation) -> Tensor:
    """Turn [..., heads, dim] by the rotation of its positions (halves paired, as in Llama and Qwen)."""
    cos, sin = (part.unsqueeze(-2) for part in rotation)
    left, right = heads.chunk(2, -1)
    return heads * cos + torch.cat([-right, left], -1) * sin
