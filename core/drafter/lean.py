"""Decoding a dense Qwen3 target with few operations; anything else is decoded by transformers.

For a target of a few million parameters most of a step is the overhead of its operations: transformers takes 3.1 ms a token for
the demo target on one core, this a third of it. It is used only where it gave the same states as transformers on a probe.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

PROBE = 24
"""Tokens on which both ways must agree."""


@dataclass(frozen=True)
class LeanLayer:
    """One layer's weights, joined where they read the same input."""

    input_norm: Tensor
    qkv: Tensor
    """[(heads + 2 * kv_heads) * dim, hidden]"""
    qk_norm: Tensor
    """[heads + kv_heads, dim]"""
    out: Tensor
    post_norm: Tensor
    gate_up: Tensor
    """[2 * intermediate, hidden]"""
    down: Tensor


class LeanQwen3:
    """The weights of a `Qwen3ForCausalLM` with full attention and default rotary positions, and one pass through them."""

    def __init__(self, model: Any) -> None:
        config = model.config
        self.heads, self.kv_heads, self.dim = config.num_attention_heads, config.num_key_value_heads, config.head_dim
        self.eps, self.width = config.rms_norm_eps, (config.hidden_size,)
        self.embedding: Tensor = model.get_input_embeddings().weight
        self.head: Tensor = model.get_output_embeddings().weight
        self.norm: Tensor = model.model.norm.weight
        self.layers = [self._layer(layer) for layer in model.model.layers]
        half = torch.arange(0, self.dim, 2, dtype=torch.float32) / self.dim
        self._frequencies = config.rope_parameters["rope_theta"] ** -half
        self._rotations = self._table(512)

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
        return plain and rope.get("rope_type", "default") == "default" and config.hidden_act == "silu"

    def agrees_with(self, states: Sequence[Tensor], ids: Sequence[int]) -> bool:
        """Whether this gives the hidden states `states` (all of them, each [1, tokens, hidden]) for `ids`, fed in two pieces."""
        cache = LeanCache(self)
        pieces = [self.run(ids[: PROBE // 2], cache, range(len(states))), self.run(ids[PROBE // 2 :], cache, range(len(states)))]
        mine = [torch.cat(parts) for parts in zip(*(seen for _, seen in pieces), strict=True)]
        return all(torch.allclose(one, other[0], rtol=1e-3, atol=1e-3) for one, other in zip(mine, states, strict=True))

    def run(self, ids: Sequence[int], cache: "LeanCache", layers: Sequence[int]) -> tuple[Tensor, list[Tensor]]:
        """Append tokens to the cache: normed last states [tokens, hidden], and the hidden states `layers`, each [tokens, hidden]."""
        tokens, start = len(ids), cache.length
        cache.make_room(tokens)
        if start + tokens > len(self._rotations[0]):
            self._rotations = self._table(2 * (start + tokens))
        cos, sin = (table[start : start + tokens] for table in self._rotations)
        # Several tokens after a context: each sees the context and the new ones up to itself.
        mask = torch.ones(tokens, start + tokens, dtype=torch.bool).tril_(start) if tokens > 1 else None
        state = self.embedding[torch.tensor(ids)]
        seen = {0: state}
        for number, layer in enumerate(self.layers):
            normed = functional.rms_norm(state, self.width, layer.input_norm, self.eps)
            attended = self._attend(functional.linear(normed, layer.qkv), layer, cos, sin, mask, cache, number)
            state = state + functional.linear(attended, layer.out)
            normed = functional.rms_norm(state, self.width, layer.post_norm, self.eps)
            gate, up = functional.linear(normed, layer.gate_up).chunk(2, -1)
            state = state + functional.linear(functional.silu(gate).mul_(up), layer.down)
            seen[number + 1] = state
        cache.length += tokens
        return functional.rms_norm(state, self.width, self.norm, self.eps), [seen[layer] for layer in layers]

    def _attend(
        self, qkv: Tensor, layer: LeanLayer, cos: Tensor, sin: Tensor, mask: Tensor | None, cache: "LeanCache", number: int
    ) -> Tensor:
        """Attention of one layer, [tokens, heads * dim], from its projections [tokens, (heads + 2 * kv_heads) * dim]."""
        tokens, end = len(qkv), cache.length + len(qkv)
        parts = qkv.view(tokens, -1, self.dim)
        turned = functional.rms_norm(parts[:, : self.heads + self.kv_heads], (self.dim,), None, self.eps) * layer.qk_norm
        turned = torch.addcmul(turned * cos, turned.roll(self.dim // 2, -1), sin)
        keys, values = cache.keys[number], cache.values[number]
        keys[:, cache.length : end] = turned[:, self.heads :].transpose(0, 1)
        values[:, cache.length : end] = parts[:, self.heads + self.kv_heads :].transpose(0, 1)
        if mask is None:  # one token: its heads in groups that share a key/value head
            query = turned[0, : self.heads].view(self.kv_heads, -1, self.dim) * self.dim**-0.5
            weights = (query @ keys[:, :end].transpose(1, 2)).softmax(-1)
            return torch.matmul(weights, values[:, :end]).view(1, -1)
        group = self.heads // self.kv_heads
        query = turned[:, : self.heads].transpose(0, 1)
        every_key, every_value = (part[:, :end].repeat_interleave(group, 0) for part in (keys, values))
        attended: Tensor = functional.scaled_dot_product_attention(query, every_key, every_value, mask)
        return attended.transpose(0, 1).reshape(tokens, -1)

    def _layer(self, layer: Any) -> LeanLayer:
        attention, mlp = layer.self_attn, layer.mlp
        qk_norm = torch.stack([attention.q_norm.weight] * self.heads + [attention.k_norm.weight] * self.kv_heads)
        return LeanLayer(
            input_norm=layer.input_layernorm.weight,
            qkv=torch.cat([attention.q_proj.weight, attention.k_proj.weight, attention.v_proj.weight]),
            qk_norm=qk_norm,
            out=attention.o_proj.weight,
            post_norm=layer.post_attention_layernorm.weight,
            gate_up=torch.cat([mlp.gate_proj.weight, mlp.up_proj.weight]),
            down=mlp.down_proj.weight,
        )

    def _table(self, positions: int) -> tuple[Tensor, Tensor]:
        """Cosines and signed sines [positions, 1, dim]: x * cos + (x with its halves swapped) * sin turns x."""
        angles = torch.arange(positions)[:, None, None] * self._frequencies
        return torch.cat([angles.cos()] * 2, -1), torch.cat([-angles.sin(), angles.sin()], -1)


class LeanCache:
    """Keys and values of one sequence, each [kv_heads, room, dim] per layer, written in place."""

    def __init__(self, model: LeanQwen3) -> None:
        self.length = 0
        self._room = 0
        shape = (model.kv_heads, 0, model.dim)
        self.keys, self.values = ([torch.empty(shape) for _ in model.layers] for _ in range(2))

    def make_room(self, tokens: int) -> None:
        """Grow so that `tokens` more fit."""
        if self.length + tokens > self._room:
            self._room = 2 * (self.length + tokens) + 128
            for parts in (self.keys, self.values):
                for number, part in enumerate(parts):
                    parts[number] = part.new_empty(part.shape[0], self._room, part.shape[2])
                    parts[number][:, : self.length] = part[:, : self.length]
