"""Drawing with drafts gives the target's own distribution: chi-square over 20,000 draws, whatever drafted."""

import pytest
import torch
from torch import Tensor

from core.drafter.drafts import Draft
from core.drafter.sampling import BadSampling, Chooser

DRAWS, WORDS, DEPTHS = 20_000, 5, 2
TEMPERATURE = 0.8
CRITICAL = 177.0
"""The 99.9 % point of chi-square with 124 degrees of freedom (5 * 5 * 5 sequences) is 177.2."""


def table(seed: int) -> Tensor:
    """Logits of the next word after any two words, [words, words, words]."""
    return torch.randn(WORDS, WORDS, WORDS, generator=torch.Generator().manual_seed(seed))


def after(target: Tensor, said: list[int]) -> Tensor:
    """The target's logits after the words said so far, the last two of them counting."""
    before, last = [0, 0, *said][-2:]
    return target[before, last]


def draft_for(kind: str, slots: Tensor, chooser: Chooser) -> Draft:
    """A chain drawn, a chain chosen or a tree, from the drafter's logits [depths, words]."""
    if kind == "drawn chain":
        weights = chooser.probabilities(slots)
        return Draft(tuple(chooser.draw(slot) for slot in weights), drawn_from=weights)
    if kind == "chosen chain":
        return Draft(tuple(slots.argmax(-1).tolist()))
    return Draft((0, 2, 3, 1, 4), (-1, -1, 1, 1, 0))


@pytest.mark.parametrize("kind", ["drawn chain", "chosen chain", "tree"])
def test_responses_are_distributed_as_the_targets_own(kind: str) -> None:
    target, drafter = table(1), torch.randn(DEPTHS, WORDS, generator=torch.Generator().manual_seed(2))
    chooser = Chooser(TEMPERATURE, 11)
    counts = torch.zeros(WORDS, WORDS, WORDS)
    for _ in range(DRAWS):
        said: list[int] = []
        while len(said) < 3:
            draft = draft_for(kind, drafter, chooser)
            texts = [said]
            for token, parent in zip(draft.tokens, draft.lineage, strict=True):
                texts.append([*texts[parent + 1], token])
            path, following = chooser.verify(draft, torch.stack([after(target, text) for text in texts]))
            said = [*said, *(draft.tokens[place] for place in path), following]
        counts[tuple(said[:3])] += 1
    expected = torch.zeros_like(counts)
    for first in range(WORDS):
        for second in range(WORDS):
            for third in range(WORDS):
                said = [first, second, third]
                probability = 1.0
                for place, word in enumerate(said):
                    probability *= float((after(target, said[:place]) / TEMPERATURE).softmax(-1)[word])
                expected[first, second, third] = probability * DRAWS
    assert expected.sum() == pytest.approx(DRAWS, rel=1e-4)
    assert float(((counts - expected) ** 2 / expected).sum()) < CRITICAL


def test_a_drafter_that_knows_the_target_is_never_rejected() -> None:
    logits = torch.randn(4, WORDS, generator=torch.Generator().manual_seed(5))
    chooser = Chooser(1.0, 0)
    for _ in range(50):
        weights = chooser.probabilities(logits[:3])
        draft = Draft(tuple(chooser.draw(slot) for slot in weights), drawn_from=weights)
        assert chooser.verify(draft, logits)[0] == [0, 1, 2]


def test_a_draft_the_target_would_never_say_is_never_accepted() -> None:
    logits = torch.tensor([[0.0, float("-inf"), 0.0], [0.0, 0.0, 0.0]])
    chooser = Chooser(1.0, 0)
    draft = Draft((1,), drawn_from=torch.tensor([[0.0, 1.0, 0.0]]))
    assert all(chooser.verify(draft, logits)[0] == [] and chooser.verify(draft, logits)[1] != 1 for _ in range(50))


@pytest.mark.parametrize("temperature", [-0.1, float("nan"), float("inf")])
def test_a_temperature_that_means_nothing_is_refused(temperature: float) -> None:
    with pytest.raises(BadSampling, match="greedy"):
        Chooser(temperature)
