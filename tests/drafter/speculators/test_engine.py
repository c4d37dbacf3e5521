"""The engine over a stand-in for its environment: real processes, files and signals; what speculators itself does is in `test_real`."""

import json
import sys
import threading
from collections.abc import Mapping
from pathlib import Path

import pytest

from core.drafter import TrainSettings, train
from core.drafter.checkpoint import load_drafter
from core.drafter.settings import BadSettings
from core.drafter.speculators import SpeculatorsSettings
from core.drafter.speculators.check import NoSpeculators, RefusedSettings
from core.drafter.speculators.engine import train_with_speculators, work_folder
from core.drafter.speculators.process import TrainerFailed
from core.drafter.state_capture import StatesFrom
from core.watch import Cancelled, Unwatched
from tests.drafter.conftest import BLOCK, MASK

pytestmark = pytest.mark.slow

SETTINGS = TrainSettings(layers=1, block_size=BLOCK, max_steps=20, max_seconds=None, mask_token_id=MASK)


class Seen(Unwatched):
    """Keeps the points; asks to stop after `stop_at` steps."""

    def __init__(self, stop_at: int | None = None) -> None:
        self.points: list[dict[str, float | int | str]] = []
        self._stop_at, self._stopping = stop_at, threading.Event()

    def metric(self, values: Mapping[str, float | int | str]) -> None:
        self.points.append(dict(values))
        if self._stop_at is not None and values["step"] == self._stop_at:
            self._stopping.set()

    def cancelled(self) -> bool:
        return self._stopping.is_set()


@pytest.fixture(scope="module")
def checkpoint(data_folder: Path, target_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made") / "native"
    train(data_folder, target_folder, folder, TrainSettings(layers=1, block_size=BLOCK, max_steps=2, max_seconds=None, mask_token_id=MASK))
    return folder


@pytest.fixture
def engine(tmp_path: Path, checkpoint: Path, monkeypatch: pytest.MonkeyPatch) -> SpeculatorsSettings:
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} {Path(__file__).parent / "stand_in.py"} "$@"\n')
    python.chmod(0o755)
    monkeypatch.setenv("STAND_IN_CHECKPOINT", str(checkpoint))
    return SpeculatorsSettings(python=str(python), gpus=0, sequence=256)


@pytest.fixture
def torch_data(data_folder: Path, tmp_path: Path) -> Path:
    import datasets

    rows = datasets.load_from_disk(str(data_folder))
    rows.set_format("torch")
    rows.save_to_disk(str(tmp_path / "set"))
    (tmp_path / "set" / "heldout.parquet").write_bytes((data_folder / "heldout.parquet").read_bytes())
    return tmp_path / "set"


def test_a_training_gives_a_drafter_like_ours_with_its_checkpoints_and_curves(
    engine: SpeculatorsSettings, torch_data: Path, target_folder: Path, tmp_path: Path
) -> None:
    seen = Seen()
    result = train_with_speculators(torch_data, target_folder, tmp_path / "out", SETTINGS, engine, watcher=seen)
    assert (result.steps, result.version, result.checkpoint) == (20, "0.9.0", "1") and result.validation == {"all": 1.5}
    assert load_drafter(tmp_path / "out").shape.block_size == BLOCK
    there = {path.name for path in (tmp_path / "out").iterdir()}
    assert there == {"config.json", "model.safetensors", "training_state.json", "heldout.parquet", "run.yaml", "trainer.log", "checkpoints"}
    run_file = (tmp_path / "out" / "run.yaml").read_text()
    assert f'save_path: "{tmp_path / "out" / "checkpoints"}"' in run_file and ".speculators" not in run_file
    state = json.loads((tmp_path / "out" / "training_state.json").read_text())
    assert state["engine"] == "speculators" and state["settings"]["layers"] == 1 and state["data"] == str(torch_data)
    steps = [point for point in seen.points if "loss" in point]
    assert [point["step"] for point in steps] == list(range(1, 21))
    assert steps[0].keys() == {"step", "loss", "learning_rate", "tokens_per_second", "accuracy_1", "accuracy_2", "acceptance", "seconds"}
    assert steps[0]["tokens_per_second"] == 1020 and steps[0]["learning_rate"] == 0.01 and steps[0]["acceptance"] == 1.375
    assert [point["validation/all"] for point in seen.points if "validation/all" in point] == [1.5, 1.5]
    assert not work_folder(tmp_path / "out").exists()


def test_a_stop_saves_with_its_own_signal_and_the_next_start_goes_on_at_the_next_step(
    engine: SpeculatorsSettings, torch_data: Path, target_folder: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    stopped = Seen(stop_at=13)
    with pytest.raises(Cancelled, match="goes on from there"):
        train_with_speculators(torch_data, target_folder, out, SETTINGS, engine, watcher=stopped)
    last = stopped.points[-1]["step"]
    assert isinstance(last, int) and 13 <= last < 20 and not out.exists()
    kept = json.loads((work_folder(out) / "checkpoints" / "1" / "training_state.json").read_text())
    assert kept == {"epoch": 1, "local_step": last - 10, "global_step": last}
    seen = Seen()
    result = train_with_speculators(torch_data, target_folder, out, SETTINGS, engine, watcher=seen)
    assert [point["step"] for point in seen.points if "loss" in point] == list(range(last + 1, 21))
    assert result.steps == 20 and "rows=120" in (out / "trainer.log").read_text()


def test_the_time_that_was_given_ends_it_and_what_the_signal_saved_is_the_drafter(
    engine: SpeculatorsSettings, torch_data: Path, target_folder: Path, tmp_path: Path
) -> None:
    settings = TrainSettings(layers=1, block_size=BLOCK, max_seconds=0.5, mask_token_id=MASK)
    endless = SpeculatorsSettings(python=engine.python, gpus=0, sequence=256, epochs=1000)
    result = train_with_speculators(torch_data, target_folder, tmp_path / "out", settings, endless)
    assert result.stopped_early and result.checkpoint == "interrupted" and result.steps >= 1


def test_epochs_that_its_max_steps_would_add_are_left_out(
    engine: SpeculatorsSettings, torch_data: Path, target_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STAND_IN_MORE", "50")
    result = train_with_speculators(torch_data, target_folder, tmp_path / "out", SETTINGS, engine)
    assert (result.steps, result.checkpoint, result.stopped_early) == (20, "1", False)


def test_what_its_trainer_says_is_the_error_and_the_states_are_kept(
    engine: SpeculatorsSettings, torch_data: Path, target_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STAND_IN_TROUBLE", "dies")
    states = tmp_path / "states"
    with pytest.raises(TrainerFailed, match=r"exit code 1: RuntimeError: CUDA out of memory, or so"):
        train_with_speculators(torch_data, target_folder, tmp_path / "out", SETTINGS, engine, StatesFrom(states))
    assert len(list(states.glob("hs_*.safetensors"))) == 120 and not (tmp_path / "out").exists()


def test_an_environment_that_cannot_do_it_is_one_sentence(
    engine: SpeculatorsSettings, torch_data: Path, data_folder: Path, target_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def attempt(data: Path = torch_data, **changed: object) -> None:
        settings = SpeculatorsSettings(**{**engine.to_json(), **changed})  # type: ignore[arg-type]
        train_with_speculators(data, target_folder, tmp_path / "out", SETTINGS, settings)

    with pytest.raises(NoSpeculators, match=r"/nowhere/python cannot be run"):
        attempt(python="/nowhere/python")
    with pytest.raises(RefusedSettings, match="unrecognised keys"):
        attempt(extra={"nonsense": 1})
    with pytest.raises(RefusedSettings, match=r"2 GPUs are asked for, but the torch of .* sees 0"):
        attempt(gpus=2)
    with pytest.raises(BadSettings, match="a batch takes 8"):
        attempt(sequence=8)
    with pytest.raises(Exception, match="torch format"):
        attempt(data_folder)
    monkeypatch.setenv("STAND_IN_TROUBLE", "absent")
    with pytest.raises(NoSpeculators, match="has no speculators that can be imported"):
        attempt()
    assert not work_folder(tmp_path / "out").exists()
