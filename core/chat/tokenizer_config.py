"""What `tokenizer_config.json` and its older companions say about special tokens.

It gives named tokens (`eos_token`, ...) and further added tokens as transformers 5 would load them. It does not know
the vocabulary.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from core.conversation import JSONObject
from core.errors import InputError

STANDARD_NAMES = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")


class BadTargetFile(InputError):
    """A file of the target that is not what its name says."""


@dataclass(frozen=True)
class AddedTokenSpec:
    """One added token, with the flags that decide how it is matched in text."""

    content: str
    special: bool = True
    normalized: bool = False
    lstrip: bool = False
    rstrip: bool = False
    single_word: bool = False

    @classmethod
    def from_json(cls, value: str | Mapping[str, Any], special: bool = True) -> "AddedTokenSpec":
        """From the text alone, or from the object form that transformers saves."""
        if isinstance(value, str):
            return cls(value, special=special, normalized=not special)
        known = {name: value[name] for name in ("special", "normalized", "lstrip", "rstrip", "single_word") if name in value}
        return cls(value["content"], **{"special": special, **known})


@dataclass(frozen=True)
class TokenizerConfig:
    """What the files say. `named`: the tokens a chat template can read by name, in transformers' order."""

    named: Mapping[str, str] = field(default_factory=dict)
    added: tuple[AddedTokenSpec, ...] = ()
    """Tokens whose flags the config decides, in the order of their ids."""
    ensured: tuple[AddedTokenSpec, ...] = ()
    """Tokens that are added only where the tokenizer itself lacks them."""
    raw: JSONObject = field(default_factory=dict)

    @classmethod
    def load(cls, folder: Path) -> "TokenizerConfig":
        """Read the folder's files; all of them may be absent. Raises `BadTargetFile` for one that is not a JSON object."""
        raw = read_json_object(folder / "tokenizer_config.json")
        values = dict(raw)
        decoder = raw.get("added_tokens_decoder")
        specs = []
        if isinstance(decoder, dict):
            specs = [AddedTokenSpec.from_json(decoder[key], special=False) for key in sorted(decoder, key=int)]
        else:
            values.update(read_json_object(folder / "special_tokens_map.json"))
            older = read_json_object(folder / "added_tokens.json")
            specials = {text for text in (_content(values.get(name)) for name in STANDARD_NAMES) if text}
            specs = [AddedTokenSpec.from_json(text, special=text in specials) for text in sorted(older, key=lambda text: int(older[text]))]
        named = _named_tokens(values)
        known = {spec.content for spec in specs}
        extras = [*named.values(), *_extra_tokens(values)]
        ensured = tuple(AddedTokenSpec(text) for text in dict.fromkeys(extras) if text not in known)
        return cls(named=named, added=tuple(specs), ensured=ensured, raw=raw)


def read_json_object(path: Path) -> JSONObject:
    """The JSON object in a file, `{}` where there is none."""
    if not path.is_file():
        return {}
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise BadTargetFile(f"{path} is not JSON ({error}); download the target again or repair the file.") from error
    if not isinstance(value, dict):
        raise BadTargetFile(f"{path} holds a {type(value).__name__} where a JSON object is expected; download the target again.")
    return value


def _content(value: Any) -> str | None:
    if isinstance(value, Mapping):
        value = value.get("content")
    return value if isinstance(value, str) else None


def _named_tokens(values: Mapping[str, Any]) -> dict[str, str]:
    """Standard names first, then the model's own (`image_token`, entries of `extra_special_tokens`), as templates see them."""
    own = [name for name in values if name.endswith("_token") and name not in STANDARD_NAMES]
    named = {name: text for name in (*STANDARD_NAMES, *own) if (text := _content(values.get(name))) is not None}
    extra = values.get("extra_special_tokens")
    if isinstance(extra, Mapping):
        named.update({name: text for name, value in extra.items() if (text := _content(value)) is not None})
    return named


def _extra_tokens(values: Mapping[str, Any]) -> list[str]:
    extra = values.get("extra_special_tokens") or values.get("additional_special_tokens") or []
    return [text for value in extra if (text := _content(value)) is not None] if isinstance(extra, list) else []
