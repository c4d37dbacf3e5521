"""Block attention against one dense masked softmax, the slow and obvious way."""

import pytest
import torch
from torch import Tensor

from core.drafter.attention import Sight, block_attention

ROWS, BLOCKS, SLOTS, HEADS, KV_HEADS, DIM, CONTEXT = 2, 3, 4, 6, 2, 8, 11
ANCHORS = torch.tensor([[1, 5, 10], [3, 3, 11]])


def dense(
    query: Tensor, keys: Tensor, values: Tensor, block_keys: Tensor, block_values: Tensor, window: int = CONTEXT, causal: bool = False
) -> Tensor:
    """Every slot against all contexts and all blocks of all conversations at once, most of it masked away."""
    out = torch.zeros(ROWS, BLOCKS, SLOTS, HEADS, DIM)
    all_keys = torch.cat([keys.flatten(0, 1), block_keys.flatten(0, 2)])  # [rows * context + rows * blocks * slots, kv_heads, dim]
    all_values = torch.cat([values.flatten(0, 1), block_values.flatten(0, 2)])
    for row in range(ROWS):
        for block in range(BLOCKS):
            seen = torch.zeros(len(all_keys), dtype=torch.bool)
            anchor = int(ANCHORS[row, block])
            seen[row * CONTEXT + max(0, anchor - window) : row * CONTEXT + anchor] = True
            own = ROWS * CONTEXT + (row * BLOCKS + block) * SLOTS
            for slot in range(SLOTS):
                seen[own : own + SLOTS] = False
                seen[own : own + (slot + 1 if causal else SLOTS)] = True
                for head in range(HEADS):
                    kv = head // (HEADS // KV_HEADS)
                    scores = all_keys[:, kv] @ query[row, block, slot, head] / DIM**0.5
                    out[row, block, slot, head] = scores.masked_fill(~seen, float("-inf")).softmax(-1) @ all_values[:, kv]
    return out.flatten(-2)


@pytest.fixture
def tensors() -> tuple[Tensor, ...]:
    torch.manual_seed(0)
    context, block = (ROWS, CONTEXT, KV_HEADS, DIM), (ROWS, BLOCKS, SLOTS, KV_HEADS, DIM)
    return torch.randn(ROWS, BLOCKS, SLOTS, HEADS, DIM), torch.randn(context), torch.randn(context), torch.randn(block), torch.randn(block)


def test_it_equals_a_dense_masked_softmax(tensors: tuple[Tensor, ...]) -> None:
    torch.testing.assert_close(block_attention(*tensors, ANCHORS), dense(*tensors), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("causal", [False, True])
def test_with_a_window_it_equals_one_too(tensors: tuple[Tensor, ...], causal: bool) -> None:
    got = block_attention(*tensors, ANCHORS, Sight(3, causal))
    torch.testing.assert_close(got, dense(*tensors, 3, causal), rtol=1e-5, atol=1e-5)
    everything = torch.full((ROWS, BLOCKS), CONTEXT)
    decoding = block_attention(*tensors, None, Sight(3, causal))
    torch.testing.assert_close(decoding, block_attention(*tensors, everything, Sight(3, causal)), rtol=1e-5, atol=1e-5)


def test_a_block_sees_nothing_at_or_after_its_anchor(tensors: tuple[Tensor, ...]) -> None:
    before = block_attention(*tensors, ANCHORS)
    query, keys, values, *block = tensors
    for row in range(ROWS):
        for number in range(BLOCKS):
            changed_keys, changed_values = keys.clone(), values.clone()
            changed_keys[row, int(ANCHORS[row, number]) :] = 7.0
            changed_values[row, int(ANCHORS[row, number]) :] = -7.0
            changed_keys[1 - row], changed_values[1 - row] = 3.0, 3.0  # another conversation
            after = block_attention(query, changed_keys, changed_values, *block, ANCHORS)
            assert torch.equal(after[row, number], before[row, number])


def test_a_block_sees_its_own_slots_both_ways_and_no_other_block(tensors: tuple[Tensor, ...]) -> None:
    before = block_attention(*tensors, ANCHORS)
    query, keys, values, block_keys, block_values = tensors
    changed = block_values.clone()
    changed[0, 1, SLOTS - 1] += 1
    after = block_attention(query, keys, values, block_keys, changed, ANCHORS)
    differs = (after != before).any(-1)
    assert differs[0, 1].all()
    differs[0, 1] = False
    assert not differs.any()


def test_without_anchors_the_whole_context_is_seen(tensors: tuple[Tensor, ...]) -> None:
    everything = torch.full((ROWS, BLOCKS), CONTEXT)
    assert torch.equal(block_attention(*tensors, None), block_attention(*tensors, everything))
