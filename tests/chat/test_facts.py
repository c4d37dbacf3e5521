"""The figures of a training row, against blocks laid one by one."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from core.chat import Supervision, draft_blocks, facts_of, supervise
from tests.chat.test_supervision import CHAT


def blocks_one_by_one(mask: list[bool], size: int) -> tuple[int, int]:
    """The slow way: walk along the row, begin a block at every trained token that no block holds yet."""
    whole = crossing = place = 0
    while place < len(mask):
        if not mask[place]:
            place += 1
            continue
        end = place
        while end < len(mask) and end < place + size and mask[end]:
            end += 1
        whole += end - place == size
        crossing += 2 <= end - place < size
        place = end
    return whole, crossing


@given(st.lists(st.booleans(), max_size=60), st.integers(2, 9))
def test_blocks_are_counted_as_laying_them_one_by_one_would(mask, size):
    assert draft_blocks(np.array(mask, np.bool_), size) == blocks_one_by_one(mask, size)


def test_a_turn_of_ten_tokens_holds_one_block_of_eight_and_begins_one_that_crosses_its_end():
    assert draft_blocks(np.array([False] * 3 + [True] * 10 + [False] * 4), 8) == (1, 1)


def test_one_token_left_over_starts_no_block():
    assert draft_blocks(np.array([True] * 9), 8) == (1, 0)


def test_facts_add_up_to_the_row(targets):
    for row in supervise(CHAT, targets("qwen3.6"), Supervision()).rows:
        facts = facts_of(row, 8).to_json()
        assert (facts["tokens"], facts["trainable"]) == (len(row.input_ids), int(row.loss_mask.sum()))
        assert facts["share"] == facts["trainable"] / facts["tokens"]
        assert facts["turn"] == row.turn
