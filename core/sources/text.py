"""How values are written as JSON text in the library, how conversations are hashed, and what of them can be searched."""

import json
import re
from collections.abc import Iterator
from typing import Any

import orjson
import xxhash

from core.conversation import Conversation, holds_float, messages_json

_LONG_NUMBER = re.compile("[0-9]{19}")


def dumps(value: Any) -> str:
    """Compact JSON text, key order kept; lone surrogates and integers of any size survive a round trip through `loads`."""
    try:
        return orjson.dumps(value).decode()
    except (TypeError, ValueError, RecursionError):  # orjson refuses lone surrogates, long integers and foreign keys
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        if "NaN" in text or "Infinity" in text:  # null, as orjson writes them
            text = json.dumps(json.loads(text, parse_constant=lambda _: None), ensure_ascii=False, separators=(",", ":"))
        return text.encode("utf-8", "backslashreplace").decode()


def loads(text: str) -> Any:
    """The value of stored JSON text."""
    return parsed(text)[0]


def parsed(text: str | bytes, numbers: bool = True) -> tuple[Any, bool]:
    """The value of stored JSON text (or its UTF-8), and whether every text in it has a UTF-8 form.

    `numbers`: whether numbers can stand in it; only then are those looked for that are longer than 64 bits.
    """
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:  # a lone surrogate, or nested deeper than it goes
        return json.loads(text), False
    if numbers and holds_float(value) and _LONG_NUMBER.search(text if isinstance(text, str) else text.decode()):
        value = json.loads(text)  # orjson makes a float of a long integer
    return value, True


def content_hash(conversation: Conversation) -> str:
    """xxh3-128 (32 hex digits) of messages and tools as JSON with sorted keys: equal conversations have equal hashes."""
    value = {"messages": messages_json(conversation.messages), "tools": list(conversation.tools)}
    try:
        data = orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except (TypeError, ValueError, RecursionError):
        data = json.dumps(value, ensure_ascii=True, sort_keys=True, separators=(",", ":")).encode()
    return xxhash.xxh3_128_hexdigest(data)


def prompt_hash(conversation: Conversation) -> int:
    """xxh3_64 of what the user says before the first answer, white space aside; of all that precedes it where no user speaks.

    Every prompt of a conversation begins with these words, so conversations that differ in them share no prompt.
    """
    opening = []
    for message in conversation.messages:
        if message.role == "assistant":
            break
        opening.append(message)
    said = [" ".join(message.content.split()) for message in opening if message.role == "user"]
    if not any(said):
        said = [" ".join(message.content.split()) for message in opening]
    return xxhash.xxh3_64_intdigest("\n".join(said).encode("utf-8", "surrogatepass"))


def readable_text(conversation: Conversation) -> str:
    """What a person reads in it, one piece a line: contents, reasoning, and the names and values of calls."""
    return "\n".join(piece for piece in _pieces(conversation) if piece)


def search_key(text: str) -> str:
    """The form in which texts and search words are compared: lower case, and storable as UTF-8."""
    return text.lower().encode("utf-8", "replace").decode("utf-8")


def _pieces(conversation: Conversation) -> Iterator[str]:
    for message in conversation.messages:
        yield message.reasoning_content or ""
        yield message.content
        for call in message.tool_calls:
            yield call.name
            yield from _leaves(call.arguments)
    yield from conversation.pending_user_turns


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield str(key)
            yield from _leaves(item)
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(item)
    else:
        yield value if isinstance(value, str) else dumps(value)
