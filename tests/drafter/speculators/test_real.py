"""speculators itself: `MIXDOWN_SPECULATORS_09` names an interpreter that has 0.9. On a CPU, with its code as it was installed.

What a CPU needs: `loss_implementation: eager` and `draft_attn_impl: sdpa` in run.yaml, float32 states, and two names bound anew from
outside (`core/drafter/speculators/inside/on_cpu.py`).
"""

import json
import os
from pathlib import Path

import pytest

from core.drafter import TrainSettings, evaluate
from core.drafter.speculators import ALGORITHMS, SpeculatorsSettings
from core.drafter.speculators.check import RefusedSettings, check
from core.drafter.speculators.engine import train_with_speculators
from core.drafter.speculators.run_file import Paths
from core.drafter.speculators.written import write_run_file
from tests.drafter.conftest import BLOCK, MASK
from tests.drafter.speculators.test_engine import Seen, torch_data

__all__ = ["torch_data"]

PYTHON = os.environ.get("MIXDOWN_SPECULATORS_09", "")
pytestmark = [
    pytest.mark.skipif(not PYTHON, reason="MIXDOWN_SPECULATORS_09 names no interpreter with speculators 0.9"),
    pytest.mark.slow,
    pytest.mark.timeout(3000),
]

SETTINGS = TrainSettings(layers=1, block_size=BLOCK, max_steps=30, max_seconds=None, warmup_steps=5, mask_token_id=MASK)


def test_thirty_steps_train_on_our_dataset_and_states_and_the_drafter_is_measured_here(
    torch_data: Path, target_folder: Path, tmp_path: Path
) -> None:
    seen = Seen()
    engine = SpeculatorsSettings(python=PYTHON, gpus=0, sequence=256)
    result = train_with_speculators(torch_data, target_folder, tmp_path / "out", SETTINGS, engine, watcher=seen)
    losses = [point["loss"] for point in seen.points if "loss" in point]
    assert len(losses) == result.steps == 30
    assert sum(losses[-5:]) < 0.9 * sum(losses[:5])  # type: ignore[arg-type, operator]
    assert not any("unusable_rows" in point for point in seen.points)
    assert seen.points[0][f"accuracy_{BLOCK - 1}"] is not None and result.validation["all"] >= 1
    report = evaluate(tmp_path / "out", target_folder, max_new_tokens=16)
    assert report.lossless and report.acceptance_length >= 1
    assert json.loads((tmp_path / "out" / "training_state.json").read_text())["version"].startswith("0.9")


def test_its_own_schema_accepts_what_is_written_for_every_algorithm_and_refuses_nonsense(
    data_folder: Path, target_folder: Path, tmp_path: Path
) -> None:
    paths = Paths(data_folder, target_folder, tmp_path / "states", tmp_path / "checkpoints")
    for algorithm in ALGORITHMS:
        engine = SpeculatorsSettings(python=PYTHON, algorithm=algorithm, gpus=0)
        said = check(PYTHON, write_run_file(tmp_path / algorithm, SETTINGS, engine, paths, 1000))
        assert said.resolved["speculator_type"] == algorithm and said.resolved["muon_lr"] == SETTINGS.learning_rate
        assert said.resolved["hidden_states_path"] == str(paths.states) and said.warnings == []
    with pytest.raises(RefusedSettings, match="nonsense"):
        check(PYTHON, write_run_file(tmp_path / "bad", SETTINGS, SpeculatorsSettings(extra={"draft.nonsense": 1}), paths, 1000))
    with pytest.raises(RefusedSettings, match="checkpoint"):
        wrong = SpeculatorsSettings(extra={"trainer.checkpoint_freq": -1})
        check(PYTHON, write_run_file(tmp_path / "worse", SETTINGS, wrong, paths, 1000))
