"""The loop: it learns, it is repeatable, and it leaves a whole drafter or nothing."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from core.drafter import TrainSettings, evaluate, train
from core.drafter.training import OutputExists
from core.watch import Progress
from tests.drafter.conftest import BLOCK, MASK

SHORT = TrainSettings(block_size=BLOCK, mask_token_id=MASK, max_seconds=None, max_steps=6, conversations=8, anchors=4, warmup_steps=2)


class Recorder:
    """A watcher that keeps everything and cancels at a step."""

    def __init__(self, cancel_at: int | None = None) -> None:
        self.metrics: list[dict[str, float | int | str]] = []
        self.phases: list[Progress] = []
        self.cancel_at = cancel_at

    def progress(self, progress: Progress) -> None:
        self.phases.append(progress)

    def metric(self, values: Mapping[str, float | int | str]) -> None:
        self.metrics.append(dict(values))

    def cancelled(self) -> bool:
        return self.cancel_at is not None and len(self.metrics) >= self.cancel_at


@pytest.fixture(scope="module")
def trained(data_folder: Path, target_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Recorder]:
    """A drafter after a few seconds of training."""
    out = tmp_path_factory.mktemp("drafters") / "first"
    settings = TrainSettings(
        block_size=BLOCK, mask_token_id=MASK, max_seconds=None, max_steps=220, conversations=12, anchors=6, validate_every=100
    )
    watcher = Recorder()
    train(data_folder, target_folder, out, settings, watcher)
    return out, watcher


def test_a_trained_drafter_is_accepted_far_more_often_than_an_untrained_one(trained: tuple[Path, Recorder], target_folder: Path) -> None:
    before = evaluate(trained[0], target_folder, max_new_tokens=24, untrained=True)
    after = evaluate(trained[0], target_folder, max_new_tokens=24)
    assert before.acceptance_length < 1.3
    assert after.acceptance_length > 2.5
    assert before.lossless and after.lossless


def test_every_step_reports_loss_rate_accuracy_and_acceptance(trained: tuple[Path, Recorder]) -> None:
    first = trained[1].metrics[0]
    assert {"step", "loss", "learning_rate", "tokens_per_second", "acceptance", "accuracy_1", f"accuracy_{BLOCK - 1}"} <= set(first)
    assert [m["step"] for m in trained[1].metrics if "loss" in m] == list(range(1, 221))
    assert {phase.phase for phase in trained[1].phases} == {"capture hidden states", "train"}


def test_validation_is_reported_by_source(trained: tuple[Path, Recorder]) -> None:
    seen = [metric for metric in trained[1].metrics if "validation/all" in metric]
    assert [metric["step"] for metric in seen] == [100, 200, 220]
    assert {"validation/even", "validation/odd"} <= {name for metric in seen for name in metric}


def test_the_same_seed_and_steps_give_the_same_weights(data_folder: Path, target_folder: Path, tmp_path: Path) -> None:
    for name in ("a", "b"):
        train(data_folder, target_folder, tmp_path / name, SHORT)
    assert (tmp_path / "a/model.safetensors").read_bytes() == (tmp_path / "b/model.safetensors").read_bytes()


def test_an_existing_drafter_is_not_overwritten(trained: tuple[Path, Recorder], data_folder: Path, target_folder: Path) -> None:
    with pytest.raises(OutputExists, match="exists already"):
        train(data_folder, target_folder, trained[0], SHORT)


def test_the_drafter_folder_holds_weights_config_state_and_prompts(trained: tuple[Path, Recorder]) -> None:
    assert {file.name for file in trained[0].iterdir()} - {"best"} == {
        "config.json",
        "model.safetensors",
        "training_state.json",
        "heldout.parquet",
    }
