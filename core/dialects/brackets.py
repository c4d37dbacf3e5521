"""Calls as ToolACE writes them: `[Get Tide(port="Brest"), Other.Name/v2(ids=[1, 2])]`, the whole turn.

Names may hold spaces, dots and slashes; values are JSON or Python literals. It does not know which tools exist.
"""

from collections.abc import Collection

from core.conversation import JSONObject
from core.dialects.characters import clean_json
from core.dialects.draft import Call
from core.dialects.handling import Handling
from core.dialects.literals import NotALiteral, parse

_CLOSING = {"(": ")", "[": "]", "{": "}"}


def looks_like_calls(text: str, names: Collection[str] = ()) -> bool:
    """Whether the whole turn is in brackets and has a name with parentheses in it, or begins to call one of the names."""
    text = text.strip()
    if not text.startswith("["):
        return False
    whole = text.endswith("]") and ")" in text and text.find("(") > 1 and text[1:2] not in "\"'{[("
    return whole or called_name(text) in names


def called_name(text: str) -> str:
    """What stands between the opening bracket and the first parenthesis, "" where there is no such thing."""
    name, parenthesis, _ = text.strip()[1:].partition("(")
    return name.strip() if parenthesis else ""


def read_brackets(text: str, handling: Handling) -> list[Call]:
    """The calls of a turn in brackets. Raises `NotALiteral` where it is not exactly that."""
    body = text.strip()
    if not looks_like_calls(body):
        raise NotALiteral("no call in brackets")
    return [_call(piece, handling) for piece in _pieces(body[1:-1], ",;")]


def _call(text: str, handling: Handling) -> Call:
    name, opening, rest = text.partition("(")
    if not opening or not rest.endswith(")") or not name.strip():
        raise NotALiteral("no call in brackets")
    arguments: JSONObject = {}
    for piece in _pieces(rest[:-1], ","):
        key, equals, value = piece.partition("=")
        key = key.strip().strip("\"'")
        if not equals or not key:
            raise NotALiteral("an argument without a name")
        arguments[key] = clean_json(parse(value)[0], handling)
    return Call(name.strip(), arguments)


def _pieces(text: str, separators: str) -> list[str]:
    """The parts between separators that stand in no string and no inner bracket, stripped, empty ones left out."""
    pieces: list[str] = []
    waiting: list[str] = []
    quote = ""
    start = 0
    index = 0
    while index < len(text):
        char = text[index]
        if quote:
            if char == "\\":
                index += 1
            elif char == quote:
                quote = ""
        elif char in "\"'" and _begins_string(text, index):
            quote = char
        elif char in _CLOSING:
            waiting.append(_CLOSING[char])
        elif waiting and char == waiting[-1]:
            waiting.pop()
        elif char in separators and not waiting:
            pieces.append(text[start:index].strip())
            start = index + 1
        index += 1
    if quote or waiting:
        raise NotALiteral("an open bracket or string")
    pieces.append(text[start:].strip())
    return [piece for piece in pieces if piece]


def _begins_string(text: str, index: int) -> bool:
    """Whether the quote begins a string: an apostrophe inside a name (`Driver's Log`) does not."""
    return index == 0 or not text[index - 1].isalnum()
