"""Every template over every bundled source: rendered as transformers does, and masked by the fast path as by the slow one.

MIXDOWN_CHAT_ROWS says how many conversations, spread evenly over all sources (60 by default; more than there are takes all).
"""

import os
from functools import cache

import pytest

from core.chat import FastPath, Supervision, TemplateRefused, supervise
from core.chat.fast import same
from core.conversation import Conversation
from tests.chat.conftest import ALL
from tests.chat.test_fast_sources import bundled, run

ROWS = int(os.environ.get("MIXDOWN_CHAT_ROWS", "60"))
CHOICES = {
    "default": Supervision(),
    "content": Supervision(supervise="content", layout="conversation", thinking="default"),
    "parts": Supervision(reasoning=False, tool_calls=False, special_tokens="as_text", overlong="keep_last_turns", seq_length=600),
}


@cache
def spread() -> list[Conversation]:
    chats = bundled()
    return chats if len(chats) <= ROWS else [chats[place * len(chats) // ROWS] for place in range(ROWS)]


@pytest.mark.parametrize("name", ALL)
def test_bundled_rows_are_rendered_to_the_bytes_of_transformers(name, targets, reference):
    template = targets(name).template
    for chat in spread():
        for prompt in (False, True):
            try:
                text = template.render(chat, add_generation_prompt=prompt)
            except TemplateRefused:
                text = None
            assert text == reference(name, chat, add_generation_prompt=prompt), chat


@pytest.mark.parametrize("choices", CHOICES.values(), ids=CHOICES.keys())
@pytest.mark.parametrize("name", ALL)
def test_bundled_rows_are_masked_as_by_the_slow_path(name, choices, targets):
    target, path = targets(name), FastPath(targets(name), choices)
    for chat, fast in zip(spread(), run(path, spread()), strict=True):
        assert same(fast, supervise(chat, target, choices)), chat
    assert path.report.invalid_since is None
