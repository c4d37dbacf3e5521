"""One sequence being decoded by the target: fed step by step, in chains or trees, and shortened when drafts are rejected."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import torch
from torch import Tensor
from transformers import DynamicCache

from core.drafter.drafts import Draft
from core.drafter.lean import KeyValues, LeanQwen3
from core.errors import InputError

if TYPE_CHECKING:
    from core.drafter.target import TargetModel

Read = tuple[Tensor, Tensor]
"""Logits [tokens, vocabulary] of what follows each token, and the tokens' features [tokens, layers * hidden], float32."""


class DraftsUnreadable(InputError):
    """A target that cannot take back what it has read."""


class Session(Protocol):
    """What decoding needs of a target."""

    @property
    def length(self) -> int:
        """Tokens fed and not forgotten."""

    def feed(self, ids: Sequence[int], last_only: bool = False) -> Read:
        """Append tokens; with `last_only` the logits are those after the last token alone (prefill), [1, vocabulary]."""

    def feed_draft(self, committed: int, draft: Draft) -> Read:
        """Append a committed token and its drafts, each of which sees nothing but the text before it and its own ancestors."""

    def keep(self, start: int, places: Sequence[int]) -> None:
        """Of what was appended after the first `start` tokens keep those at `places` (ascending, 0 the first), and nothing else."""


class TransformersSession:
    """A session of any target whose layers attend, with transformers' own cache; raises `DraftsUnreadable` for others."""

    def __init__(self, target: "TargetModel", layers: Sequence[int]) -> None:
        self._target = target
        self._layers = tuple(layers)
        # Not made from the config: layers with a window would then forget what lies behind it, and could not take drafts back.
        self._cache = DynamicCache()
        self._length = 0
        self._windows = _windows(target.config)

    @property
    def length(self) -> int:
        """As `Session.length`."""
        return self._length

    def feed(self, ids: Sequence[int], last_only: bool = False) -> Read:
        """As `Session.feed`."""
        return self._run(ids, last_only)

    def feed_draft(self, committed: int, draft: Draft) -> Read:
        """As `Session.feed_draft`."""
        ids = [committed, *draft.tokens]
        if draft.parents is None:
            return self._run(ids, False)
        positions = torch.tensor([self._length, *(self._length + depth for depth in draft.depths)])
        mask = torch.zeros(len(ids), self._length + len(ids))
        mask[:, self._length :].masked_fill_(~draft.visible(), float("-inf"))
        masks = {"full_attention": mask[None, None]}
        if "sliding_attention" in self._windows:
            behind = torch.cat([torch.arange(self._length), positions]) <= positions[:, None] - self._windows["sliding_attention"]
            masks["sliding_attention"] = mask.masked_fill(behind, float("-inf"))[None, None]
        mixed = len(self._windows) > 1
        return self._run(ids, False, positions[None], masks if mixed else masks[next(iter(self._windows))])

    def keep(self, start: int, places: Sequence[int]) -> None:
        """As `Session.keep`."""
        length = start + len(places)
        if list(places) != list(range(len(places))):
            chosen = torch.tensor([start + place for place in places])
            cached: list[Any] = list(self._cache.layers)
            for part in (part for layer in cached for part in (layer.keys, layer.values)):
                part[:, :, start:length] = part.index_select(2, chosen)
        if length < self._length:
            self._cache.crop(length - self._length)
            self._length = length

    @torch.inference_mode()
    def _run(
        self, ids: Sequence[int], last_only: bool, positions: Tensor | None = None, mask: Tensor | dict[str, Tensor] | None = None
    ) -> Read:
        """One pass; a tree gives its positions [1, tokens] and an additive mask [1, 1, tokens, cached + tokens], or one per kind."""
        target = self._target
        given: dict[str, Any] = {} if mask is None else {"position_ids": positions, "attention_mask": mask}
        given[target.cache_name] = self._cache
        with target.recording(self._layers) as seen:
            output = target.decoder(input_ids=torch.tensor([ids]), use_cache=True, **given).last_hidden_state[0]
        self._length += len(ids)
        logits = target.ends.head(output[-1:] if last_only else output)
        features = torch.cat([seen[layer][0] for layer in self._layers], -1) if self._layers else output.new_empty(len(ids), 0)
        return logits, features


class LeanSession:
    """A session of a target that `LeanQwen3` can decode."""

    def __init__(self, model: LeanQwen3, layers: Sequence[int]) -> None:
        self._model = model
        self._layers = tuple(layers)
        self._cache: KeyValues = model.cache()

    @property
    def length(self) -> int:
        """As `Session.length`."""
        return self._cache.length

    @torch.inference_mode()
    def feed(self, ids: Sequence[int], last_only: bool = False) -> Read:
        """As `Session.feed`."""
        return self._read(*self._model.run(ids, self._cache, self._layers), last_only)

    @torch.inference_mode()
    def feed_draft(self, committed: int, draft: Draft) -> Read:
        """As `Session.feed_draft`."""
        ids = [committed, *draft.tokens]
        if draft.parents is None:
            return self._read(*self._model.run(ids, self._cache, self._layers))
        return self._read(*self._model.run(ids, self._cache, self._layers, [0, *draft.depths], draft.visible()))

    def keep(self, start: int, places: Sequence[int]) -> None:
        """As `Session.keep`."""
        self._cache.keep(start, places)

    def _read(self, output: Tensor, seen: list[Tensor], last_only: bool = False) -> Read:
        """Logits and features of a pass."""
        logits = self._model.head(output[-1:] if last_only else output)
        return logits, torch.cat(seen, -1) if seen else output.new_empty(len(output), 0)


def _windows(config: Any) -> dict[str, int]:
    """The kinds of a target's layers with how far each sees (0: everything). Raises `DraftsUnreadable`."""
    kinds = list(getattr(config, "layer_types", None) or ["full_attention"])
    other = next((kind for kind in kinds if kind not in ("full_attention", "sliding_attention")), None)
    if other is not None:
        raise DraftsUnreadable(
            f"The target has layers of kind {other}, which keep a running state that cannot forget rejected drafts: measure acceptance "
            "where it is served."
        )
    window = int(getattr(config, "sliding_window", None) or 0)
    return {kind: window if kind == "sliding_attention" else 0 for kind in sorted(set(kinds))}
