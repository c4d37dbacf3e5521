"""The weights against their formulas, written out with loops."""

import math

import pytest
import torch

from core.drafter.accuracy import SlotCounts
from core.drafter.loss import dpace_weights, draft_loss, exponential_weights

VALID = torch.tensor([[True, True, True, True], [True, True, False, False], [False] * 4])


def test_dpace_weighs_a_slot_by_the_smoothed_chance_of_reaching_it_and_those_after_it() -> None:
    confidence = torch.tensor([[0.9, 0.1, 0.5, 0.7], [0.3, 0.8, 0.0, 0.0], [0.0] * 4])
    weights = dpace_weights(confidence, VALID, 0.5)
    for block in range(3):
        slots = int(VALID[block].sum())
        for j in range(4):
            expected = (
                sum(math.prod(0.5 * float(confidence[block, i]) + 0.5 for i in range(m + 1)) for m in range(j, slots)) if j < slots else 0.0
            )
            assert float(weights[block, j]) == pytest.approx(expected, rel=1e-6)


def test_exponential_weights_start_at_one_and_stop_where_supervision_does() -> None:
    weights = exponential_weights(VALID, 4.0)
    assert weights[0].tolist() == pytest.approx([1, math.exp(-1 / 4), math.exp(-2 / 4), math.exp(-3 / 4)])
    assert weights[1, 2:].tolist() == [0, 0] and weights[2].tolist() == [0] * 4


@pytest.mark.parametrize("weights", ["dpace", "exponential"])
def test_the_loss_is_the_weighted_cross_entropy_of_valid_slots(weights: str) -> None:
    torch.manual_seed(0)
    logits, choices = torch.randn(3, 4, 9), torch.randint(0, 9, (3, 4))
    log_probability = logits.log_softmax(-1).gather(-1, choices[..., None])[..., 0]
    weight = dpace_weights(log_probability.exp() * VALID, VALID, 0.5) if weights == "dpace" else exponential_weights(VALID, 4.0)
    loss = draft_loss(logits[VALID], choices, VALID, weights=weights, alpha=0.5, gamma=4.0)  # type: ignore[arg-type]
    assert float(loss) == pytest.approx(float((-log_probability * weight).sum()), rel=1e-5)


def test_no_gradient_flows_through_the_weights() -> None:
    logits = torch.zeros(1, 4, 3, requires_grad=True)
    valid = torch.ones(1, 4, dtype=torch.bool)
    choices = torch.zeros(1, 4, dtype=torch.long)
    (gradient,) = torch.autograd.grad(draft_loss(logits[valid], choices, valid, weights="dpace", alpha=0.5, gamma=4.0), logits)
    weight = dpace_weights(torch.full((1, 4), 1 / 3), valid, 0.5)
    assert gradient[0, :, 0].tolist() == pytest.approx((weight[0] * (1 / 3 - 1)).tolist())


def test_the_acceptance_estimate_counts_the_correct_prefix() -> None:
    choices = torch.tensor([[1, 1, 1], [1, 1, 1], [1, 1, 1]])
    valid = torch.tensor([[True, True, True], [True, True, False], [False] * 3])
    said = torch.tensor([1, 0, 1, 1, 1])  # of the valid slots: right, wrong, right | right, right
    counts = SlotCounts.of(said, choices, valid)
    assert counts.acceptance == 1 + (1 + 2) / 2
    assert counts.figures() == {"acceptance": 2.5, "accuracy_1": 1.0, "accuracy_2": 0.5, "accuracy_3": 1.0}
