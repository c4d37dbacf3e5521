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
from typing import Any

import torch
import xxhash
from torch import Tensor, nn
from transformers import AutoConfig, AutoModelForCausalLM
from transformers.utils.logging import disable_progress_bar

from core.drafter.lean import PROBE, LeanQwen3
from core.drafter.products import Weight
from core.drafter.sessions import LeanSession, Session, TransformersSession
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

    @cached_property
    def fingerprint(self) -> str:
        """Tells this target from others, and from itself after more training, which moves its final norm whatever else it moves.

        A hash of all weights of a large target would take minutes.
        """
        norm: Tensor = self.decoder.norm.weight.detach().float().cpu().contiguous()
        seen = xxhash.xxh3_128(norm.numpy().data)
        seen.update(repr((self.depth, self.hidden_size, int(self.config.vocab_size))).encode())
        return seen.hexdigest()

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

    def start(self, layers: Sequence[int]) -> Session:
        """A decoding session of one sequence that also hands out the states `layers`."""
        return LeanSession(self._lean, layers) if self._lean else TransformersSession(self, layers)

    def start_in_transformers(self) -> Session:
        """The same, run by transformers whatever the target is: the oracle of `start`."""
        return TransformersSession(self, ())

    @property
    def is_lean(self) -> bool:
        """Whether `start` decodes with fewer operations than transformers."""
        return self._lean is not None

    @cached_property
    def head(self) -> Weight:
        """The head laid out for decoding; target and drafter share it, so that it is read from memory once a round."""
        return Weight(self.model.get_output_embeddings().weight)

    @cached_property
    @torch.inference_mode()
    def _lean(self) -> LeanQwen3 | None:
        """The quick way to decode this target, when there is one and it agrees with transformers."""
        if not LeanQwen3.suits(self.model):
            return None
        ids = [token % int(self.config.vocab_size) for token in range(7, 7 + 13 * PROBE, 13)]
        lean = LeanQwen3(self.model, self.head)
        return lean if lean.agrees_with(self.hidden_states(torch.tensor([ids]), range(self.depth + 1)), ids) else None


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
