"""Drafters on disk, in the format of speculators: `config.json`, `model.safetensors`, `training_state.json`.

Neither embedding nor head is stored, both are the target's; only a drafter of fewer tokens has its rows of the head with it. It knows
nothing about how a drafter is trained.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from transformers import Qwen3Config

from core.drafter.model import DraftModel, DraftShape
from core.drafter.settings import TrainSettings, checked_target_layers, checked_vocabulary
from core.drafter.target import TargetModel, find_mask_token
from core.errors import InputError


class DrafterUnusable(InputError):
    """A drafter's folder cannot be read, or the drafter does not fit the target."""


def shape_for(target: TargetModel, settings: TrainSettings) -> DraftShape:
    """The drafter that `settings` ask for beside `target`: the target's own widths, heads and rotary base."""
    config = target.config
    heads = int(config.num_attention_heads)
    rope = getattr(config, "rope_parameters", None) or {}
    mask = settings.mask_token_id
    return DraftShape(
        hidden_size=target.hidden_size,
        intermediate_size=int(config.intermediate_size),
        heads=heads,
        kv_heads=int(getattr(config, "num_key_value_heads", None) or heads),
        head_dim=int(getattr(config, "head_dim", None) or target.hidden_size // heads),
        layers=settings.layers,
        block_size=settings.block_size,
        target_layers=checked_target_layers(settings.target_layers, target.depth),
        mask_token_id=find_mask_token(target.path, int(config.vocab_size)) if mask is None else mask,
        vocab_size=int(config.vocab_size),
        rope_theta=float(rope.get("rope_theta") or getattr(config, "rope_theta", None) or 10_000.0),
        norm_eps=float(getattr(config, "rms_norm_eps", 1e-6)),
        draft_vocab_size=checked_vocabulary(settings.draft_vocab_size, int(config.vocab_size)),
        windows=(settings.window,) * settings.layers if settings.window else (),
    )


def save_drafter(folder: Path, model: DraftModel, target: TargetModel, state: Mapping[str, Any]) -> None:
    """Write the drafter into an existing folder; `state` is what is known of its training."""
    save_file(
        {name: value.detach().contiguous() for name, value in model.state_dict().items()}, folder / "model.safetensors", {"format": "pt"}
    )
    (folder / "model.safetensors").chmod(0o644)  # safetensors lets nobody else read it, and a server may run as another user
    (folder / "training_state.json").write_text(json.dumps(state, indent=2) + "\n", "utf-8")
    (folder / "config.json").write_text(json.dumps(_config(model.shape, target), indent=2) + "\n", "utf-8")


def load_drafter(folder: Path) -> DraftModel:
    """The drafter in a folder, in float32; raises `DrafterUnusable`."""
    try:
        shape = _shape(json.loads((folder / "config.json").read_text("utf-8")))
        weights = load_file(folder / "model.safetensors")
    except FileNotFoundError as error:
        raise DrafterUnusable(f"{folder} holds no drafter: {Path(error.filename or 'model.safetensors').name} is missing.") from error
    except (OSError, ValueError, KeyError, TypeError, SafetensorError) as error:
        raise DrafterUnusable(f"{folder} holds no DFlash drafter that can be read: {error!r}.") from error
    model = DraftModel(shape)
    try:
        model.load_state_dict({
            name: value.to(own.dtype) for name, value in weights.items() if (own := model.state_dict().get(name)) is not None
        })  # fmt: skip
    except RuntimeError as error:
        raise DrafterUnusable(f"{folder}: the weights do not fit config.json: {str(error).splitlines()[-1].strip()}") from error
    return model.eval()


def read_state(folder: Path) -> dict[str, Any]:
    """What is known of a drafter's training; empty when it came from elsewhere."""
    try:
        state: dict[str, Any] = json.loads((folder / "training_state.json").read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return state


def check_fits(model: DraftModel, folder: Path, target: TargetModel) -> None:
    """Refuse a drafter made for a target of another width, vocabulary or depth."""
    shape = model.shape
    found = (shape.hidden_size, shape.vocab_size)
    wanted = (target.hidden_size, int(target.config.vocab_size))
    if found != wanted or max(shape.target_layers) > target.depth:
        raise DrafterUnusable(
            f"{folder} was trained for another target (hidden size {found[0]}, {found[1]} tokens) than {target.path} "
            f"(hidden size {wanted[0]}, {wanted[1]} tokens): train one for this target."
        )


def _config(shape: DraftShape, target: TargetModel) -> dict[str, Any]:
    """The drafter's config.json, as speculators 0.9 reads it."""
    return {
        "architectures": ["DFlashDraftModel"],
        "speculators_model_type": "dflash",
        "speculators_version": "0.9.0",
        "block_size": shape.block_size,
        "aux_hidden_state_layer_ids": list(shape.target_layers),
        "mask_token_id": shape.mask_token_id,
        "draft_vocab_size": shape.draft_vocab_size or shape.vocab_size,
        "sample_from_anchor": False,
        "sliding_window_non_causal": not shape.causal_windows,
        "dtype": "float32",
        "transformer_layer_config": {
            "model_type": "qwen3",
            "hidden_size": shape.hidden_size,
            "intermediate_size": shape.intermediate_size,
            "num_hidden_layers": shape.layers,
            "num_attention_heads": shape.heads,
            "num_key_value_heads": shape.kv_heads,
            "head_dim": shape.head_dim,
            "vocab_size": shape.vocab_size,
            "rms_norm_eps": shape.norm_eps,
            "hidden_act": "silu",
            "attention_bias": False,
            "layer_types": ["sliding_attention" if shape.sight(layer).window else "full_attention" for layer in range(shape.layers)],
            **_window(shape),
            "max_position_embeddings": int(getattr(target.config, "max_position_embeddings", 32_768)),
            "rope_parameters": {"rope_type": "default", "rope_theta": shape.rope_theta},
            "tie_word_embeddings": False,
        },
        "speculators_config": {
            "algorithm": "dflash",
            "default_proposal_method": "greedy",
            "proposal_methods": [
                {"proposal_type": "greedy", "speculative_tokens": shape.block_size - 1, "verifier_accept_k": 1, "accept_tolerance": 0.0}
            ],
            "verifier": {"name_or_path": str(target.path), "architectures": list(target.model.config.architectures or [])},
        },
    }


def _window(shape: DraftShape) -> dict[str, Any]:
    """The window of those layers that have one; the format knows one for all of them."""
    windows = {window for window in shape.windows if window}
    return {"use_sliding_window": True, "sliding_window": windows.pop(), "max_window_layers": 0} if windows else {}


def _shape(config: Mapping[str, Any]) -> DraftShape:
    """The sizes in a config.json; raises KeyError or ValueError when it is of another algorithm."""
    if config.get("speculators_model_type") != "dflash":
        raise ValueError(f"speculators_model_type is {config.get('speculators_model_type')!r}, not 'dflash'")
    # speculators leaves out what equals transformers' defaults, so these fill the gaps.
    layer: Any = Qwen3Config(**{name: value for name, value in config["transformer_layer_config"].items() if name != "model_type"})
    kinds = config["transformer_layer_config"].get("layer_types") or layer.layer_types
    if not set(kinds) <= {"full_attention", "sliding_attention"}:
        raise ValueError(f"layers of kind {sorted(set(kinds) - {'full_attention', 'sliding_attention'})[0]} are not read here")
    windows = tuple(int(layer.sliding_window or 0) if kind == "sliding_attention" else 0 for kind in kinds)
    return DraftShape(
        hidden_size=layer.hidden_size,
        intermediate_size=layer.intermediate_size,
        heads=layer.num_attention_heads,
        kv_heads=layer.num_key_value_heads,
        head_dim=layer.head_dim,
        layers=layer.num_hidden_layers,
        block_size=config["block_size"],
        target_layers=tuple(config["aux_hidden_state_layer_ids"]),
        mask_token_id=config["mask_token_id"],
        vocab_size=layer.vocab_size,
        rope_theta=layer.rope_parameters["rope_theta"],
        norm_eps=layer.rms_norm_eps,
        draft_vocab_size=checked_vocabulary(config["draft_vocab_size"], layer.vocab_size),
        windows=windows if any(windows) else (),
        causal_windows=any(windows) and not config.get("sliding_window_non_causal", False),
    )
