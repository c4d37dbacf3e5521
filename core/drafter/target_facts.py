"""The sizes of a target, read from its folder without loading it: enough to choose settings and to say what a training takes."""

import json
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.errors import InputError


class NoFacts(InputError):
    """A folder whose model has no sizes that can be read."""


@dataclass(frozen=True)
class TargetFacts:
    """Sizes of a causal language model."""

    hidden_size: int
    depth: int
    """layers"""
    intermediate_size: int
    heads: int
    kv_heads: int
    head_dim: int
    vocab_size: int
    parameters: int
    """counted in its weight files; embedding and head once where they are one"""

    @classmethod
    def read(cls, folder: Path) -> "TargetFacts":
        """The sizes of the model in a folder; raises `NoFacts`."""
        try:
            config = json.loads((folder / "config.json").read_text("utf-8"))
            config = config.get("text_config") or config
            hidden, heads = int(config["hidden_size"]), int(config["num_attention_heads"])
            return cls(
                hidden_size=hidden,
                depth=int(config["num_hidden_layers"]),
                intermediate_size=int(config.get("intermediate_size") or 4 * hidden),
                heads=heads,
                kv_heads=int(config.get("num_key_value_heads") or heads),
                head_dim=int(config.get("head_dim") or hidden // heads),
                vocab_size=int(config["vocab_size"]),
                parameters=sum(_elements(path) for path in sorted(folder.glob("*.safetensors"))),
            )
        except (OSError, ValueError, KeyError, TypeError, AttributeError, struct.error) as error:
            raise NoFacts(f"{folder} has no model whose sizes can be read ({error!r}): give the folder of a target model.") from error


def _elements(path: Path) -> int:
    """Numbers in a safetensors file, from its header (safetensors' format: 8 bytes of length, then JSON)."""
    with path.open("rb") as file:
        header: dict[str, Any] = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
    total = 0
    for name, tensor in header.items():
        if name != "__metadata__":
            elements = 1
            for length in tensor["shape"]:
                elements *= length
            total += elements
    return total
