"""A training that is stopped or killed goes on as if it had not been: real processes, real kills."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from core.drafter import TrainSettings, train
from core.drafter.loop import TrainingDiverged
from core.drafter.optimizers import Optimizers
from core.drafter.snapshots import load_snapshot
from core.drafter.standing import LAST
from core.drafter.unfinished import NothingToResume, OutputBusy, discard_unfinished, find_unfinished, unfinished_folder, workplace
from core.watch import Cancelled, Progress
from tests.drafter.conftest import BLOCK, MASK

SETTINGS = TrainSettings(
    block_size=BLOCK, mask_token_id=MASK, max_seconds=None, max_steps=24, conversations=8, anchors=4, warmup_steps=5, validate_every=10,
    save_steps=4, save_seconds=None, processes=1,
)  # fmt: skip

TRAINING = """
import json, sys
from pathlib import Path
from core.drafter import TrainSettings, train

class Lines:
    def progress(self, progress): pass
    def cancelled(self): return False
    def metric(self, values):
        print(json.dumps(dict(values)), flush=True)
        if values["step"] == wait_at and "loss" in values:
            print("waiting", flush=True)
            input()

if __name__ == "__main__":
    data, target, out, settings, wait_at = sys.argv[1:]
    wait_at = int(wait_at)
    train(Path(data), Path(target), Path(out), TrainSettings.from_json(json.loads(settings)), Lines())
"""


class Recorder:
    """Keeps what it is told; asks to stop once it has seen a step."""

    def __init__(self, stop_at: int | None = None) -> None:
        self.metrics: list[dict[str, Any]] = []
        self.phases: list[str] = []
        self.stop_at = stop_at

    def progress(self, progress: Progress) -> None:
        self.phases.append(progress.phase)

    def metric(self, values: Mapping[str, float | int | str]) -> None:
        self.metrics.append(dict(values))

    def cancelled(self) -> bool:
        return bool(self.metrics) and self.metrics[-1]["step"] == self.stop_at

    def curve(self) -> dict[int, tuple[float, float, float]]:
        return {m["step"]: (m["loss"], m["learning_rate"], m["acceptance"]) for m in self.metrics if "loss" in m}

    def validations(self) -> list[dict[str, Any]]:
        return [metric for metric in self.metrics if "loss" not in metric]


def _kill_at(step: int, arguments: list[str], folder: Path) -> None:
    """Run a training in a process of its own and kill -9 it and its peers right after it reported a step."""
    (folder / "training.py").write_text(TRAINING)
    process = subprocess.Popen(
        [sys.executable, str(folder / "training.py"), *arguments, str(step)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True, env={**os.environ, "PYTHONPATH": str(Path.cwd())},
    )  # fmt: skip
    assert process.stdout is not None
    for line in process.stdout:
        if line.strip() == "waiting":
            break
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@pytest.mark.slow
@pytest.mark.parametrize("processes", [1, 2])
def test_the_curve_after_a_kill_and_resume_is_the_uninterrupted_one(
    processes: int, data_folder: Path, target_folder: Path, tmp_path: Path
) -> None:
    settings = replace(SETTINGS, processes=processes)
    whole, rest = Recorder(), Recorder()
    train(data_folder, target_folder, tmp_path / "whole", settings, whole)
    _kill_at(14, [str(data_folder), str(target_folder), str(tmp_path / "killed"), json.dumps(settings.to_json())], tmp_path)
    assert not (tmp_path / "killed").exists()
    left = find_unfinished(tmp_path / "killed")
    assert left is not None and left.standing is not None and left.standing.step == 12
    result = train(data_folder, target_folder, tmp_path / "killed", settings, rest, resume=True)
    assert rest.curve() == {step: values for step, values in whole.curve().items() if step > 12}
    assert rest.validations() == whole.validations()[1:]
    assert result.steps == 24 and result.capture_seconds < 1 and "capture hidden states" not in rest.phases
    one, two = (load_file(tmp_path / name / "model.safetensors") for name in ("whole", "killed"))
    assert all(torch.equal(one[name], two[name]) for name in one)
    assert not unfinished_folder(tmp_path / "killed").exists()


def test_a_stop_at_any_step_leaves_a_checkpoint_of_that_step(data_folder: Path, target_folder: Path, tmp_path: Path) -> None:
    settings = replace(SETTINGS, max_steps=9, save_steps=None)
    whole = Recorder()
    train(data_folder, target_folder, tmp_path / "whole", settings, whole)
    seen: dict[int, tuple[float, float, float]] = {}
    for stop_at in (1, 3, 6):
        part = Recorder(stop_at)
        with pytest.raises(Cancelled):
            train(data_folder, target_folder, tmp_path / "parts", settings, part)
        assert not (tmp_path / "parts").exists()
        assert find_unfinished(tmp_path / "parts").standing.step == stop_at + 1  # type: ignore[union-attr]
        assert not seen.keys() & part.curve().keys()
        seen |= part.curve()
    last = Recorder()
    train(data_folder, target_folder, tmp_path / "parts", settings, last)
    assert seen | last.curve() == whole.curve()


def test_what_was_begun_with_other_settings_is_begun_anew_unless_resume_is_demanded(
    data_folder: Path, target_folder: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    with pytest.raises(Cancelled):
        train(data_folder, target_folder, out, SETTINGS, Recorder(3))
    with pytest.raises(NothingToResume, match=r"another layers \(3, not 1\)"):
        train(data_folder, target_folder, out, replace(SETTINGS, layers=1), resume=True)
    slower = Recorder()
    train(data_folder, target_folder, out, replace(SETTINGS, learning_rate=1e-3, max_steps=6), slower, resume=True)
    assert sorted(slower.curve()) == [5, 6]
    with pytest.raises(Cancelled):
        train(data_folder, target_folder, tmp_path / "again", SETTINGS, Recorder(3))
    anew = Recorder()
    train(data_folder, target_folder, tmp_path / "again", replace(SETTINGS, learning_rate=1e-3, max_steps=6), anew)
    assert sorted(anew.curve()) == [1, 2, 3, 4, 5, 6]


def test_a_demand_to_resume_nothing_says_so_and_leaves_nothing(data_folder: Path, target_folder: Path, tmp_path: Path) -> None:
    with pytest.raises(NothingToResume, match="start it without resume"):
        train(data_folder, target_folder, tmp_path / "out", SETTINGS, resume=True)
    assert list(tmp_path.iterdir()) == []


def test_a_loss_that_is_no_number_names_the_step_and_keeps_the_checkpoint(
    data_folder: Path, target_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clip, steps = Optimizers.clip, iter(range(1, 100))
    monkeypatch.setattr(Optimizers, "clip", lambda self: float("nan") if next(steps) == 7 else clip(self))
    with pytest.raises(TrainingDiverged, match=r"norm of the gradients became nan at step 7: .*checkpoint before it is kept"):
        train(data_folder, target_folder, tmp_path / "out", SETTINGS)
    standing, weights, *_ = load_snapshot(unfinished_folder(tmp_path / "out") / LAST)
    assert standing.step == 4 and all(torch.isfinite(value).all() for value in weights.values())


def test_training_ends_when_measurements_stop_getting_better_and_keeps_the_best(
    data_folder: Path, target_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    figures = iter([2.0, 3.0, 2.5, 2.9, 9.0])
    monkeypatch.setattr("core.drafter.loop.validate", lambda *_: {"all": next(figures)})
    settings = replace(SETTINGS, validate_every=3, patience=2)
    result = train(data_folder, target_folder, tmp_path / "last", settings)
    assert (result.steps, result.best_step, result.validation) == (12, 6, {"all": 2.9})
    last, best = (load_file(tmp_path / "last" / name) for name in ("model.safetensors", "best/model.safetensors"))
    assert not torch.equal(last["fc.weight"], best["fc.weight"])
    figures = iter([2.0, 3.0, 2.5, 2.9, 9.0])
    train(data_folder, target_folder, tmp_path / "best", replace(settings, keep="best"))
    assert torch.equal(load_file(tmp_path / "best" / "model.safetensors")["fc.weight"], best["fc.weight"])


def test_a_warm_start_begins_with_an_earlier_drafter(data_folder: Path, target_folder: Path, tmp_path: Path) -> None:
    first, second = Recorder(), Recorder()
    train(data_folder, target_folder, tmp_path / "first", replace(SETTINGS, max_steps=60), first)
    train(data_folder, target_folder, tmp_path / "second", replace(SETTINGS, warm_start=str(tmp_path / "first")), second)
    assert second.curve()[1][0] < 0.5 * first.curve()[1][0]


def test_two_trainings_of_one_drafter_do_not_meet(tmp_path: Path) -> None:
    about = {"data": "d", "target": "t", "settings": {}, "made_of": {"data": "1"}}
    with workplace(tmp_path / "out", about, None) as work:
        (work / "states").mkdir()
        with pytest.raises(OutputBusy, match="Another training writes"), workplace(tmp_path / "out", about, None):
            pass
        with pytest.raises(OutputBusy):
            discard_unfinished(tmp_path / "out")
    discard_unfinished(tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_a_capture_that_was_interrupted_goes_on(data_folder: Path, target_folder: Path, tmp_path: Path) -> None:
    class Stopper(Recorder):
        def cancelled(self) -> bool:
            return len(self.phases) == 1

    out, stopped, rest = tmp_path / "out", Stopper(), Recorder()
    with pytest.raises(Cancelled):
        train(data_folder, target_folder, out, replace(SETTINGS, max_steps=2), stopped)
    left = find_unfinished(out)
    assert left is not None and left.standing is None
    train(data_folder, target_folder, out, replace(SETTINGS, max_steps=2), rest)
    whole = Recorder()
    train(data_folder, target_folder, tmp_path / "whole", replace(SETTINGS, max_steps=2), whole)
    assert rest.curve() == whole.curve()
    assert rest.phases.count("capture hidden states") == whole.phases.count("capture hidden states") - 1
