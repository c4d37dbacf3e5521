"""Decoding a dense Qwen3 target with few operations; anything else is decoded by transformers.

For a target of a few million parameters most of a step is the overhead of its operations: transformers takes 3.1 ms a token for
the demo target on one core, this a third of it. It is used only where it gave the same states as transformers on a probe.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from core.drafter.products import Weight

PROBE = 24
"""Tokens on which both ways must agree."""


@dataclass(frozen=True)
class Sizes:
    """What the operations of a layer need to know besides its weights."""

    heads: int
    kv_heads: int
    dim: int
    """of one head, even"""
    eps: float
    rope_theta: float


@dataclass(frozen=True)
class LeanLayer:
    """One layer's weights, joined where they read the same input, the norms before them folded in (see `unit`).

    The halves of each query and key head are interleaved (see `interleaved`).
    """

    qkv: Weight
    """[(heads + 2 * kv_heads) * dim, hidden]"""
    qk_norm: Tensor
    """[heads + kv_heads, dim]; the queries' part holds the scale of the attention too"""
    out: Weight
    gate_up: Weight
    """[2 * intermediate, hidden]"""
    down: Weight

    @classmethod
    def of(cls, layer: Any, sizes: Sizes) -> "LeanLayer":
        """The weights of a Qwen3 layer (transformers' or the drafter's)."""
        attention, mlp = layer.self_attn, layer.mlp
        before, after = (norm.weight * len(norm.weight) ** 0.5 for norm in (layer.input_layernorm, layer.post_attention_layernorm))
        scaled = attention.q_norm.weight * sizes.dim**-0.5
        query, key = (interleaved(part.weight.view(-1, sizes.dim, part.in_features), 1) for part in (attention.q_proj, attention.k_proj))
        return cls(
            qkv=Weight(torch.cat([query.flatten(0, 1), key.flatten(0, 1), attention.v_proj.weight]) * before),
            qk_norm=interleaved(torch.stack([scaled] * sizes.heads + [attention.k_norm.weight] * sizes.kv_heads), 1) * sizes.dim**0.5,
            out=Weight(attention.o_proj.weight),
            gate_up=Weight(torch.cat([mlp.gate_proj.weight, mlp.up_proj.weight]) * after),
            down=Weight(mlp.down_proj.weight),
        )


def interleaved(heads: Tensor, axis: int) -> Tensor:
    """Head dimensions i and i + dim / 2, which rotate together, made neighbours: then a rotation is one complex product.

    Scores do not change when queries and keys are reordered alike.
    """
    left, right = heads.chunk(2, axis)
    return torch.stack([left, right], axis + 1).flatten(axis, axis + 1)


def unit(states: Tensor, eps: float) -> Tensor:
    """[..., width] over the root of its sum of squares and width * eps: an RMS norm but for sqrt(width) and its weight.

    Three operations where PyTorch's own takes eight (4 and 10 us for 8 rows of 192).
    """
    return states / torch.hypot(torch.linalg.vector_norm(states, dim=-1, keepdim=True), _floor(states.shape[-1], eps))


@cache
def _floor(width: int, eps: float) -> Tensor:
    return torch.tensor((width * eps) ** 0.5)


class Rotations:
    """Rotary positions as complex factors, made as far as they are asked for."""

    def __init__(self, sizes: Sizes) -> None:
        self._frequencies = sizes.rope_theta ** -(torch.arange(0, sizes.dim, 2, dtype=torch.float32) / sizes.dim)
        self._table = self._factors(512)

    def between(self, start: int, end: int) -> Tensor:
        """Factors [positions, 1, dim / 2] complex64 of consecutive positions."""
        self._reach(end)
        return self._table[start:end]

    def at(self, positions: Sequence[int]) -> Tensor:
        """Factors of any positions."""
        self._reach(max(positions) + 1)
        return self._table[torch.tensor(positions)]

    def _reach(self, end: int) -> None:
        if end > len(self._table):
            self._table = self._factors(2 * end)

    def _factors(self, positions: int) -> Tensor:
        angles = torch.arange(positions)[:, None, None] * self._frequencies
        return torch.polar(torch.ones_like(angles), angles)


def turned(heads: Tensor, factors: Tensor) -> Tensor:
    """Interleaved heads [..., heads, dim] rotated by the factors [..., 1, dim / 2] of their positions."""
    pairs = heads.view(*heads.shape[:-1], -1, 2)
    return torch.view_as_real(torch.view_as_complex(pairs) * factors).flatten(-2)


class KeyValues:
    """Keys and values of one sequence in one block of memory, [2, layers, kv_heads, room, dim], written in place."""

    def __init__(self, layers: int, sizes: Sizes) -> None:
        self.length = 0
        self._fill(torch.empty(2, layers, sizes.kv_heads, 0, sizes.dim))

    def make_room(self, tokens: int) -> None:
        """Grow so that `tokens` more fit."""
        room = self.data.shape[3]
        if self.length + tokens > room:
            grown = self.data.new_empty(*self.data.shape[:3], 2 * (self.length + tokens) + 128, self.data.shape[4])
            grown[:, :, :, : self.length] = self.data[:, :, :, : self.length]
            self._fill(grown)

    def keep(self, start: int, places: Sequence[int]) -> None:
        """Of what came after the first `start` tokens keep those at `places` (ascending, counted from `start`), and nothing else."""
        if list(places) != list(range(len(places))):
            kept = self.data.index_select(3, torch.tensor([start + place for place in places]))
            self.data[:, :, :, start : start + len(places)] = kept
        self.length = start + len(places)

    def _fill(self, data: Tensor) -> None:
        self.data = data
        self.keys, self.values = list(data[0]), list(data[1])
        """per layer [kv_heads, room, dim]"""


def step(
    state: Tensor,
    layer: LeanLayer,
    sizes: Sizes,
    factors: Tensor,
    keys: Tensor,
    values: Tensor,
    start: int,
    mask: Tensor | None,
    first: int = 0,
) -> Tensor:
    """One layer over new tokens: [tokens, hidden] -> [tokens, hidden]; their keys and values are written behind the first `start`.

    Every token sees those from `first` to `start`, and those of the new ones where `mask` [tokens, 1, tokens] is 0 and not -inf; None:
    all of them.
    """
    attended = _attend(layer.qkv(unit(state, sizes.eps)), layer, sizes, factors, keys, values, start, mask, first)
    state = state + layer.out(attended)
    gate, up = layer.gate_up(unit(state, sizes.eps)).chunk(2, -1)
    return state + layer.down(functional.silu(gate).mul_(up))


def _attend(
    qkv: Tensor,
    layer: LeanLayer,
    sizes: Sizes,
    factors: Tensor,
    keys: Tensor,
    values: Tensor,
    start: int,
    mask: Tensor | None,
    first: int,
) -> Tensor:
    """Attention of one layer, [tokens, heads * dim], from its projections [tokens, (heads + 2 * kv_heads) * dim]."""
    heads, kv_heads, dim = sizes.heads, sizes.kv_heads, sizes.dim
    tokens, end = len(qkv), start + len(qkv)
    parts = qkv.view(tokens, -1, dim)
    rotated = turned(unit(parts[:, : heads + kv_heads], sizes.eps) * layer.qk_norm, factors)
    keys[:, start:end] = rotated[:, heads:].transpose(0, 1)
    values[:, start:end] = parts[:, heads + kv_heads :].transpose(0, 1)
    if mask is not None and not start:  # a prompt: no square of scores is kept
        query = rotated[:, :heads].transpose(0, 1)
        shared = heads > kv_heads
        seen = functional.scaled_dot_product_attention(
            query[None], keys[None, :, :end], values[None, :, :end], mask[:, 0], scale=1.0, enable_gqa=shared
        )
        return seen[0].transpose(0, 1).reshape(tokens, -1)
    # The heads that share keys stand under each other, so that these are read once and never copied.
    query = rotated[:, :heads].view(tokens, kv_heads, -1, dim).transpose(0, 1).reshape(kv_heads, -1, dim)
    scores = torch.bmm(query, keys[:, first:end].transpose(1, 2))
    if mask is not None:
        scores.view(kv_heads, tokens, -1, end - first)[..., start - first :].add_(mask)
    attended = torch.bmm(scores.softmax(-1), values[:, first:end])
    return attended.view(kv_heads, tokens, -1).transpose(0, 1).reshape(tokens, -1)


class LeanQwen3:
    """The weights of a `Qwen3ForCausalLM` with full attention and default rotary positions, and one pass through them."""

    def __init__(self, model: Any, head: Weight) -> None:
        config = model.config
        self.sizes = Sizes(
            heads=config.num_attention_heads,
            kv_heads=config.num_key_value_heads,
            dim=config.head_dim,
            eps=config.rms_norm_eps,
            rope_theta=config.rope_parameters["rope_theta"],
        )
        self.embedding: Tensor = model.get_input_embeddings().weight
        self.head = head
        self.norm: Tensor = model.model.norm.weight * config.hidden_size**0.5
        self.layers = [LeanLayer.of(layer, self.sizes) for layer in model.model.layers]
        self._rotations = Rotations(self.sizes)
        self._causal = causal(32)

    @staticmethod
    def suits(model: Any) -> bool:
        """Whether the model is one this class can stand in for, as far as its configuration tells."""
        config = model.config
        rope = getattr(config, "rope_parameters", None) or {}
        plain = (
            not config.attention_bias and not getattr(config, "use_sliding_window", False)
            if type(model).__name__ == "Qwen3ForCausalLM"
            else False
        )
        return plain and rope.get("rope_type", "default") == "default" and config.hidden_act == "silu" and config.head_dim % 2 == 0

    def agrees_with(self, states: Sequence[Tensor], ids: Sequence[int]) -> bool:
        """Whether this gives the hidden states `states` (all of them, each [1, tokens, hidden]) for `ids`, fed in two pieces."""
        cache = self.cache()
        pieces = [self.run(ids[: PROBE // 2], cache, range(len(states))), self.run(ids[PROBE // 2 :], cache, range(len(states)))]
        mine = [torch.cat(parts) for parts in zip(*(seen for _, seen in pieces), strict=True)]
        return all(torch.allclose(one, other[0], rtol=1e-3, atol=1e-3) for one, other in zip(mine, states, strict=True))

    def cache(self) -> KeyValues:
        """An empty cache for one sequence."""
        return KeyValues(len(self.layers), self.sizes)

    def run(
        self,
        ids: Sequence[int],
        cache: KeyValues,
        layers: Sequence[int],
        depths: Sequence[int] | None = None,
        visible: Tensor | None = None,
    ) -> tuple[Tensor, list[Tensor]]:
        """Append tokens to the cache: normed last states [tokens, hidden], and the hidden states `layers`, each [tokens, hidden].

        A tree of tokens gives their `depths` (positions after what is cached) and which of them each sees, `visible` bool [tokens, tokens].
        """
        tokens, start = len(ids), cache.length
        cache.make_room(tokens)
        if depths is None:
            factors = self._rotations.between(start, start + tokens)
        else:
            factors = self._rotations.at([start + depth for depth in depths])
        state = self.embedding[torch.tensor(ids)]
        seen = {0: state}
        mask = self._mask(tokens, visible)
        for number, layer in enumerate(self.layers):
            state = step(state, layer, self.sizes, factors, cache.keys[number], cache.values[number], start, mask)
            seen[number + 1] = state
        cache.length += tokens
        return unit(state, self.sizes.eps) * self.norm, [seen[layer] for layer in layers]

    def _mask(self, tokens: int, visible: Tensor | None) -> Tensor | None:
        """What `step` takes; one token sees itself anyway."""
        if visible is not None:
            return torch.zeros(tokens, 1, tokens).masked_fill_(~visible[:, None], float("-inf"))
        if tokens == 1:
            return None
        return self._causal[:tokens, :, :tokens] if tokens <= len(self._causal) else causal(tokens)


def causal(tokens: int) -> Tensor:
    """[tokens, 1, tokens]: 0 up to the token itself, -inf after it."""
    return torch.full((tokens, tokens), float("-inf")).triu_(1)[:, None]
