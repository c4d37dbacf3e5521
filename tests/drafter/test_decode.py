"""Speculative decoding is the target's own greedy decoding, whoever drafts."""

from collections.abc import Sequence

import pytest
import torch
from torch import Tensor

from core.drafter.checkpoint import shape_for
from core.drafter.decode import decode_plain, decode_speculative
from core.drafter.drafts import Draft, Round
from core.drafter.model import DraftModel
from core.drafter.proposers import ChainDrafter, DrafterSource, PromptLookup, TreeDrafter
from core.drafter.sampling import Chooser
from core.drafter.sessions import TransformersSession
from core.drafter.settings import TrainSettings
from core.drafter.target import TargetModel
from tests.drafter.conftest import BLOCK, MASK, STOP, VOCABULARY

PROMPTS = [[4, 12, 13], [5, 30, 32, 34], [6, 59, 12], [4, 40]]


class Stub:
    """Drafts from a known response: right tokens, except that every `wrong`-th is changed (0: never)."""

    layers: Sequence[int] = ()

    def __init__(self, response: Sequence[int], prompt_length: int, block_size: int, wrong: int = 0) -> None:
        self._response, self._block, self._wrong = [*response, *[0] * 50], block_size, wrong
        self._prompt, self._settled = prompt_length, 0

    def extend(self, tokens: Sequence[int], features: Tensor) -> None:
        assert len(tokens) == len(features)
        known = self._settled - self._prompt
        assert known < 0 or list(tokens) == self._response[known : known + len(tokens)]
        self._settled += len(tokens)

    def propose(self, committed: int) -> Draft:
        known = self._settled - self._prompt
        assert committed == self._response[known]
        following = range(known + 1, known + self._block)
        return Draft(tuple((self._response[n] + (self._wrong > 0 and n % self._wrong == 0)) % VOCABULARY for n in following))


class Branching(Stub):
    """Drafts a tree whose right tokens come after wrong siblings, so that the accepted path has gaps."""

    def propose(self, committed: int) -> Draft:
        right = super().propose(committed).tokens
        tokens, parents, last = [], [], -1
        for token in right:
            tokens += [(token + 1) % VOCABULARY, (token + 2) % VOCABULARY, token]
            parents += [last] * 3
            last = len(tokens) - 1
        return Draft(tuple(tokens), tuple(parents))


@pytest.mark.parametrize("prompt", PROMPTS)
def test_plain_decoding_equals_transformers_own_greedy_generation(target: TargetModel, prompt: list[int]) -> None:
    generated = target.model.generate(torch.tensor([prompt]), max_new_tokens=20, do_sample=False, eos_token_id=STOP, pad_token_id=0)
    assert list(decode_plain(target, prompt, 20, {STOP}).tokens) == generated[0, len(prompt) :].tolist()


@pytest.mark.parametrize("prompt", PROMPTS)
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("limit", [1, 2, 30])
def test_a_random_drafter_changes_nothing(target: TargetModel, prompt: list[int], seed: int, limit: int) -> None:
    shape = shape_for(target, TrainSettings(block_size=BLOCK, mask_token_id=MASK, layers=2, target_layers=(0, 2, 3)))
    source = DrafterSource(DraftModel(shape, seed), target)
    plain = decode_plain(target, prompt, limit, {STOP}).tokens
    for drafter in (ChainDrafter(source.start()), TreeDrafter(source.start(), 8), TreeDrafter(source.start(), 40), PromptLookup(4)):
        assert decode_speculative(target, drafter, prompt, limit, {STOP}).tokens == plain


@pytest.mark.parametrize("lean", [True, False])
def test_a_path_through_a_tree_with_gaps_is_kept_right(target: TargetModel, lean: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = decode_plain(target, PROMPTS[0], 29, ())
    if not lean:
        monkeypatch.setattr(TargetModel, "start", lambda *given: TransformersSession(*given))  # noqa: PLW0108 - a class does not bind
    seen: list[Round] = []
    decoded = decode_speculative(target, Branching(plain.tokens, 3, 8), PROMPTS[0], 25, (), look=seen.append)
    assert decoded.tokens == plain.tokens[:25]
    assert decoded.rounds == (8, 8, 8)
    assert seen[0].accepted == (2, 5, 8, 11, 14, 17, 20) and seen[0].gained == plain.tokens[1:9]
    nodes = seen[1].to_json()["nodes"]
    assert [node["token"] for node in nodes if node["accepted"]] == list(plain.tokens[9:16])
    assert [node["depth"] for node in nodes[:4]] == [1, 1, 1, 2]


def test_a_perfect_drafter_is_accepted_whole(target: TargetModel) -> None:
    plain = decode_plain(target, PROMPTS[0], 29, ())
    decoded = decode_speculative(target, Stub(plain.tokens, 3, 8), PROMPTS[0], 25, ())
    assert decoded.tokens == plain.tokens[:25]
    assert decoded.rounds == (8, 8, 8)


def test_a_drafter_that_errs_is_accepted_up_to_the_error(target: TargetModel) -> None:
    plain = decode_plain(target, PROMPTS[0], 40, ())
    decoded = decode_speculative(target, Stub(plain.tokens, 3, 8, wrong=3), PROMPTS[0], 25, ())
    assert decoded.tokens == plain.tokens[:25]
    assert set(decoded.rounds) == {3}


def test_decoding_ends_at_the_stop_token_even_inside_a_round(target: TargetModel) -> None:
    free = decode_plain(target, PROMPTS[1], 30, ())
    stop = free.tokens[5]
    assert stop not in free.tokens[:5]
    decoded = decode_speculative(target, Stub(free.tokens, 4, 8), PROMPTS[1], 30, {stop})
    assert decoded.tokens == free.tokens[:6] == decode_plain(target, PROMPTS[1], 30, {stop}).tokens
    assert decoded.rounds == (5,)


def test_drawn_responses_repeat_with_their_seed_and_differ_without(target: TargetModel) -> None:
    shape = shape_for(target, TrainSettings(block_size=BLOCK, mask_token_id=MASK, layers=2))
    source = DrafterSource(DraftModel(shape, 0), target)

    def draw(seed: int, tree: bool) -> tuple[int, ...]:
        chooser = Chooser(2.0, seed)
        drafter = TreeDrafter(source.start(), 8) if tree else ChainDrafter(source.start(), chooser)
        return decode_speculative(target, drafter, PROMPTS[0], 20, (), chooser).tokens

    for tree in (False, True):
        assert draw(3, tree) == draw(3, tree)
        assert len({draw(seed, tree) for seed in range(4)}) == 4
