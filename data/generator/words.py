"""Pools of names and things, and seeded draws from them. It knows words; it does not know what is said with them."""

import random
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

_POOLS = tomllib.loads(Path(__file__).with_name("words.toml").read_text(encoding="utf-8"))

FIRST_NAMES = tuple(_POOLS["first_names"].split())
CITIES = tuple(_POOLS["cities"].split())
THINGS = tuple(_POOLS["things"].split())
ADJECTIVES = tuple(_POOLS["adjectives"].split())
MODULES = tuple(_POOLS["modules"].split())
PROJECTS = tuple(_POOLS["projects"].split())

SURNAMES = tuple(_POOLS["surnames"].split())
PREFIXES = tuple(_POOLS["prefixes"].split())

_WEEKDAYS = tuple(_POOLS["weekdays"].split())


def pick(rng: random.Random, choices: Sequence[T]) -> T:
    """One of `choices`, evenly."""
    return choices[rng.randrange(len(choices))]


def some(rng: random.Random, choices: Sequence[T], low: int, high: int) -> list[T]:
    """Between `low` and `high` different ones of `choices`, in drawn order."""
    return rng.sample(list(choices), rng.randint(low, high))


def surname(rng: random.Random) -> str:
    """A surname from the pool."""
    return pick(rng, SURNAMES)


def first_name(rng: random.Random) -> str:
    """A first name from the pool."""
    return pick(rng, FIRST_NAMES)


def full_name(rng: random.Random) -> str:
    """First name and surname."""
    return f"{first_name(rng)} {surname(rng)}"


def town(rng: random.Random) -> str:
    """A city from the pool."""
    return pick(rng, CITIES)


def thing(rng: random.Random) -> str:
    """A thing one can count, in the singular."""
    return pick(rng, THINGS)


def plural(word: str) -> str:
    """The plural of a word of `THINGS`."""
    irregular = {
        "loaf": "loaves",
        "leaf": "leaves",
        "shelf": "shelves",
        "fish": "fish",
        "sheep": "sheep",
        "goose": "geese",
        "knife": "knives",
    }
    if word in irregular:
        return irregular[word]
    if word.endswith(("s", "sh", "ch", "x")) or word == "potato":
        return word + "es"
    if word.endswith("y") and word[-2] not in "aeiou":
        return word[:-1] + "ies"
    return word + "s"


def counted(count: int, word: str) -> str:
    """`1 pear`, `3 pears`."""
    return f"{count} {word if count == 1 else plural(word)}"


def article(word: str) -> str:
    """The word with `a` or `an`."""
    return f"{'an' if word[0] in 'aeiou' else 'a'} {word}"


def iso_date(rng: random.Random) -> str:
    """A date of one year, as `2026-03-14`."""
    return f"2026-{rng.randint(1, 12):02d}-{rng.randint(1, 28):02d}"


def weekday(rng: random.Random) -> str:
    """A weekday's name."""
    return pick(rng, _WEEKDAYS)


def clock(rng: random.Random) -> str:
    """A time as `09:30`."""
    return f"{rng.randint(6, 21):02d}:{pick(rng, (0, 15, 30, 45)):02d}"


def code(rng: random.Random) -> str:
    """An identifier as on a label: `KT-48`."""
    return f"{pick(rng, PREFIXES)}-{rng.randint(10, 99)}"


def email(rng: random.Random) -> str:
    """An address at a made-up host."""
    return f"{first_name(rng)}.{surname(rng)}@example.com"


def joined(words: Sequence[str]) -> str:
    """`a, b and c`."""
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1]


def lowered(sentence: str) -> str:
    """The sentence to stand after a comma: its first letter small, unless it is `I` or a name."""
    head = sentence.split(" ", 1)[0]
    keep = head.rstrip("'s") in FIRST_NAMES or head in {"I", "I'd", "I'm", "I've"} or head.isupper()
    return sentence if keep else sentence[:1].lower() + sentence[1:]
