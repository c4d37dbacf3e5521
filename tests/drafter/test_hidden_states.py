"""Captured states against transformers' own, one row at a time."""

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from core.drafter import hidden_states
from core.drafter.dataset import TokenizedRows
from core.drafter.hidden_states import HiddenStates, NotEnoughDisk, StaleHiddenStates, capture
from core.drafter.target import TargetModel

TAPS = (1, 2)


@pytest.fixture(scope="module")
def states(rows: TokenizedRows, target: TargetModel, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HiddenStates]:
    with capture(rows, target, TAPS, tmp_path_factory.mktemp("capture") / "states") as captured:
        yield captured


def test_rows_equal_the_hidden_states_of_a_pass_over_each_row_alone(states: HiddenStates, rows: TokenizedRows, target: TargetModel) -> None:
    for row in (0, 7, 60, 117, 119):
        with torch.no_grad():
            alone = target.model(torch.from_numpy(rows.row(row).astype(np.int64))[None], output_hidden_states=True).hidden_states
        got = states.row(row)
        assert got.shape == (len(rows.row(row)), len(TAPS) + 1, target.hidden_size) and got.dtype == torch.bfloat16
        for slot, layer in enumerate(TAPS):
            torch.testing.assert_close(got[:, slot].float(), alone[layer][0], rtol=1e-2, atol=1e-4)


def test_the_last_slot_is_taken_before_the_final_norm(states: HiddenStates, rows: TokenizedRows, target: TargetModel) -> None:
    with torch.no_grad():
        after = target.model(torch.from_numpy(rows.row(3).astype(np.int64))[None], output_hidden_states=True).hidden_states[-1][0]
        last = states.row(3)[:, -1].float()
        assert not torch.allclose(last, after, rtol=0.05, atol=0.05)
        torch.testing.assert_close(target.ends.norm(last), after, rtol=2e-2, atol=2e-2)


def test_choices_are_the_targets_most_probable_next_tokens(states: HiddenStates, rows: TokenizedRows, target: TargetModel) -> None:
    for row in (0, 42, 118):
        with torch.no_grad():
            said = target.model(torch.from_numpy(rows.row(row).astype(np.int64))[None]).logits[0].argmax(-1)
        assert states.choices[rows.offsets[row] : rows.offsets[row + 1]].tolist() == said.tolist()


def test_features_are_the_taps_padded_with_zeros(states: HiddenStates) -> None:
    features = states.features([4, 9], [6, 3])
    assert torch.equal(features[0], states.row(4)[:6, :2].flatten(1))
    assert torch.equal(features[1, :3], states.row(9)[:3, :2].flatten(1))
    assert not features[1, 3:].any()


def test_states_of_other_rows_are_refused(states: HiddenStates, rows: TokenizedRows) -> None:
    changed = rows.ids.copy()
    changed[17] += 1
    with pytest.raises(StaleHiddenStates, match="other rows"):
        HiddenStates.open(states.folder, replace(rows, ids=changed))


def test_a_cut_off_capture_is_refused(states: HiddenStates, rows: TokenizedRows, tmp_path: Path) -> None:
    shutil.copytree(states.folder, tmp_path / "copy")
    file = tmp_path / "copy" / hidden_states.STATES
    file.write_bytes(file.read_bytes()[:-2])
    with pytest.raises(StaleHiddenStates, match="cut off"):
        HiddenStates.open(tmp_path / "copy", rows)


def test_a_full_disk_is_noticed_before_any_work(
    rows: TokenizedRows, target: TargetModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hidden_states, "bytes_needed", lambda *_: 10**18)
    with pytest.raises(NotEnoughDisk, match=r"1000000000\.0 GB"):
        capture(rows, target, TAPS, tmp_path / "states")
    assert list(tmp_path.iterdir()) == []


def test_ids_the_target_does_not_have_are_refused(rows: TokenizedRows, target: TargetModel, tmp_path: Path) -> None:
    with pytest.raises(StaleHiddenStates, match="tokenize for this target"):
        capture(replace(rows, ids=rows.ids + 50), target, TAPS, tmp_path / "states")
