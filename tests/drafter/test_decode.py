"""Speculative decoding is the target's own greedy decoding, whoever drafts."""

from collections.abc import Sequence

import pytest
import torch
from torch import Tensor

from core.drafter.checkpoint import shape_for
from core.drafter.decode import ChainDrafter, decode_plain, decode_speculative
from core.drafter.model import DraftModel
from core.drafter.settings import TrainSettings
from core.drafter.target import TargetModel
from tests.drafter.conftest import BLOCK, MASK, STOP, VOCABULARY

PROMPTS = [[4, 12, 13], [5, 30, 32, 34], [6, 59, 12], [4, 40]]


class Stub:
    """Drafts from a known response: right tokens, except that every `wrong`-th is changed (0: never)."""

    layers: Sequence[int] = ()

    def __init__(self, response: Sequence[int], prompt_length: int, block_size: int, wrong: int = 0) -> None:
        self._response, self._block, self._wrong = [*response, *[0] * 50], block_size, wrong
        self._known = -prompt_length

    def extend(self, features: Tensor) -> None:
        self._known += len(features)

    def propose(self, committed: int) -> list[int]:
        assert committed == self._response[self._known]
        following = range(self._known + 1, self._known + self._block)
        return [(self._response[n] + (self._wrong > 0 and n % self._wrong == 0)) % VOCABULARY for n in following]


@pytest.mark.parametrize("prompt", PROMPTS)
def test_plain_decoding_equals_transformers_own_greedy_generation(target: TargetModel, prompt: list[int]) -> None:
    generated = target.model.generate(torch.tensor([prompt]), max_new_tokens=20, do_sample=False, eos_token_id=STOP, pad_token_id=0)
    assert list(decode_plain(target, prompt, 20, {STOP}).tokens) == generated[0, len(prompt) :].tolist()


@pytest.mark.parametrize("prompt", PROMPTS)
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("limit", [1, 2, 30])
def test_a_random_drafter_changes_nothing(target: TargetModel, prompt: list[int], seed: int, limit: int) -> None:
    shape = shape_for(target, TrainSettings(block_size=BLOCK, mask_token_id=MASK, layers=2, target_layers=(0, 2, 3)))
    drafter = ChainDrafter(DraftModel(shape, seed), target.ends)
    assert decode_speculative(target, drafter, prompt, limit, {STOP}).tokens == decode_plain(target, prompt, limit, {STOP}).tokens


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


def test_drafting_with_a_growing_context_equals_drafting_from_the_whole(target: TargetModel) -> None:
    shape = shape_for(target, TrainSettings(block_size=BLOCK, mask_token_id=MASK, layers=2))
    model = DraftModel(shape, 5)
    ids = [4, 12, 13, 14, 15, 16, 17]
    states = torch.cat(target.hidden_states(torch.tensor([ids]), shape.target_layers), -1)[0]
    whole, grown = ChainDrafter(model, target.ends), ChainDrafter(model, target.ends)
    whole.extend(states)
    for start, end in ((0, 3), (3, 4), (4, 7)):
        grown.extend(states[start:end])
    assert whole.propose(18) == grown.propose(18)
