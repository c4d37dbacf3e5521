"""Gradients from bfloat16 factors: what a projection gives is exact, its gradients are to a few thousandths, and nothing else changes."""

import pytest
import torch
from torch.nn import functional

from core.drafter import placement, projections
from core.drafter.model import DraftHead
from core.drafter.placement import Placement
from core.drafter.projections import Projection, project
from core.drafter.settings import TrainSettings
from core.drafter.target import TargetEnds


def given(rows: int, inputs: int = 192, outputs: int = 256, frozen: bool = False) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Rows, a weight, and the gradient of what they give."""
    generator = torch.Generator().manual_seed(rows)
    states = torch.randn(2, rows // 2, inputs, generator=generator, requires_grad=True)
    weight = torch.randn(outputs, inputs, generator=generator, requires_grad=not frozen)
    return states, weight, torch.randn(2, rows // 2, outputs, generator=generator)


@pytest.mark.parametrize("rows", [288, 300, 1736])
def test_products_are_exact_and_gradients_close(rows):
    states, weight, wanted = given(rows)
    exact = functional.linear(states, weight)
    rounded = project(states, weight, torch.bfloat16)
    assert torch.equal(exact, rounded)
    for right, found in zip(
        torch.autograd.grad(exact, (states, weight), wanted), torch.autograd.grad(rounded, (states, weight), wanted), strict=True
    ):
        assert found.dtype is torch.float32 and found.shape == right.shape
        assert not torch.equal(found, right)
        assert (found - right).norm() < 0.005 * right.norm()


@pytest.mark.parametrize("dtype, rows", [(torch.float32, 288), (torch.bfloat16, 4)])
def test_gradients_are_exact_where_that_is_asked_for_or_rounding_would_not_pay(dtype, rows):
    states, weight, wanted = given(rows)
    exact = torch.autograd.grad(functional.linear(states, weight), (states, weight), wanted)
    found = torch.autograd.grad(project(states, weight, dtype), (states, weight), wanted)
    assert all(map(torch.equal, exact, found))


def test_a_frozen_weight_gets_no_gradient_and_rows_get_theirs():
    states, weight, wanted = given(288, frozen=True)
    right = torch.autograd.grad(functional.linear(states, weight), states, wanted)[0]
    project(states, weight, torch.bfloat16).backward(wanted)
    assert weight.grad is None and states.grad is not None
    assert (states.grad - right).norm() < 0.005 * right.norm()


@pytest.mark.parametrize("pays", [True, False])
def test_auto_rounds_the_factors_of_gradients_where_that_pays(pays, monkeypatch):
    monkeypatch.setattr(placement, "bfloat16_pays", lambda: pays)
    auto = Placement.of(TrainSettings(device="cpu"))
    assert (auto.precision, auto.gradients) == (torch.float32, torch.bfloat16 if pays else torch.float32)
    assert Placement.of(TrainSettings(device="cpu", precision="float32")).gradients is torch.float32


def test_the_target_head_is_shared_and_other_heads_are_left_as_they_are():
    ends = TargetEnds(torch.nn.Embedding(8, 4), torch.nn.Identity(), torch.nn.Linear(4, 8, bias=False))
    model = torch.nn.Sequential(Projection(4, 4))
    place = Placement(torch.device("cpu"), torch.float32, torch.bfloat16)
    _, put = place.put(model, ends)  # type: ignore[arg-type]
    assert isinstance(put.head, DraftHead) and put.head.weight.data_ptr() == ends.head.weight.data_ptr()
    assert model[0].gradients is put.head.gradients is torch.bfloat16
    biased = TargetEnds(ends.embed, ends.norm, torch.nn.Linear(4, 8))
    assert place.put(model, biased)[1].head is biased.head  # type: ignore[arg-type]
    assert Placement(torch.device("cpu"), torch.float32).put(model, ends)[1].head is ends.head  # type: ignore[arg-type]
    assert model[0].gradients is torch.float32


def test_rounding_is_not_used_without_gradients(monkeypatch):
    monkeypatch.setattr(projections, "_Product", None)
    states, weight, _ = given(288)
    with torch.no_grad():
        assert torch.equal(project(states, weight, torch.bfloat16), functional.linear(states, weight))
