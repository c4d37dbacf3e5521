"""The lean drafter against the model itself, and prompt lookup."""

import pytest
import torch

from core.drafter.checkpoint import shape_for
from core.drafter.lean_drafter import LeanDraft
from core.drafter.model import DraftModel
from core.drafter.proposers import ChainDrafter, DrafterSource, LeanBlocks, ModelBlocks, PromptLookup, TreeDrafter
from core.drafter.settings import TrainSettings
from core.drafter.target import TargetModel
from tests.drafter.conftest import BLOCK, MASK

NOTHING = torch.empty(0, 0)


@pytest.fixture(scope="module")
def source(target: TargetModel) -> DrafterSource:
    """A drafter with random weights, norms included."""
    model = DraftModel(shape_for(target, TrainSettings(block_size=BLOCK, mask_token_id=MASK, layers=2)), 5)
    generator = torch.Generator().manual_seed(1)
    for parameter in model.parameters():
        if parameter.ndim == 1:
            parameter.data += 0.3 * torch.randn(parameter.shape, generator=generator)
    return DrafterSource(model.eval(), target)


@torch.inference_mode()
def test_the_lean_drafter_equals_the_model_while_its_context_grows(source: DrafterSource, target: TargetModel) -> None:
    lean, slow = source.start(), ModelBlocks(source.model, source.ends)
    assert isinstance(lean, LeanBlocks)
    ids = [4, *(3 + n % 50 for n in range(700))]
    states = torch.cat(target.hidden_states(torch.tensor([ids]), source.model.shape.target_layers), -1)[0]
    for start, end in ((0, 3), (3, 4), (4, 40), (40, 600), (600, 701)):
        for blocks in (lean, slow):
            blocks.extend(states[start:end])
        for committed in (18, 7):  # the second block must not see the first
            torch.testing.assert_close(lean.logits(committed), slow.logits(committed), rtol=1e-3, atol=1e-3)


def test_a_drafter_on_which_the_two_ways_differ_runs_as_the_model(
    source: DrafterSource, target: TargetModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LeanDraft, "states", lambda self, committed, cache: torch.zeros(BLOCK, target.hidden_size))
    assert isinstance(DrafterSource(source.model, target).start(), ModelBlocks)


@torch.inference_mode()
def test_a_trees_first_path_is_the_chain(source: DrafterSource, target: TargetModel) -> None:
    states = torch.cat(target.hidden_states(torch.tensor([[4, 12, 13]]), source.model.shape.target_layers), -1)[0]
    drafters = [ChainDrafter(source.start()), TreeDrafter(source.start(), 64)]
    for drafter in drafters:
        drafter.extend([4, 12, 13], states)
    chain, tree = (drafter.propose(14) for drafter in drafters)
    assert len(tree.tokens) == 64 and chain.parents is None
    place = -1
    for token in chain.tokens:
        place = tree.children.get((place, token), place)
    assert tree.depths[place] >= 1 and tree.tokens[0] == chain.tokens[0]


@torch.inference_mode()
def test_a_chain_ends_where_it_becomes_improbable(source: DrafterSource, target: TargetModel) -> None:
    states = torch.cat(target.hidden_states(torch.tensor([[4, 12, 13]]), source.model.shape.target_layers), -1)[0]

    def drafted(confidence: float) -> tuple[int, ...]:
        chain = ChainDrafter(source.start(), confidence=confidence)
        chain.extend([4, 12, 13], states)
        return chain.propose(14).tokens

    blocks = source.start()
    blocks.extend(states)
    probable = blocks.logits(14).softmax(-1).max(-1).values.cumprod(0).tolist()
    whole = drafted(0.0)
    assert len(whole) == BLOCK - 1
    for slot, probability in enumerate(probable):
        assert drafted(probability * 0.999) == whole[: slot + 1]
        assert drafted(min(0.999999, probability * 1.001)) == whole[: max(1, slot)]


def test_prompt_lookup_drafts_what_followed_the_longest_match() -> None:
    lookup = PromptLookup(3)
    lookup.extend([1, 2, 3, 4, 5, 9, 2, 3, 6, 7, 8, 1, 2], NOTHING)
    assert lookup.propose(3).tokens == (4, 5, 9)  # after 1 2 3, though 2 3 stood last before 6
    assert lookup.propose(9).tokens == (2, 3, 6)
    assert lookup.propose(77).tokens == ()


def test_prompt_lookup_can_repeat_the_newest_token() -> None:
    lookup = PromptLookup(4)
    lookup.extend([5, 7], NOTHING)
    assert lookup.propose(7).tokens == (7,)
