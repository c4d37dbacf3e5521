"""The bundled sources go the fast way, all but a few rows, and come out as by the slow one; so do long traces of no known kind."""

import random
from functools import cache
from pathlib import Path

import pytest

from core.chat import FastPath, Supervision, supervise
from core.chat.fast import same
from core.conversation import Conversation, Message, ToolCall
from core.dialects import convert
from core.sources import read_rows
from tests.chat.test_forgery import TOOL

SOURCES = Path(__file__).parents[2] / "data" / "sources"
BATCH = 256


@cache
def bundled() -> list[Conversation]:
    """Every kept conversation of the bundled sources."""
    folders = sorted(path for path in SOURCES.iterdir() if path.is_dir())
    kept = (outcome.conversation for folder in folders for outcome in convert(read_rows(folder)) if outcome.status == "kept")
    return [conversation for conversation in kept if conversation is not None]


def run(path: FastPath, chats: list[Conversation]):
    return [made for start in range(0, len(chats), BATCH) for made in path.supervise_batch(chats[start : start + BATCH])]


@pytest.mark.parametrize("name", ["demo", "qwen3.6"])
def test_more_than_95_of_100_bundled_rows_go_fast_and_those_looked_at_are_equal(name, targets):
    target, path = targets(name), FastPath(targets(name), Supervision())
    chats = bundled()
    made = run(path, chats)
    assert path.report.fast > 0.95 * len(chats)
    assert path.report.invalid_since is None and path.report.reasons == []
    for chat, fast in list(zip(chats, made, strict=True))[::5]:
        assert same(fast, supervise(chat, target, Supervision())), chat


@pytest.mark.parametrize("name", ["demo", "qwen3.6"])
@pytest.mark.parametrize(
    "choices",
    [
        Supervision(supervise="content", layout="conversation", thinking="default"),
        Supervision(supervise="boundary", layout="turn", thinking="default"),
        Supervision(turns="last", thinking="off", overlong="keep_last_turns", seq_length=300),
        Supervision(reasoning=False, tool_calls=False, overlong="drop", seq_length=500),
    ],
    ids=["content", "boundary", "last", "parts"],
)
def test_bundled_rows_are_equal_under_other_choices(name, choices, targets):
    target, path = targets(name), FastPath(targets(name), choices)
    chats = bundled()[::2]
    for place, (chat, fast) in enumerate(zip(chats, run(path, chats), strict=True)):
        if place % 23 == 0:
            assert same(fast, supervise(chat, target, choices)), chat
    assert path.report.invalid_since is None


def trace(rng: random.Random) -> Conversation:
    """An agent's session of 1 to 6 steps in 1 to 3 exchanges: hardly two of the same kind."""
    messages = [Message("system", "Be brief.")] if rng.random() < 0.5 else []
    for _ in range(rng.randint(1, 3)):
        messages.append(Message("user", f"Task {rng.random()}"))
        for step in range(rng.randint(1, 6)):
            calls = tuple(ToolCall(f"c{step}{n}", "tide", {"port": f"p{rng.random()}"}) for n in range(rng.randint(1, 2)))
            messages.append(Message("assistant", rng.choice(["", "Look."]), rng.choice([None, f"Why {rng.random()}"]), calls))
            messages += [Message("tool", f"{rng.random()}", tool_call_id=call.id, name="tide") for call in calls]
        messages.append(Message("assistant", f"Done {rng.random()}", rng.choice([None, "So."])))
    return Conversation(tuple(messages), (TOOL,), row_id=str(rng.random()))


@pytest.mark.parametrize("name", ["demo", "qwen3.6", "harmony"])
def test_long_traces_go_fast_once_their_turns_are_known(name, targets):
    target, choices = targets(name), Supervision(seq_length=100_000)
    rng = random.Random(name)
    path = FastPath(target, choices)
    chats = [trace(rng) for _ in range(70)]
    made = [path.supervise_batch([chat])[0] for chat in chats[:50]]
    before = path.report.fast
    made += path.supervise_batch(chats[50:])
    assert path.report.fast - before >= 14
    for chat, fast in zip(chats[50:], made[50:], strict=True):
        assert same(fast, supervise(chat, target, choices)), chat
    assert path.report.invalid_since is None
