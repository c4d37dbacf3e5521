"""What a dialect is: a name, the signature that shows it in a row, and the reading of such a row.

It knows the outline of a row that signatures ask about, no dialect in particular.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from core.dialects.draft import Draft, RawRecord
from core.dialects.handling import Handling
from core.dialects.messages import CONTENT_KEYS, ROLE_KEYS

TURN_LISTS = ("messages", "conversations", "conversation", "dialogue", "dialog", "chat", "trajectory", "turns", "history")
"""Columns that may hold a list of turns, the likeliest first."""


_ASKING = frozenset(("instruction", "prompt", "question", "query", "input"))


def turn_columns(record: RawRecord) -> list[str]:
    """The row's columns that may hold its turns; a history beside a question of its own holds only the earlier ones."""
    return [key for key in TURN_LISTS if key in record and (key != "history" or not _ASKING & record.keys())]


class Outline:
    """What can be asked about a row's shape without converting it; computed when asked, once."""

    def __init__(self, record: RawRecord) -> None:
        self.record = record
        self.keys = frozenset(record)

    @cached_property
    def turns_key(self) -> str | None:
        """The column with a list of objects that are turns."""
        for key in turn_columns(self.record):
            value = self.record[key]
            if isinstance(value, list) and any(isinstance(item, dict) for item in value):
                return key
        return None

    @cached_property
    def turns(self) -> list[dict[str, Any]]:
        """The turns that are objects."""
        return [item for item in self.record[self.turns_key] if isinstance(item, dict)] if self.turns_key else []

    @cached_property
    def turn_keys(self) -> frozenset[str]:
        """All keys of all turns."""
        return frozenset().union(*self.turns)

    @cached_property
    def roles(self) -> frozenset[str]:
        """All role names, in lower case."""
        keys = [key for key in ROLE_KEYS if key in self.turn_keys]
        names = {name for item in self.turns for key in keys if isinstance(name := item.get(key), str)}
        return frozenset(name.strip().lower() for name in names)

    @cached_property
    def texts(self) -> list[str]:
        """Every turn's content that is text."""
        keys = [key for key in CONTENT_KEYS if key in self.turn_keys]
        return [text for item in self.turns for key in keys if isinstance(text := item.get(key), str)]

    def mentions(self, text: str) -> bool:
        """Whether a turn's content holds the text."""
        return any(text in content for content in self.texts)

    def is_text(self, *keys: str) -> bool:
        """Whether all these columns are text."""
        return all(isinstance(self.record.get(key), str) for key in keys)


@dataclass(frozen=True)
class Dialect:
    """One raw shape. `columns` looks at column names only, `matches` at the values; `signature` says both in words."""

    name: str
    title: str
    signature: str
    columns: Callable[[frozenset[str]], bool]
    matches: Callable[[Outline], bool]
    convert: Callable[[RawRecord, Handling], Draft]
    gathers: bool = False
    """Whether a conversation is made of several rows, so that all must be seen first."""


def has_turn_list(keys: frozenset[str]) -> bool:
    """Whether a column is named as lists of turns are."""
    return any(key in keys for key in TURN_LISTS)
