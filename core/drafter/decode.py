"""Greedy decoding, plain and speculative, of one prompt at a time. It knows nothing about prompts' origin or reports.

A round drafts a block after the committed token, lets the target read it in one pass and keeps the longest prefix the target
would have said itself, plus the target's next token: so the output is the target's own, whatever the drafter says.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from core.drafter.model import DraftModel
from core.drafter.target import TargetEnds, TargetModel


@dataclass(frozen=True)
class Decoded:
    """A response and how it came about."""

    tokens: tuple[int, ...]
    """the stop token included, when one was said"""
    rounds: tuple[int, ...]
    """tokens of each speculative round: drafts accepted + 1, not counting what was drafted past a stop token; empty when plain"""


class Drafter(Protocol):
    """Whatever proposes tokens during one response."""

    layers: Sequence[int]
    """The target's hidden states it wants to see."""

    def extend(self, features: Tensor) -> None:
        """Learn the features [tokens, layers * hidden] of the tokens just committed (the newest one excepted)."""

    def propose(self, committed: int) -> list[int]:
        """Draft what follows the newest committed token, whose own features are not known yet."""


class ChainDrafter:
    """A DFlash model drafting one response: keeps the context's keys and values, one forward pass per block."""

    def __init__(self, model: DraftModel, ends: TargetEnds) -> None:
        self._model = model
        self._ends = ends
        self.layers: Sequence[int] = model.shape.target_layers
        self._context: list[tuple[Tensor, Tensor]] = []
        self._length = 0
        self._tokens = torch.full((1, 1, model.shape.block_size), model.shape.mask_token_id)
        self._slots = torch.arange(model.shape.block_size)[None, None]

    @torch.inference_mode()
    def extend(self, features: Tensor) -> None:
        """Append the features' keys and values to the context."""
        new = self._model.context(features[None], self._length)
        joined = (
            [(torch.cat([k, nk], 1), torch.cat([v, nv], 1)) for (k, v), (nk, nv) in zip(self._context, new, strict=True)]
            if self._context
            else new
        )
        self._context = joined
        self._length += len(features)

    @torch.inference_mode()
    def propose(self, committed: int) -> list[int]:
        """The most probable token of every drafted slot, block size - 1 of them."""
        self._tokens[..., 0] = committed
        states = self._model(self._ends.embed(self._tokens), self._slots + self._length, self._context, None)
        drafts: list[int] = self._ends.head(states[0, 0, 1:]).argmax(-1).tolist()
        return drafts


def decode_plain(target: TargetModel, prompt: Sequence[int], max_new_tokens: int, stop: Collection[int]) -> Decoded:
    """The target's greedy response to a prompt, one token per pass."""
    session = target.start(())
    chosen, _ = session.feed(prompt, last_only=True)
    tokens = [int(chosen[-1])]
    while len(tokens) < max_new_tokens and tokens[-1] not in stop:
        chosen, _ = session.feed(tokens[-1:])
        tokens.append(int(chosen[-1]))
    return Decoded(tuple(tokens), ())


def decode_speculative(target: TargetModel, drafter: Drafter, prompt: Sequence[int], max_new_tokens: int, stop: Collection[int]) -> Decoded:
    """The same response, drafted in blocks. A last round that passes `max_new_tokens` counts whole, its surplus is cut off."""
    session = target.start(drafter.layers)
    chosen, features = session.feed(prompt, last_only=True)
    drafter.extend(features)
    tokens = [int(chosen[-1])]
    rounds: list[int] = []
    while len(tokens) < max_new_tokens and tokens[-1] not in stop:
        before = session.length
        drafts = drafter.propose(tokens[-1])
        verified, features = session.feed([tokens[-1], *drafts])
        said: list[int] = verified.tolist()
        accepted = next((slot for slot, token in enumerate(drafts) if token != said[slot]), len(drafts))
        gained = said[: accepted + 1]
        ended = next((slot for slot, token in enumerate(gained) if token in stop), None)
        if ended is not None:
            gained = gained[: ended + 1]
        tokens += gained
        rounds.append(len(gained))
        session.shorten(before + len(gained))
        drafter.extend(features[: len(gained)])
    return Decoded(tuple(tokens[:max_new_tokens]), tuple(rounds))
