"""The columns an imported source has on disk, and the step between them and conversations.

It knows what is stored of a row. It does not know files or queries.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import pyarrow as pa

from core.conversation import Conversation, Stored, Tool
from core.dialects import Outcome
from core.sources.parts import Group
from core.sources.text import content_hash, dumps, loads, parsed, prompt_hash, readable_text, search_key

INDEX = Group(
    "index",
    pa.schema(
        [
            ("row", pa.int64()),
            ("position", pa.int64()),
            ("row_id", pa.string()),
            ("content_hash", pa.string()),
            ("prompt_hash", pa.uint64()),
            ("status", pa.string()),
            ("dialect", pa.string()),
            ("turns", pa.int32()),
            ("assistant_turns", pa.int32()),
            ("chars", pa.int64()),
            ("has_system", pa.bool_()),
            ("has_tools", pa.bool_()),
            ("has_reasoning", pa.bool_()),
            ("tool_calls", pa.int32()),
            ("repairs", pa.list_(pa.string())),
        ]
    ),
)
"""What is known of each kept or prompt-only row without opening it: `row` is its number in the library, `position` that of
its (first) raw row in the origin, `turns` its messages without system ones, `chars` the characters of what can be read in it."""

CONVERSATIONS = Group("conversations", pa.schema([("messages", pa.string()), ("tools", pa.string()), ("pending", pa.string())]))
"""JSON text, because two tools with different parameters cannot share one Arrow struct without nulls leaking into prompts."""

SEARCH = Group("search", pa.schema([("text", pa.string())]))
"""What a person reads in the row, in the form search words are compared in."""

RAW = Group("raw", pa.schema([("raw", pa.string())]), compressed=True)
"""The raw row as JSON text."""

QUARANTINE = Group(
    "quarantine",
    pa.schema(
        [("position", pa.int64()), ("reason", pa.string()), ("field", pa.string()), ("detail", pa.string()), ("excerpt", pa.string())]
    ),
)
QUARANTINE_RAW = Group("quarantine_raw", RAW.schema, compressed=True)

KEPT_GROUPS = (INDEX, CONVERSATIONS, SEARCH, RAW)
QUARANTINE_GROUPS = (QUARANTINE, QUARANTINE_RAW)

_NUMBERS = b'"tool_calls"'
"""Only the arguments of calls can hold a number, and so one that is too long."""
_SHARED = 16 * 1024
"""Bytes of tools up to which they are kept for the next rows: an agent's lists of 100 KB are seldom offered twice."""
_EXCERPT = 300
_RAW_LIMIT = 1024 * 1024
"""Characters of a quarantined raw row that are kept; the whole row stays in the origin."""


@dataclass(frozen=True)
class StoredRow:
    """One row with everything that is known of it. `raw` is the JSON value it was made from."""

    conversation: Conversation
    raw: Any
    dialect: str | None
    repairs: tuple[str, ...]
    status: str
    position: int


def kept_record(row: int, source: str, outcome: Outcome, conversation: Conversation) -> dict[str, Any]:
    """The columns of `KEPT_GROUPS` for an outcome with a conversation. Raises ValueError for what JSON cannot hold."""
    text = readable_text(conversation)
    roles = [message.role for message in conversation.messages]
    return {
        "row": row,
        "position": outcome.row,
        "row_id": row_id(source, outcome.row),
        "content_hash": content_hash(conversation),
        "prompt_hash": prompt_hash(conversation),
        "status": outcome.status,
        "dialect": outcome.dialect,
        "turns": len(roles) - roles.count("system"),
        "assistant_turns": roles.count("assistant"),
        "chars": len(text),
        "has_system": "system" in roles,
        "has_tools": bool(conversation.tools),
        "has_reasoning": any(message.reasoning_content for message in conversation.messages),
        "tool_calls": sum(len(message.tool_calls) for message in conversation.messages),
        "repairs": list(dict.fromkeys(outcome.repairs)),
        "messages": dumps([message.to_json() for message in conversation.messages]),
        "tools": dumps(list(conversation.tools)) if conversation.tools else None,
        "pending": dumps(list(conversation.pending_user_turns)) if conversation.pending_user_turns else None,
        "text": search_key(text),
        "raw": dumps(outcome.raw),
    }


def quarantine_record(outcome: Outcome) -> dict[str, Any]:
    """The columns of `QUARANTINE_GROUPS`: the reason in full, the raw row as far as a person can use it."""
    raw = dumps(outcome.raw)
    readable = outcome.raw if isinstance(outcome.raw, str) else raw
    return {
        "position": outcome.row,
        "reason": outcome.reason or "unknown",
        "field": _storable(outcome.field),
        "detail": _storable(outcome.detail),
        "excerpt": _storable(readable[:_EXCERPT]),
        "raw": raw if len(raw) <= _RAW_LIMIT else dumps(raw[:_RAW_LIMIT]),
    }


def _storable(text: str | None) -> str | None:
    return None if text is None else text.encode("utf-8", "replace").decode("utf-8")


def row_id(source: str, position: int) -> str:
    """The name of a row that stays the same whenever the same origin is imported: `source:position`."""
    return f"{source}:{position}"


def conversation_of(record: dict[str, Any], source: str, name: str) -> Conversation:
    """The conversation of a `CONVERSATIONS` record; `name` is its row_id."""
    messages, tools, pending = (None if record[name] is None else record[name].encode() for name in CONVERSATIONS.schema.names)
    return stored_of(messages, tools, pending, source, name).conversation


def stored_of(messages: bytes | None, tools: bytes | None, pending: bytes | None, source: str, name: str) -> Stored:
    """A conversation from the UTF-8 of its `CONVERSATIONS` columns; `name` is its row_id."""
    written = messages or b"[]"
    value, clean = parsed(written, numbers=_NUMBERS in written)
    offered, also_clean = ([], True) if not tools else _offered(tools) if len(tools) <= _SHARED else parsed(tools)
    asked: list[str] = loads(pending.decode()) if pending else []
    return Stored(value, offered, (written, tools or b"") if clean and also_clean else (b"", b""), asked, source, name)


@lru_cache(256)
def _offered(tools: bytes) -> tuple[list[Tool], bool]:
    """`parsed` of a column of tools: many rows offer the same ones, and nobody changes them."""
    return parsed(tools)
