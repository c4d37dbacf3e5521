"""Training in several processes gives what one process gives, and ends with them."""

import json
import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from core.drafter import TrainSettings, train
from core.drafter.ranks import PeerLost
from core.drafter.standing import LAST, read_standing
from core.drafter.unfinished import unfinished_folder
from core.watch import Cancelled, Progress
from tests.drafter.conftest import BLOCK, MASK

SETTINGS = TrainSettings(
    block_size=BLOCK, mask_token_id=MASK, max_seconds=None, max_steps=30, conversations=8, anchors=4, warmup_steps=5, validate_every=10
)


class Losses:
    """Keeps the losses; does something at a step."""

    def __init__(self, at: int | None = None, then: str = "") -> None:
        self.losses: list[float] = []
        self.at, self.then = at, then

    def progress(self, progress: Progress) -> None:
        pass

    def metric(self, values: Mapping[str, float | int | str]) -> None:
        if "loss" in values:
            self.losses.append(float(values["loss"]))
        if self.then == "kill the peer" and len(self.losses) == self.at:
            for process in multiprocessing.active_children():
                os.kill(process.pid or 0, signal.SIGKILL)

    def cancelled(self) -> bool:
        return self.then == "cancel" and len(self.losses) == self.at


def test_two_processes_learn_what_one_learns(data_folder: Path, target_folder: Path, tmp_path: Path) -> None:
    alone, both = Losses(), Losses()
    train(data_folder, target_folder, tmp_path / "alone", replace(SETTINGS, processes=1), alone)
    result = train(data_folder, target_folder, tmp_path / "both", replace(SETTINGS, processes=2), both)
    assert len(both.losses) == result.steps == 30
    assert both.losses == pytest.approx(alone.losses, rel=1e-3)
    one, two = (load_file(tmp_path / name / "model.safetensors") for name in ("alone", "both"))
    assert one.keys() == two.keys()
    assert all(torch.allclose(one[name].float(), two[name].float(), atol=5e-2) for name in one)
    assert not multiprocessing.active_children()


@pytest.mark.slow
def test_two_processes_under_torchrun_learn_what_one_learns(data_folder: Path, target_folder: Path, tmp_path: Path) -> None:
    alone = Losses()
    settings = replace(SETTINGS, processes=1, max_steps=12, save_steps=5)
    train(data_folder, target_folder, tmp_path / "alone", settings, alone)
    (tmp_path / "settings.json").write_text(json.dumps(settings.to_json()))
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m", "core.drafter"]
    options = ["--data", data_folder, "--target", target_folder, "--out", tmp_path / "both", "--settings", tmp_path / "settings.json"]
    done = subprocess.run(
        [*launcher, *map(str, options)],
        capture_output=True,
        text=True,
        check=False,
        timeout=500,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert [line["loss"] for line in lines if "loss" in line] == pytest.approx(alone.losses, rel=1e-3)
    assert lines[-1]["result"]["steps"] == 12
    one, two = (load_file(tmp_path / name / "model.safetensors") for name in ("alone", "both"))
    assert all(torch.allclose(one[name], two[name], atol=5e-2) for name in one)


@pytest.mark.slow
def test_a_signal_to_the_launcher_leaves_a_checkpoint_that_the_next_start_goes_on_from(
    data_folder: Path, target_folder: Path, tmp_path: Path
) -> None:
    settings = replace(SETTINGS, processes=1, max_steps=2_000, save_steps=None, save_seconds=None)
    (tmp_path / "settings.json").write_text(json.dumps(settings.to_json()))
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m", "core.drafter"]
    options = ["--data", data_folder, "--target", target_folder, "--out", tmp_path / "out", "--settings", tmp_path / "settings.json"]
    with subprocess.Popen(
        [*launcher, *map(str, options)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        while '"step": 5' not in process.stdout.readline():
            assert process.poll() is None, process.stderr.read()
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=120)
    standing = read_standing(unfinished_folder(tmp_path / "out") / LAST)
    assert standing.step >= 5 and not (tmp_path / "out").exists()
    losses = Losses()
    result = train(data_folder, target_folder, tmp_path / "out", replace(settings, max_steps=standing.step + 3), losses, resume=True)
    assert result.steps == standing.step + 3 and len(losses.losses) == 3


def test_a_cancelled_training_ends_all_its_processes(data_folder: Path, target_folder: Path, tmp_path: Path) -> None:
    with pytest.raises(Cancelled):
        train(data_folder, target_folder, tmp_path / "out", replace(SETTINGS, processes=2), Losses(3, "cancel"))
    assert not multiprocessing.active_children()
    assert not (tmp_path / "out").exists()


def test_a_process_that_dies_ends_the_training_with_a_sentence(data_folder: Path, target_folder: Path, tmp_path: Path) -> None:
    with pytest.raises(PeerLost, match="start the training again"):
        train(data_folder, target_folder, tmp_path / "out", replace(SETTINGS, processes=2), Losses(3, "kill the peer"))
    assert not (tmp_path / "out").exists()
