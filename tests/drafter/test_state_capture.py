"""States that are kept: made once, by this process or by a server, checked for what they are of, and gone on with after a stop."""

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
import torch

from core.drafter.dataset import TokenizedRows
from core.drafter.hidden_states import NotEnoughDisk, StaleHiddenStates, capture
from core.drafter.state_capture import ABOUT, StatesFrom, capture_to_files, obtain, state_files
from core.drafter.target import TargetModel
from core.jobs import TrainJob, begin
from core.runs import Run, RunStore
from core.watch import Cancelled, Progress, Unwatched
from tests.drafter.conftest import MASK
from tests.drafter.test_state_server import TAPS, StandIn


class StopsAfter(Unwatched):
    def __init__(self, rows: int) -> None:
        self._rows, self._stop = rows, False

    def progress(self, progress: Progress) -> None:
        self._stop = progress.done >= self._rows

    def cancelled(self) -> bool:
        return self._stop


@pytest.fixture
def stand_in(target: TargetModel, tmp_path: Path) -> Iterator[StandIn]:
    (tmp_path / "server").mkdir()
    made = StandIn(target, tmp_path / "server")
    yield made
    made.server.shutdown()
    made.server.server_close()


def test_a_stopped_capture_goes_on_and_gives_what_training_would_have_made_itself(
    rows: TokenizedRows, target: TargetModel, tmp_path: Path
) -> None:
    source = StatesFrom(tmp_path / "kept")
    with pytest.raises(Cancelled):
        obtain(rows, target, TAPS, tmp_path / "flat", source, tmp_path / "unused", StopsAfter(40))
    files = state_files(tmp_path / "kept", rows, target, TAPS)
    before = {path.name: path.stat().st_mtime_ns for path in files.folder.glob("hs_*")}
    assert 40 <= len(before) < 120 and not (tmp_path / "flat").exists()
    with (
        obtain(rows, target, TAPS, tmp_path / "flat", source, tmp_path / "unused", Unwatched()) as got,
        capture(rows, target, TAPS, tmp_path / "own") as own,
    ):
        # From states in bfloat16, where the other's choices come from float32: near ties may turn.
        assert got.layers == own.layers and (got.choices != own.choices).mean() < 0.05
        for row in range(len(rows)):
            torch.testing.assert_close(got.row(row).float(), own.row(row).float(), rtol=1e-2, atol=1e-3)
    assert all(before[path.name] == path.stat().st_mtime_ns for path in files.folder.glob("hs_*") if path.name in before)
    assert not (tmp_path / "unused").exists()


def test_states_of_other_layers_or_of_nobody_knows_what_are_refused(rows: TokenizedRows, target: TargetModel, tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    capture_to_files(state_files(folder, rows, target, TAPS), target, TAPS)
    with pytest.raises(StaleHiddenStates, match=r"states of layers \[1, 2\] \(wanted: layers \[1, 3\]\)"):
        state_files(folder, rows, target, (1, 3))
    about = json.loads((folder / ABOUT).read_text())
    (folder / ABOUT).write_text(json.dumps({**about, "target": {}}))
    with pytest.raises(StaleHiddenStates, match="of another target"):
        state_files(folder, rows, target, TAPS)
    (folder / ABOUT).unlink()
    with pytest.raises(StaleHiddenStates, match=r"no states\.json that says of which target"):
        state_files(folder, rows, target, TAPS)


def test_what_does_not_fit_the_disk_is_refused_before_any_work(
    rows: TokenizedRows, target: TargetModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: object) -> object:
        class Usage:
            free = 1000

        return Usage

    monkeypatch.setattr("shutil.disk_usage", full)
    with pytest.raises(NotEnoughDisk, match="GB are free"):
        obtain(rows, target, TAPS, tmp_path / "flat", StatesFrom(tmp_path / "kept"), tmp_path, Unwatched())
    assert not list(tmp_path.glob("kept/hs_*"))


@pytest.mark.slow
@pytest.mark.parametrize("trouble", ["dead", "slow", "other model"])
def test_a_training_pauses_at_a_bad_server_and_goes_on_with_what_it_had(
    stand_in: StandIn, data_folder: Path, target_folder: Path, tmp_path: Path, trouble: str
) -> None:
    stand_in.trouble, stand_in.after, stand_in.slowness = trouble, 30, 12.0
    job = TrainJob(
        home=tmp_path / "home",
        data=data_folder,
        target=str(target_folder),
        out=tmp_path / "out",
        settings={"layers": 1, "block_size": 4, "max_steps": 2, "max_seconds": None, "target_layers": TAPS, "mask_token_id": MASK},
        server=stand_in.url + "/v1",
        server_timeout=4.0 if trouble == "slow" else 30.0,
        states=tmp_path / "states",
        evaluate=False,
    )
    run = _ended(job, begin(job))
    wrong = trouble == "other model"
    assert run.state == ("failed" if wrong else "paused")
    assert run.error is not None and ("another model" if wrong else "gave no answer in 4 tries") in run.error
    assert "of 120 rows are kept; start again to go on" in run.error and not job.out.exists()
    kept = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "states").glob("hs_*")}
    assert 0 < len(kept) <= 30
    stand_in.trouble = ""
    run = _ended(job, RunStore(tmp_path / "home" / "runs").retry(run.id))
    assert run.state == "done" and (job.out / "model.safetensors").is_file()
    assert len(list((tmp_path / "states").glob("hs_*"))) == 120
    assert all((tmp_path / "states" / name).stat().st_mtime_ns == made for name, made in kept.items())


def _ended(job: TrainJob, run: Run) -> Run:
    """The run once its process has ended."""
    assert run.process is not None
    with suppress(psutil.NoSuchProcess):
        psutil.Process(run.process.pid).wait(240)
    return RunStore(job.home / "runs").get(run.id)


def test_states_are_not_strewn_into_a_folder_of_something_else(rows: TokenizedRows, target: TargetModel, tmp_path: Path) -> None:
    (tmp_path / "state.json").write_text("{}")
    with pytest.raises(StaleHiddenStates, match="other files"):
        state_files(tmp_path, rows, target, TAPS)
    assert [path.name for path in tmp_path.iterdir()] == ["state.json"]
