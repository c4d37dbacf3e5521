"""The endless stream of conversations the demo target is trained on, in fixed shares by kind.

Shipped rows come from the same kinds with other seeds. It knows nothing of templates or tokens.
"""

import random
from collections.abc import Callable, Iterator

from core.conversation import Conversation, Message
from data.generator import arithmetic, calls, edits, facts, functions, trajectories


def small_talk(rng: random.Random) -> Conversation:
    """Greeting, a liking, a question back."""
    turns = edits.greeted(rng)
    return Conversation(tuple(Message(role, text) for ask, answer in turns for role, text in (("user", ask), ("assistant", answer))))


def copying(rng: random.Random) -> Conversation:
    """Copy tasks alone."""
    return edits.talk(rng, (0.1, 0.2, 0.7, 0.0))


SHARES: tuple[tuple[Callable[[random.Random], Conversation], float], ...] = (
    (facts.single, 0.1),
    (facts.several, 0.07),
    (arithmetic.single, 0.17),
    (functions.single, 0.1),
    (functions.explained, 0.04),
    (edits.talk, 0.1),
    (copying, 0.08),
    (small_talk, 0.02),
    (calls.any_talk, 0.25),
    (trajectories.trajectory, 0.05),
    (trajectories.spoken, 0.02),
)
"""Kinds and their shares of conversations."""


def conversations(seed: str) -> Iterator[Conversation]:
    """Conversations without end; the same seed gives the same stream."""
    rng = random.Random(seed)
    kinds, weights = zip(*SHARES, strict=True)
    while True:
        yield rng.choices(kinds, weights)[0](rng)
