"""Hidden states in speculators' layout: what was written is read back, and nothing stale or missing passes."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from core.drafter import state_files
from core.drafter.dataset import TokenizedRows
from core.drafter.hidden_states import HiddenStates, NotEnoughDisk, StaleHiddenStates, capture
from core.drafter.state_files import StateFiles, gather, rows_of, write_state_files
from core.drafter.target import TargetModel
from core.watch import Cancelled

TAPS = (1, 2)


@pytest.fixture(scope="module")
def states(rows: TokenizedRows, target: TargetModel, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HiddenStates]:
    with capture(rows, target, TAPS, tmp_path_factory.mktemp("capture") / "states") as captured:
        yield captured


def test_a_file_holds_states_and_ids_as_speculators_reads_them(states: HiddenStates, rows: TokenizedRows, tmp_path: Path) -> None:
    files = write_state_files(states, rows, tmp_path / "hidden_states")
    found = load_file(tmp_path / "hidden_states" / "hs_7.safetensors")
    assert found["hidden_states"].dtype == torch.bfloat16 and found["token_ids"].dtype == torch.int64
    assert found["token_ids"].tolist() == rows.row(7).tolist()
    assert found["hidden_states"].shape == (len(rows.row(7)), len(TAPS) + 1, states.hidden_size)
    assert all(torch.equal(read, states.row(row)) for row, read in enumerate(rows_of(files)))
    assert files.missing() == [] and files.bytes_needed() == 0


def test_a_stopped_writing_goes_on_where_it_stopped(states: HiddenStates, rows: TokenizedRows, tmp_path: Path) -> None:
    class StopsAt:
        done = 0

        def progress(self, progress: object) -> None:
            self.done += 1

        def metric(self, values: object) -> None: ...

        def cancelled(self) -> bool:
            return self.done == 5

    with pytest.raises(Cancelled):
        write_state_files(states, rows, tmp_path, StopsAt())
    before = (tmp_path / "hs_0.safetensors").stat().st_mtime_ns
    files = StateFiles(tmp_path, rows, len(TAPS) + 1, states.hidden_size)
    assert files.missing() == list(range(5, len(rows)))
    write_state_files(states, rows, tmp_path)
    assert files.missing() == [] and (tmp_path / "hs_0.safetensors").stat().st_mtime_ns == before


@pytest.mark.parametrize("taps", [(1, 2), (1, 3)])
def test_training_reads_state_files_as_it_reads_its_own_capture(
    taps: tuple[int, ...], rows: TokenizedRows, target: TargetModel, tmp_path: Path
) -> None:
    with capture(rows, target, taps, tmp_path / "own") as own:
        files = write_state_files(own, rows, tmp_path / "files")
        with gather(files, target, taps, tmp_path / "gathered") as gathered:
            assert all(torch.equal(own.row(row), gathered.row(row)) for row in range(len(rows)))
            assert torch.equal(own.features([4, 9], [6, 3]), gathered.features([4, 9], [6, 3]))
            assert (own.choices == gathered.choices).mean() > 0.98  # made from bfloat16 here, from float32 there
    files.path(11).unlink()
    with pytest.raises(StaleHiddenStates, match="hs_11"):
        gather(files, target, taps, tmp_path / "again")
    assert not (tmp_path / "again").exists()


def test_missing_stale_and_broken_files_are_errors(states: HiddenStates, rows: TokenizedRows, tmp_path: Path) -> None:
    files = StateFiles(tmp_path, rows, len(TAPS) + 1, states.hidden_size)
    files.prepare()
    with pytest.raises(StaleHiddenStates, match=r"hs_3\.safetensors is missing"):
        files.read(3)
    files.write(3, states.row(3))
    changed = rows.ids.copy()
    changed[rows.offsets[3]] += 1
    with pytest.raises(StaleHiddenStates, match="other tokens"):
        replace(files, rows=replace(rows, ids=changed)).read(3)
    with pytest.raises(StaleHiddenStates, match="shape"):
        replace(files, slots=2).read(3)
    with pytest.raises(StaleHiddenStates, match="shape"):
        files.write(4, states.row(3)[:-1])
    files.path(3).write_bytes(files.path(3).read_bytes()[:-9])
    with pytest.raises(StaleHiddenStates, match="cannot be read"):
        files.read(3)


def test_a_full_disk_is_noticed_before_any_row(
    states: HiddenStates, rows: TokenizedRows, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = StateFiles(tmp_path, rows, len(TAPS) + 1, states.hidden_size)
    assert files.bytes_needed() == rows.tokens * (3 * states.hidden_size * 2 + 8)
    monkeypatch.setattr(state_files.StateFiles, "bytes_needed", lambda self: 10**18)
    with pytest.raises(NotEnoughDisk, match=r"1000000000\.0 GB"):
        write_state_files(states, rows, tmp_path)
    assert list(tmp_path.iterdir()) == []
