"""Values written as text: JSON first, then Python literals, read by a parser and never by replacing quotes.

Where JSON words stand in a Python literal (`{'a': true}`) both are understood. It does not know calls or tools.
"""

import ast
import json
import math
import warnings
from typing import Any, Literal, TypeAlias

Notation: TypeAlias = Literal["json", "python"]

LONGEST_PYTHON = 2_000_000
"""Characters; the syntax tree of a longer text would cost too much memory."""


_MOST_ENCODINGS = 4


class NotALiteral(ValueError):
    """Text that is neither JSON nor a Python literal."""


_JSON = json.JSONDecoder(strict=False)
_WORDS = {"true": True, "false": False, "null": None, "True": True, "False": False, "None": None}
_NUMBERS = {"NaN": math.nan, "nan": math.nan, "Infinity": math.inf, "inf": math.inf}
_AROUND = " \t\r\n\ufeff"
"""What may stand around a value: JSON's own spaces and a byte order mark."""


def parse_json(text: str) -> Any:
    """The JSON value that the whole text is; line breaks inside strings and Python's `NaN` are allowed. Raises `NotALiteral`."""
    try:
        return _JSON.decode(text.strip(_AROUND))
    except ValueError as error:
        raise NotALiteral(str(error)) from None


def parse(text: str) -> tuple[Any, Notation]:
    """The value that the text is, as JSON or else as a Python literal. Raises `NotALiteral`."""
    try:
        return parse_json(text), "json"
    except NotALiteral:
        return parse_python(text), "python"


def decoded_again(value: Any) -> Any:
    """What a value is that may be text of text of it; None for blank text. Raises `NotALiteral`."""
    for _ in range(_MOST_ENCODINGS):
        if not isinstance(value, str):
            break
        value = parse(value)[0] if value.strip() else None
    return value


def parse_python(text: str) -> Any:
    """The value of a Python literal of JSON's types (tuples become lists). Raises `NotALiteral`."""
    if len(text) > LONGEST_PYTHON:
        raise NotALiteral("too long for a Python literal")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _value(ast.parse(text.strip(_AROUND), mode="eval").body)
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        raise NotALiteral(f"neither JSON nor a Python literal ({type(error).__name__})") from None


def parse_many(text: str) -> list[Any]:
    """Values one after the other, separated by spaces, line breaks or commas. Raises `NotALiteral`."""
    values: list[Any] = []
    position, end = 0, len(text)
    while True:
        while position < end and text[position] in " \t\r\n,;":
            position += 1
        if position >= end:
            return values
        value, position = decode_at(text, position)
        values.append(value)


def decode_at(text: str, position: int) -> tuple[Any, int]:
    """The JSON value that begins at `position`, and where it ends. Raises `NotALiteral`."""
    try:
        return _JSON.raw_decode(text, position)
    except ValueError as error:
        raise NotALiteral(str(error)) from None


def _value(node: ast.expr) -> Any:
    if isinstance(node, ast.Constant) and (node.value is None or isinstance(node.value, str | bool | int | float)):
        return node.value
    if isinstance(node, ast.Name) and node.id in _WORDS:
        return _WORDS[node.id]
    if isinstance(node, ast.Name) and node.id in _NUMBERS:
        return _NUMBERS[node.id]
    if isinstance(node, ast.List | ast.Tuple):
        return [_value(item) for item in node.elts]
    if isinstance(node, ast.Dict):
        return {_key(key): _value(item) for key, item in zip(node.keys, node.values, strict=True)}
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        number = _value(node.operand)
        if isinstance(number, int | float) and not isinstance(number, bool):
            return -number if isinstance(node.op, ast.USub) else number
    raise ValueError(f"{type(node).__name__} is not a literal")


def _key(node: ast.expr | None) -> str:
    key = None if node is None else _value(node)
    if isinstance(key, str):
        return key
    if isinstance(key, int) and not isinstance(key, bool):
        return str(key)
    raise ValueError("a key that JSON cannot hold")
