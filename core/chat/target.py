"""The target (verifier) as far as text goes: its encoder, its chat template, its configs.

It knows files, not weights: loading the model is `core.drafter`'s business.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from core.chat.encoding import TokenizerEncoder
from core.chat.fast_encoding import FastEncoder
from core.chat.fast_render import FastRenderer, probe_chats
from core.chat.forgery import ForgeryCheck
from core.chat.frame import TurnFrame, learn_frame
from core.chat.hub import fetch, looks_like_hub_id
from core.chat.piecewise import PiecewiseEncoder
from core.chat.template import ChatTemplate, TemplateRefused
from core.chat.tokenizer_config import TokenizerConfig, read_json_object
from core.conversation import JSONObject
from core.errors import InputError


class TargetMissing(InputError):
    """There is no target where one was named."""


@dataclass(frozen=True)
class Target:
    """What renders and encodes conversations. `path`: the folder its files came from; `config`: its `config.json`, `{}` if absent."""

    path: Path
    encoder: TokenizerEncoder
    template: ChatTemplate
    config: JSONObject
    generation_config: JSONObject

    @classmethod
    def load(
        cls,
        path_or_hub_id: str | Path,
        template: Path | str | None = None,
        args: Mapping[str, Any] | None = None,
        *,
        date: datetime | None = None,
    ) -> "Target":
        """A model folder or hub id (`owner/model`, `owner/model@revision`).

        `template`: a `.jinja` file instead of the model's own. `args`: template arguments for every render. `date`: what a
        template that prints the date prints (a fixed one by default, so that renders are reproducible). Raises an `InputError`:
        `TargetMissing`, `TargetUnavailable`, `TokenizerMissing`, `TemplateMissing`, `TemplateBroken`, `BadTargetFile`.
        """
        folder = _folder(path_or_hub_id)
        config = TokenizerConfig.load(folder)
        encoder = TokenizerEncoder.load(folder, config)
        if template is None:
            chat = ChatTemplate.from_folder(folder, tokens=config.named, args=args, date=date)
        else:
            chat = ChatTemplate.from_file(Path(template), tokens=config.named, args=args, date=date)
        return cls(
            path=folder,
            encoder=encoder,
            template=chat,
            config=read_json_object(folder / "config.json"),
            generation_config=read_json_object(folder / "generation_config.json"),
        )

    @cached_property
    def frame(self) -> TurnFrame:
        """What the template writes around an assistant turn, learned from it once."""
        return learn_frame(self.template, self.encoder, self.stop_ids)

    @cached_property
    def forgeries(self) -> ForgeryCheck:
        """The check that no text of a conversation becomes a special token."""
        return ForgeryCheck(self.encoder, self.template, self.frame, self.stop_ids)

    @cached_property
    def fast_renderer(self) -> FastRenderer | str:
        """The template in minijinja, proven on the probe set; a sentence that says why not where it prints otherwise."""
        return FastRenderer.proven(self.template)

    @cached_property
    def fast_encoder(self) -> FastEncoder:
        """The encoder for whole batches, checked on made-up texts and the renders of the probe set."""
        texts: list[str] = []
        for chat in probe_chats():
            with suppress(TemplateRefused):
                texts.append(self.template.render(chat))
        return FastEncoder(self.encoder, texts)

    def with_encoder(self, encoder: TokenizerEncoder) -> "Target":
        """The same target with an encoder that gives the same ids; what was learned of it is kept."""
        other = replace(self, encoder=encoder)
        other.__dict__.update({"frame": self.frame, "forgeries": self.forgeries, "stop_ids": self.stop_ids})
        return other

    @cached_property
    def piecewise(self) -> "Target":
        """The same target with an encoder that remembers pieces, to look at one long conversation."""
        return replace(self, encoder=PiecewiseEncoder(self.encoder))

    @cached_property
    def stop_ids(self) -> tuple[int, ...]:
        """Tokens at which the model stops: of `generation_config.json`, `config.json`, and the tokenizer's `eos_token`."""
        found: list[int] = []
        for config in (self.generation_config, self.config):
            value = config.get("eos_token_id")
            found += [token_id for token_id in (value if isinstance(value, list) else [value]) if isinstance(token_id, int)]
        named = self._named_id("eos_token")
        return tuple(dict.fromkeys([*found, *([] if named is None else [named])]))

    @property
    def eos_id(self) -> int | None:
        """The tokenizer's `eos_token`, else the first stop token."""
        named = self._named_id("eos_token")
        return named if named is not None else next(iter(self.stop_ids), None)

    @property
    def pad_id(self) -> int | None:
        """The tokenizer's `pad_token`."""
        return self._named_id("pad_token")

    @property
    def mask_id(self) -> int | None:
        """The tokenizer's `mask_token`."""
        return self._named_id("mask_token")

    def _named_id(self, name: str) -> int | None:
        text = self.encoder.named.get(name)
        return None if text is None else self.encoder.id_of(text)


def _folder(path_or_hub_id: str | Path) -> Path:
    path = Path(path_or_hub_id).expanduser()
    if path.is_dir():
        return path
    if path.exists():
        raise TargetMissing(f"{path} is a file; name the model folder that holds tokenizer.json and the chat template.")
    if isinstance(path_or_hub_id, str) and looks_like_hub_id(path_or_hub_id):
        return fetch(path_or_hub_id)
    raise TargetMissing(f"There is no folder {path}; name a folder with tokenizer.json and a chat template, or a hub id.")
