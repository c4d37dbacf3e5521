"""The target as a drafter sees it: its embedding, its hidden states at chosen layers, its final norm and head.

One class serves capture and decoding, so that both read the very same states. It knows nothing about drafters or data.
"""

import inspect
import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor, nn
from transformers import AutoConfig, AutoModelForCausalLM, DynamicCache
from transformers.utils.logging import disable_progress_bar

from core.drafter.lean import PROBE, LeanCache, LeanQwen3
from core.errors import InputError


class TargetUnusable(InputError):
    """The target's folder or architecture cannot be used to train or measure a drafter."""


@dataclass(frozen=True)
class TargetEnds:
    """What the drafter shares with the target, frozen: token embedding, final norm and head."""

    embed: nn.Module
    """[..., ] int64 token ids -> [..., hidden]"""
    norm: nn.Module
    """The final norm, [..., hidden] -> [..., hidden]; the drafter has its own and never uses this one."""
    head: nn.Module
    """[..., hidden], normed -> [..., vocabulary] logits"""


class TargetModel:
    """A causal transformers model in this process, in float32: exact enough that block and single-token passes agree on the argmax."""

    def __init__(self, model: Any, path: Path) -> None:
        self.path = path
        self.model = model.eval().requires_grad_(False)
        self.config = model.config.get_text_config()
        decoder = model.get_decoder()
        if not all(hasattr(decoder, part) for part in ("layers", "norm")) or model.get_output_embeddings() is None:
            raise TargetUnusable(
                f"{path}: {type(model).__name__} has no layers, norm and head where they are expected; use a causal language model."
            )
        self.decoder = decoder
        self.depth = len(decoder.layers)
        self.ends = TargetEnds(model.get_input_embeddings(), decoder.norm, model.get_output_embeddings())
        self.stop_ids = _stop_ids(model)
        self._wanted = threading.local()
        for layer, module in enumerate([self.ends.embed, *decoder.layers]):
            module.register_forward_hook(partial(self._keep, layer))
        parameters = inspect.signature(type(model).forward).parameters
        self.cache_name = "cache" if "cache" in parameters else "past_key_values"  # renamed in transformers 5.2x

    @classmethod
    def load(cls, path: Path) -> "TargetModel":
        """The target in a folder; raises `TargetUnusable` when it cannot be read as a causal language model."""
        if not (path / "config.json").is_file():
            raise TargetUnusable(f"{path} holds no config.json: give the folder of a target model.")
        disable_progress_bar()  # type: ignore[no-untyped-call] # of loading weights: it would write into whatever the caller shows
        try:
            model = AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32, local_files_only=True)
        except (OSError, ValueError, KeyError) as error:
            raise TargetUnusable(f"{path} cannot be loaded as a causal language model: {str(error).splitlines()[0]}") from error
        return cls(model, path)

    @property
    def hidden_size(self) -> int:
        """Width of one hidden state."""
        return int(self.config.hidden_size)

    @contextmanager
    def recording(self, layers: Sequence[int]) -> Iterator[dict[int, Tensor]]:
        """Collects the hidden states `layers` of this thread's passes inside; `depth` is the last layer's output, before the final norm."""
        seen: dict[int, Tensor] = {}
        self._wanted.layers, self._wanted.seen = frozenset(layers), seen
        try:
            yield seen
        finally:
            self._wanted.layers = frozenset()

    def _keep(self, layer: int, _module: nn.Module, _inputs: object, output: Tensor | tuple[Tensor, ...]) -> None:
        """A forward hook: note the state when this thread is recording it."""
        if layer in getattr(self._wanted, "layers", ()):
            self._wanted.seen[layer] = output if isinstance(output, Tensor) else output[0]

    @torch.inference_mode()
    def hidden_states(self, ids: Tensor, layers: Sequence[int]) -> list[Tensor]:
        """The states `layers` for right-padded `ids` [rows, seq] int64: one [rows, seq, hidden] float32 per layer.

        Attention is causal, so padding on the right is seen by no token before it; no mask is needed.
        """
        with self.recording(layers) as seen:
            self.decoder(input_ids=ids, use_cache=False)
        return [seen[layer] for layer in layers]

    @torch.inference_mode()
    def choices(self, last: Tensor) -> Tensor:
        """The target's most probable next token, int64 [...], from states before the final norm [..., hidden]."""
        chosen: Tensor = self.ends.head(self.ends.norm(last)).argmax(-1)
        return chosen

    def start(self, layers: Sequence[int]) -> "Session":
        """A decoding session of one sequence that also hands out the states `layers`."""
        return LeanSession(self._lean, layers) if self._lean else TransformersSession(self, layers)

    @cached_property
    @torch.inference_mode()
    def _lean(self) -> LeanQwen3 | None:
        """The quick way to decode this target, when there is one and it agrees with transformers."""
        if not LeanQwen3.suits(self.model):
            return None
        ids = [token % int(self.config.vocab_size) for token in range(7, 7 + 13 * PROBE, 13)]
        lean = LeanQwen3(self.model)
        return lean if lean.agrees_with(self.hidden_states(torch.tensor([ids]), range(self.depth + 1)), ids) else None


class Session(Protocol):
    """One sequence being decoded: fed step by step, and shortened when drafts are rejected."""

    @property
    def length(self) -> int:
        """Tokens fed and not forgotten."""

    def feed(self, ids: Sequence[int], last_only: bool = False) -> tuple[Tensor, Tensor]:
        """Append tokens; returns what the target would say after each, int64 [tokens], and their features [tokens, layers * hidden].

        With `last_only` only the choice after the last token is computed (prefill), [1].
        """

    def shorten(self, length: int) -> None:
        """Forget everything after the first `length` tokens."""


class TransformersSession:
    """A session of any target, with transformers' own cache."""

    def __init__(self, target: TargetModel, layers: Sequence[int]) -> None:
        self._target = target
        self._layers = tuple(layers)
        self._cache = DynamicCache(config=target.config)
        self._length = 0

    @property
    def length(self) -> int:
        """As `Session.length`."""
        return self._length

    @torch.inference_mode()
    def feed(self, ids: Sequence[int], last_only: bool = False) -> tuple[Tensor, Tensor]:
        """As `Session.feed`."""
        target = self._target
        with target.recording(self._layers) as seen:
            output = target.decoder(input_ids=torch.tensor([ids]), use_cache=True, **{target.cache_name: self._cache}).last_hidden_state[0]
        self._length += len(ids)
        chosen = target.ends.head(output[-1:] if last_only else output).argmax(-1)
        features = torch.cat([seen[layer][0] for layer in self._layers], -1) if self._layers else output.new_empty(len(ids), 0)
        return chosen, features

    def shorten(self, length: int) -> None:
        """As `Session.shorten`."""
        if length < self._length:
            self._cache.crop(length - self._length)
            self._length = length


class LeanSession:
    """A session of a target that `LeanQwen3` can decode."""

    def __init__(self, model: LeanQwen3, layers: Sequence[int]) -> None:
        self._model = model
        self._layers = tuple(layers)
        self._cache = LeanCache(model)

    @property
    def length(self) -> int:
        """As `Session.length`."""
        return self._cache.length

    @torch.inference_mode()
    def feed(self, ids: Sequence[int], last_only: bool = False) -> tuple[Tensor, Tensor]:
        """As `Session.feed`."""
        output, seen = self._model.run(ids, self._cache, self._layers)
        chosen = nn.functional.linear(output[-1:] if last_only else output, self._model.head).argmax(-1)
        return chosen, torch.cat(seen, -1) if seen else output.new_empty(len(ids), 0)

    def shorten(self, length: int) -> None:
        """As `Session.shorten`; what lies behind is written over."""
        self._cache.length = min(length, self._cache.length)


def read_config(path: Path) -> Any:
    """The transformers configuration of the target in a folder (its text part); raises `TargetUnusable`."""
    try:
        return AutoConfig.from_pretrained(path, local_files_only=True).get_text_config()
    except (OSError, ValueError, KeyError) as error:
        raise TargetUnusable(f"{path} has no readable model configuration: {str(error).splitlines()[0]}") from error


def find_mask_token(path: Path, vocabulary: int) -> int:
    """The id to stand in undrafted slots: the tokenizer's own mask token, else the highest embedding row no token uses.

    Raises `TargetUnusable` when the tokenizer has neither.
    """
    used = -1
    try:
        tokenizer = json.loads((path / "tokenizer.json").read_text("utf-8"))
    except (OSError, ValueError):
        tokenizer = {}
    for token in tokenizer.get("added_tokens", []):
        used = max(used, token["id"])
        if token["content"].strip("<|>[]").lower() == "mask":
            return int(token["id"])
    words = tokenizer.get("model", {}).get("vocab", {})
    used = max([used, *(words.values() if isinstance(words, dict) else range(len(words)))])
    if tokenizer and used + 1 < vocabulary:
        return vocabulary - 1
    raise TargetUnusable(f"{path}: the tokenizer has no mask token and no unused id; choose mask_token_id in the settings.")


def _stop_ids(model: Any) -> frozenset[int]:
    """The tokens that end a response, as the target's generation config (else its config) says."""
    stop = getattr(model.generation_config, "eos_token_id", None)
    if stop is None:
        stop = model.config.eos_token_id
    return frozenset([stop] if isinstance(stop, int) else stop or [])
