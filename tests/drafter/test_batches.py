"""Anchors: where they may stand, what they teach, and that a step can be drawn again."""

from collections.abc import Iterator

import numpy as np
import pytest
import torch

from core.drafter.batches import AnchorBatches
from core.drafter.dataset import TokenizedRows
from core.drafter.hidden_states import HiddenStates, capture
from core.drafter.target import TargetModel
from tests.drafter.conftest import BLOCK


@pytest.fixture(scope="module")
def states(rows: TokenizedRows, target: TargetModel, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HiddenStates]:
    with capture(rows, target, (1, 3), tmp_path_factory.mktemp("capture") / "states") as captured:
        yield captured


@pytest.fixture
def batches(rows: TokenizedRows, states: HiddenStates) -> AnchorBatches:
    return AnchorBatches(rows, states, range(len(rows)), conversations=12, anchors=6, block_size=BLOCK, seed=3)


def test_runs_count_supervised_tokens_up_to_the_next_break_or_the_rows_end() -> None:
    mask = np.array([1, 1, 0, 1, 1, 1, 0, 1], np.bool_)
    found = TokenizedRows(None, np.zeros(8, np.int32), mask, np.array([0, 4, 8]), ("a", "a"), ("0", "1"))  # type: ignore[arg-type]
    assert found.supervised_run.tolist() == [2, 1, 0, 1, 2, 1, 0, 1]


def test_slots_are_valid_exactly_while_the_text_is_supervised_and_the_targets_own(
    rows: TokenizedRows, batches: AnchorBatches, states: HiddenStates
) -> None:
    for step in range(20):
        for batch in batches.step(step):
            for place, row in enumerate(batch.rows):
                ids, mask = rows.row(row), rows.mask[rows.offsets[row] : rows.offsets[row + 1]]
                said = states.choices[rows.offsets[row] : rows.offsets[row + 1]]
                used = [int(anchor) for anchor, valid in zip(batch.anchors[place], batch.valid[place], strict=True) if valid[0]]
                assert len(used) == len(set(used)) and used
                for number, anchor in enumerate(batch.anchors[place].tolist()):
                    assert mask[anchor] and anchor > 0
                    assert batch.committed[place, number] == ids[anchor]
                    if not batch.valid[place, number, 0]:
                        continue
                    for slot in range(1, BLOCK):
                        supervised = anchor + slot < len(ids) and bool(mask[anchor : anchor + slot + 1].all())
                        own = supervised and all(ids[anchor + past] == said[anchor + past - 1] for past in range(1, slot))
                        assert bool(batch.valid[place, number, slot - 1]) == own
                        if own:
                            assert batch.choices[place, number, slot - 1] == said[anchor + slot - 1]


def test_an_epoch_holds_every_usable_row_once(rows: TokenizedRows, batches: AnchorBatches) -> None:
    seen = [row for step in range(batches.per_epoch) for batch in batches.step(step) for row in batch.rows]
    assert sorted(seen) == list(range(118))  # the last two rows have no two supervised tokens in a row


def test_features_reach_as_far_as_the_last_anchor_needs(batches: AnchorBatches, states: HiddenStates) -> None:
    for batch in batches.step(0):
        assert batch.features.shape[1] == int(batch.anchors.max())
        for place, row in enumerate(batch.rows):
            length = int(batch.anchors[place].max())
            assert torch.equal(batch.features[place, :length], states.row(row)[:length, :2].flatten(1))


def test_a_step_depends_on_seed_and_number_only(batches: AnchorBatches, rows: TokenizedRows, states: HiddenStates) -> None:
    again = AnchorBatches(rows, states, range(len(rows)), conversations=12, anchors=6, block_size=BLOCK, seed=3)
    for step in (25, 2, 13):
        for one, other in zip(batches.step(step), again.step(step), strict=True):
            assert one.rows == other.rows and torch.equal(one.anchors, other.anchors)


def test_anchors_are_drawn_anew_each_epoch(batches: AnchorBatches) -> None:
    def anchors(epoch: int) -> dict[int, list[int]]:
        steps = range(epoch * batches.per_epoch, (epoch + 1) * batches.per_epoch)
        return {
            row: batch.anchors[place].tolist() for step in steps for batch in batches.step(step) for place, row in enumerate(batch.rows)
        }

    assert anchors(0) != anchors(1)


def test_anchors_go_on_behind_the_rounds_before(rows: TokenizedRows, states: HiddenStates) -> None:
    batches = AnchorBatches(rows, states, range(len(rows)), conversations=12, anchors=6, block_size=BLOCK, seed=3, anywhere=0.0)
    allowed = {row: _possible(rows, row) for row in range(len(rows))}
    last: dict[int, list[int]] = {}
    for step in range(3 * batches.per_epoch):
        parts = batches.step(step)
        behind = torch.full((12, 6), -1)
        for batch in parts:
            for place, row in enumerate(batch.rows):
                anchors = batch.anchors[place].tolist()
                assert anchors == sorted(anchors) and set(anchors) <= set(allowed[row])
                if row in last:  # each where the round went on, from the row's first place after its last one
                    expected = {next((at for at in allowed[row] if at >= place), allowed[row][0]) for place in last[row]}
                    assert expected <= set(anchors)
                gained = [anchor + 1 + (anchor + step) % 3 for anchor in anchors]
                valid = batch.valid[place, :, 0].tolist()
                last[row] = [there for there, used in zip(gained, valid, strict=True) if used]
                behind[batch.places[place]] = torch.tensor([there if used else -1 for there, used in zip(gained, valid, strict=True)])
        batches.follow(step, behind)


def test_a_share_of_the_anchors_is_drawn_anywhere(rows: TokenizedRows, states: HiddenStates) -> None:
    def same(anywhere: float) -> float:
        batches = AnchorBatches(rows, states, range(len(rows)), conversations=12, anchors=6, block_size=BLOCK, seed=3, anywhere=anywhere)
        for step in range(batches.per_epoch):
            for batch in batches.step(step):
                batches.following[list(batch.rows)] = batch.anchors.int()
        before = batches.following.clone()
        kept = [
            set(before[row].tolist()) <= set(batch.anchors[place].tolist())
            for step in range(batches.per_epoch, 2 * batches.per_epoch)
            for batch in batches.step(step)
            for place, row in enumerate(batch.rows)
        ]
        return sum(kept) / len(kept)

    assert same(0.0) == 1.0
    assert same(0.5) < 0.6


def _possible(rows: TokenizedRows, row: int) -> list[int]:
    """Places of a row where an anchor may stand."""
    start, end = int(rows.offsets[row]), int(rows.offsets[row + 1])
    return [place - start for place in range(start + 1, end) if rows.supervised_run[place] >= 2]
