"""Draft trees: best-first against listing every prefix, and who sees whom."""

import itertools
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from core.drafter.drafts import Draft, Round, best_first


def paths(draft: Draft) -> list[tuple[int, ...]]:
    """Each node's tokens from depth 1 down to itself."""
    found: list[tuple[int, ...]] = []
    for token, parent in zip(draft.tokens, draft.lineage, strict=True):
        found.append((*(found[parent] if parent >= 0 else ()), token))
    return found


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 4), st.integers(2, 4), st.integers(1, 30), st.randoms(use_true_random=False))
def test_a_tree_holds_the_most_probable_prefixes(depths: int, ranks: int, budget: int, random: object) -> None:
    generator = torch.Generator().manual_seed(random.randint(0, 10**6))  # type: ignore[attr-defined]
    logits = torch.randn(depths, ranks, generator=generator, dtype=torch.float64).log_softmax(-1)
    scores, tokens = logits.sort(descending=True)
    draft = best_first(tokens.tolist(), scores.tolist(), budget)
    every = {
        path: sum(float(logits[depth, token]) for depth, token in enumerate(path))
        for length in range(1, depths + 1)
        for path in itertools.product(range(ranks), repeat=length)
    }
    best = sorted(every, key=lambda path: -every[path])[:budget]
    assert paths(draft) == best
    assert all(parent < place for place, parent in enumerate(draft.lineage))
    for path, probability in zip(paths(draft), draft.probabilities, strict=True):
        assert probability == pytest.approx(math.exp(float(logits[len(path) - 1, path[-1]])))


def test_a_node_sees_itself_its_ancestors_and_the_committed_token() -> None:
    draft = Draft((10, 11, 12, 13), (-1, 0, -1, 1))
    assert draft.depths == (1, 2, 1, 3)
    assert draft.visible().int().tolist() == [
        [1, 0, 0, 0, 0],
        [1, 1, 0, 0, 0],
        [1, 1, 1, 0, 0],
        [1, 0, 0, 1, 0],
        [1, 1, 1, 0, 1],
    ]
    assert draft.children == {(-1, 10): 0, (0, 11): 1, (-1, 12): 2, (1, 13): 3}


def test_a_chain_is_a_tree_without_branches() -> None:
    draft = Draft((10, 11, 12))
    assert draft.lineage == (-1, 0, 1) and draft.depths == (1, 2, 3)
    assert draft.visible().equal(torch.ones(4, 4, dtype=torch.bool).tril())


def test_no_scores_give_no_drafts() -> None:
    assert best_first([], [], 8).tokens == ()


def test_a_round_can_be_looked_at() -> None:
    seen = Round(9, Draft((10, 11), (-1, -1), (0.5, 0.25)), (1,), (11, 4)).to_json()
    assert seen["gained"] == [11, 4] and seen["committed"] == 9
    assert seen["nodes"][1] == {"token": 11, "parent": -1, "depth": 1, "probability": 0.25, "accepted": True}
    assert seen["nodes"][0]["accepted"] is False
