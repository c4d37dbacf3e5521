"""`run.yaml`: the settings both engines share, in the words of `speculators.train`.

Only what differs from its defaults or from ours on purpose is written; its own schema has the last word (`check`). It runs nothing.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.drafter.settings import BadSettings, TrainSettings
from core.drafter.speculators.settings import BLOCKS, ENDLESS, SpeculatorsSettings

Config = dict[str, Any]
"""Group -> key -> value, and values that belong to no group, as its file nests them."""


@dataclass(frozen=True)
class Paths:
    """What a training reads and writes. All folders are seen under the same path by every node."""

    data: Path
    target: Path
    states: Path
    """`hs_{row}.safetensors` of every row"""
    checkpoints: Path


def run_config(
    settings: TrainSettings,
    engine: SpeculatorsSettings,
    paths: Paths,
    *,
    tokens: int,
    target_layers: tuple[int, ...],
    mask_token_id: int,
) -> Config:
    """What `run.yaml` says. `tokens` is the size of the dataset, from which the epochs of `max_steps` are counted.

    Every draft layer attends fully: its default is a window that is causal inside the block, which DFlash is not.
    """
    shaped = engine.algorithm != "mtp"  # which takes layers, mask and attention from the target itself
    config: Config = {
        "speculator_type": engine.algorithm,
        "seed": settings.seed,
        "verifier": {"verifier_name_or_path": str(paths.target)},
        "draft": {"target_layer_ids": list(target_layers)},
        "data": {
            "data_path": str(paths.data),
            "total_seq_len": engine.sequence,
            "train_data_ratio": engine.train_share,
            "num_workers": engine.workers,
            "max_anchors": settings.conversations * settings.anchors,
        },
        # A row without states ends the training; "skip" would train on nothing at loss 0.
        "generation": {"on_missing": "raise"},
        "loss": {},
        "optimizer": {
            "optimizer": "muon",
            "lr": settings.vector_rate,
            "muon_lr": settings.learning_rate,
            "weight_decay": settings.weight_decay,
            "muon_weight_decay": settings.weight_decay,
            "muon_ns_steps": settings.muon_steps,
        },
        "scheduler": {"scheduler_type": "cosine", "scheduler_warmup_steps": settings.warmup_steps},
        "trainer": {"epochs": epochs(settings, engine, tokens), "checkpoint_freq": 1.0, "save_path": str(paths.checkpoints)},
        "backend": {"hidden_states_path": str(paths.states)},
    }
    if settings.max_steps is not None and settings.max_steps < ENDLESS:
        config["trainer"]["max_steps"] = settings.max_steps
    if shaped:
        config["draft"] |= {
            "num_layers": settings.layers,
            "mask_token_id": mask_token_id,
            "full_attention_indices": list(range(settings.layers)),
        }
    if engine.algorithm in BLOCKS:
        config["dflash"] = {"block_size": settings.block_size}
    if engine.algorithm == "dflash":
        dpace = settings.weights == "dpace"
        config["dflash"] |= {
            "per_position_loss_weight": "dpace" if dpace else "fixed-exp-decay",
            "dflash_decay_gamma": settings.gamma,
            "dpace_alpha": settings.alpha,
        }
        config["loss"]["loss_fn"] = "ce"
    if engine.shard:
        config["trainer"]["fsdp_shard"] = True
    _attention(config, engine, shaped)
    _extra(config, engine.extra)
    return {key: value for key, value in config.items() if value != {}}


def epochs(settings: TrainSettings, engine: SpeculatorsSettings, tokens: int) -> int:
    """Passes over the data that `max_steps` takes.

    Its `max_steps` ends an epoch, not the training: every further epoch does one step more. Packed batches are never more than full,
    so an epoch has at least as many steps as counted here.
    """
    if settings.max_steps is None:
        return engine.epochs
    return min(engine.epochs, math.ceil(settings.max_steps / steps_of_epoch(engine, tokens)))


def steps_of_epoch(engine: SpeculatorsSettings, tokens: int) -> int:
    """The fewest steps an epoch can have."""
    return max(1, math.ceil(tokens * engine.train_share / engine.sequence / engine.processes))


def _attention(config: Config, engine: SpeculatorsSettings, shaped: bool) -> None:
    """What a CPU needs: no fused kernels, no flex attention, no half precision (whose autocast is slow there), no reading processes."""
    on_cpu = engine.gpus == 0
    chosen = ("sdpa" if on_cpu else "") if engine.attention == "auto" else engine.attention
    if chosen and shaped:
        config["draft"]["draft_attn_impl"] = chosen
    if on_cpu:
        config["loss"]["loss_implementation"] = "eager"
        config["data"] |= {"hidden_states_dtype": "float32", "num_workers": 0}


def _extra(config: Config, extra: Mapping[str, Any]) -> None:
    """Put further settings where their names say."""
    for name, value in extra.items():
        group, _, key = name.rpartition(".")
        if "." in group or not key:
            raise BadSettings(f"{name!r} is no setting of speculators: name it as `group.key`, such as mtp.num_speculative_steps.")
        (config.setdefault(group, {}) if group else config)[key] = value


def as_yaml(config: Config) -> str:
    """The file's text: two levels under `train:`, every value in JSON, which YAML reads."""
    lines = ["train:"]
    for key, value in config.items():
        if not isinstance(value, dict):
            lines.append(f"  {key}: {_value(value)}")
            continue
        lines += [f"  {key}:", *(f"    {name}: {_value(item)}" for name, item in value.items())]
    return "\n".join(lines) + "\n"


def _value(value: Any) -> str:
    """JSON, but floats with a point, for YAML 1.1 takes `1e-05` for text, and text whose every character stands for itself in YAML too."""
    if isinstance(value, str):
        return (
            '"' + "".join(one if one.isascii() and one.isprintable() and one not in '"\\' else f"\\U{ord(one):08x}" for one in value) + '"'
        )
    if isinstance(value, float) and "." not in repr(value):
        return format(value, ".1e") if float(format(value, ".1e")) == value else format(value, ".17f").rstrip("0")
    return json.dumps(value)
