"""With the real Qwen3 tokenizer: name its folder in MIXDOWN_QWEN3 (the folder holds tokenizer.json and the chat template)."""

import os
from pathlib import Path

import pytest

from core.chat import FastPath, Supervision, Target, supervise
from core.chat.fast import same
from tests.chat.test_fast_sources import bundled, run

FOLDER = os.environ.get("MIXDOWN_QWEN3", "")


@pytest.mark.skipif(not FOLDER, reason="MIXDOWN_QWEN3 names no folder with the Qwen3 tokenizer")
@pytest.mark.parametrize("layout", ["auto", "conversation"])
def test_the_fast_path_gives_the_slow_ones_tokens_and_masks(layout):
    target, choices = Target.load(Path(FOLDER)), Supervision(layout=layout)
    path = FastPath(target, choices)
    chats = bundled()
    made = run(path, chats)
    assert path.report.fast > 0.95 * len(chats)
    assert (path.report.encoder, path.report.invalid_since) == ("fastokens", None)
    for chat, fast in list(zip(chats, made, strict=True))[::6]:
        assert same(fast, supervise(chat, target, choices)), chat
