"""Looking at a long conversation in pieces gives what the plain encoder gives, or is not done."""

import sys
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings

from core.chat import Supervision, explain_rows, supervise
from core.chat.encoding import TokenizerEncoder
from tests.chat.conversations import conversations
from tests.chat.test_supervision import CHAT

module = sys.modules["core.chat.explain"]  # the package gives this name to the function


@pytest.mark.parametrize("name", ["qwen3.6", "demo", "llama3", "mistral", "harmony", "gemma"])
def test_rows_seen_in_pieces_are_the_rows_that_are_made(name, targets, monkeypatch):
    monkeypatch.setattr(module, "_LONG", 0)
    target = targets(name)

    @settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
    @given(conversations())
    def check(conversation):
        made, seen = supervise(conversation, target, Supervision()), explain_rows(conversation, target, Supervision())
        assert seen.dropped == made.dropped
        assert [row.made.input_ids.tolist() for row in seen.rows] == [row.input_ids.tolist() for row in made.rows]
        assert [[token.trainable for token in row.tokens] for row in seen.rows] == [row.loss_mask.tolist() for row in made.rows]

    check()


def test_a_tokenizer_that_looks_past_added_tokens_is_asked_for_the_whole(targets, monkeypatch):
    class Looking(TokenizerEncoder):
        def __init__(self, plain):
            self.__dict__.update(plain.__dict__)

        def encode(self, text):
            return [0, *super().encode(text)]

    monkeypatch.setattr(module, "_LONG", 0)
    plain = targets("qwen2.5")
    assert module._quick(CHAT, plain) is plain.piecewise
    looking = replace(plain, encoder=Looking(plain.encoder))
    assert module._quick(CHAT, looking) is looking
