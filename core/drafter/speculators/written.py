"""Writes `run.yaml` for a target and a dataset. It starts nothing."""

from pathlib import Path

from core.drafter.settings import TrainSettings, checked_target_layers
from core.drafter.speculators.run_file import Paths, as_yaml, run_config
from core.drafter.speculators.settings import SpeculatorsSettings
from core.drafter.target import find_mask_token, read_config


def write_run_file(work: Path, settings: TrainSettings, engine: SpeculatorsSettings, paths: Paths, tokens: int) -> Path:
    """Write `run.yaml` into the work folder, made if need be; raises `TargetUnusable`, `BadSettings`."""
    config = read_config(paths.target)
    mask = settings.mask_token_id
    written = run_config(
        settings,
        engine,
        paths,
        tokens=tokens,
        target_layers=checked_target_layers(settings.target_layers, int(config.num_hidden_layers)),
        mask_token_id=find_mask_token(paths.target, int(config.vocab_size)) if mask is None else mask,
    )
    work.mkdir(parents=True, exist_ok=True)
    run_file = work / "run.yaml"
    beside = work / ".run.yaml.writing"
    beside.write_text(as_yaml(written), "utf-8")
    beside.replace(run_file)
    return run_file
