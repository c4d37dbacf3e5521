"""Dense exercises for training alone: many values copied or many sums added in one short row. No shipped row is like them.

A tool call spends most of its tokens on schemas; a drill spends them on what is hard for a small model. It knows no tools.
"""

import random
from collections.abc import Callable

from core.conversation import Conversation, Message, ToolCall
from data.generator import words
from data.generator.toolbox import draw, shown
from data.generator.words import pick

_KINDS = ("person", "name", "city", "product", "code", "date", "email", "path", "title", "word", "item", "count", "amount", "time", "food")
_KEYS = (
    "name",
    "city",
    "product",
    "code",
    "date",
    "to",
    "path",
    "title",
    "label",
    "item",
    "count",
    "amount",
    "time",
    "customer",
    "subject",
)


def _answered(ask: str, answer: Message) -> Conversation:
    return Conversation((Message("user", ask), answer))


def sums(rng: random.Random) -> Conversation:
    """Four to eight sums in a row."""
    pairs = [(rng.randint(2, 49 if rng.random() < 0.7 else 98), rng.randint(2, 49)) for _ in range(rng.randint(4, 8))]
    ask = pick(rng, ("Add these: {}.", "Calculate {}.", "What is {}?")).format(", ".join(f"{a} + {b}" for a, b in pairs))
    return _answered(ask, Message("assistant", ", then ".join(f"{a} + {b} = {a + b}" for a, b in pairs) + "."))


def copies(rng: random.Random) -> Conversation:
    """Several values written again, one on each line or in a sentence."""
    values = [shown(draw(rng, pick(rng, _KINDS))) for _ in range(rng.randint(2, 6))]
    ask = pick(rng, ("Write each on its own line: {}", "Repeat these: {}", "Copy: {}", "{} Say that again, line by line.")).format(
        "; ".join(values)
    )
    return _answered(ask, Message("assistant", "\n".join(values) if rng.random() < 0.7 else "The values are " + ", ".join(values) + "."))


def call(rng: random.Random) -> Conversation:
    """One or two calls of invented functions with two to five named values."""
    parts, calls = [], []
    for number in range(rng.choice((1, 1, 2))):
        function = f"{pick(rng, ('get', 'set', 'find', 'add', 'send'))}_{pick(rng, words.MODULES)}"
        keys = rng.sample(_KEYS, rng.randint(2, 5))
        arguments = {key: draw(rng, pick(rng, _KINDS)) for key in keys}
        parts.append(f"{function} with " + ", ".join(f"{key} {shown(value)}" for key, value in arguments.items()))
        calls.append(ToolCall(f"call_{number}", function, dict(arguments)))
    ask = pick(rng, ("Call {}.", "Please call {}.", "Use {}.")).format(" and then ".join(parts))
    return _answered(ask, Message("assistant", tool_calls=tuple(calls)))


def names(rng: random.Random) -> Conversation:
    """Who has what: the names and numbers of a sentence come back in another order."""
    people = rng.sample(words.FIRST_NAMES, rng.randint(2, 4))
    things = [(person, rng.randint(2, 60), words.thing(rng)) for person in people]
    ask = ", ".join(f"{person} has {words.counted(n, thing)}" for person, n, thing in things) + ". "
    rng.shuffle(things)
    ask += "Say it again, beginning with " + words.joined([person for person, _, _ in things]) + "."
    return _answered(ask, Message("assistant", " ".join(f"{person} has {words.counted(n, thing)}." for person, n, thing in things)))


DRILLS: tuple[Callable[[random.Random], Conversation], ...] = (sums, sums, copies, call, call, names)


def drill(rng: random.Random) -> Conversation:
    """One drill; sums and calls most often."""
    return pick(rng, DRILLS)(rng)
