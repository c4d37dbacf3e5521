"""Structured tool calls of any shape: OpenAI's, flat ones, legacy ones, JSON text. Arguments always end as an object.

It knows one call and its arguments, not which result belongs to it.
"""

from typing import Any

from core.conversation import JSONObject
from core.dialects.characters import NotJSON, clean_json
from core.dialects.draft import Call
from core.dialects.handling import Handling, Quarantined
from core.dialects.literals import NotALiteral, decoded_again, parse, parse_many

_NAMES = ("name", "tool_name", "function_name")
_ARGUMENTS = ("arguments", "parameters", "args", "input", "tool_input")


def read_calls(value: Any, handling: Handling, field: str) -> list[Call]:
    """The calls of a message's `tool_calls`: a list, one call, or the JSON text of either. Raises `Quarantined`."""
    if isinstance(value, str):
        value = _decoded_calls(value, handling, field)
    if isinstance(value, dict):
        value = [value]
    if value is None:
        return []
    if not isinstance(value, list):
        raise Quarantined("bad_tool_calls", f"tool calls of type {type(value).__name__}", field)
    return [_read_call(item, handling, f"{field}[{index}]") for index, item in enumerate(value) if not _nothing(item)]


def _nothing(value: Any) -> bool:
    """Whether it is the null, or the object of nulls, that a column store writes where there is no call."""
    if isinstance(value, dict):
        return all(item is None or (item != {} and _nothing(item)) for item in value.values())
    return value is None


def call_in_text(value: Any, handling: Handling, field: str) -> Call | None:
    """The call that a value parsed from text is, if it has a name and arguments; its dialect gives no ids."""
    if isinstance(value, dict) and isinstance(value.get("function"), dict):
        value = value["function"]
    if not isinstance(value, dict):
        return None
    name = _name(value)
    key = next((key for key in _ARGUMENTS if key in value), None)
    if name is None or (key is None and value.keys() - {"name", "id", "type"}):
        return None
    return Call(name, read_arguments(value.get(key) if key else None, handling, field, native=True))


def calls_in_text(text: str, handling: Handling, field: str) -> list[Call] | None:
    """The calls that a whole text is: one object, a list of them, or several in a row; None when it is something else."""
    try:
        value, _ = parse(text)
    except NotALiteral:
        try:
            value = parse_many(text)
        except NotALiteral:
            return None
    values = value if isinstance(value, list) else [value]
    calls = [call_in_text(item, handling, field) for item in values]
    found = [call for call in calls if call is not None]
    return found if found and len(found) == len(calls) else None


def read_arguments(value: Any, handling: Handling, field: str, *, native: bool = False) -> JSONObject:
    """The arguments as an object. `native`: their dialect writes them as text, so reading it is no repair.

    JSON first, then a Python literal; never by replacing quotes. Raises `Quarantined` with `bad_tool_arguments`.
    """
    if isinstance(value, str):
        value = _decoded_arguments(value, handling, field, native)
    if value is None:
        handling.repair("missing_arguments_emptied", field=field)
        return {}
    if not isinstance(value, dict):
        raise Quarantined("bad_tool_arguments", f"arguments that are a {type(value).__name__}: {value!r:.120}", field)
    try:
        cleaned = clean_json(value, handling)
    except NotJSON as error:
        raise Quarantined("bad_tool_arguments", f"arguments that hold {error}", field) from None
    return cleaned if isinstance(cleaned, dict) else {}


def _decoded_arguments(text: str, handling: Handling, field: str, native: bool) -> Any:
    if not text.strip():
        return None
    try:
        value, notation = parse(text)
    except NotALiteral:
        raise Quarantined("bad_tool_arguments", f"arguments that do not parse: {text}", field) from None
    if isinstance(value, str):
        try:
            value = decoded_again(value)
        except NotALiteral:
            raise Quarantined("bad_tool_arguments", f"arguments that are a text: {text}", field) from None
        handling.repair("arguments_decoded_twice", field=field)
    elif value is not None and not native:
        handling.repair("arguments_from_json" if notation == "json" else "arguments_from_python", field=field)
    return value


def _decoded_calls(text: str, handling: Handling, field: str) -> Any:
    if not text.strip():
        return None
    try:
        value, _ = parse(text)
        value = decoded_again(value)
    except NotALiteral:
        raise Quarantined("bad_tool_calls", f"tool calls that do not parse: {text}", field) from None
    if value is not None:
        handling.repair("tool_calls_decoded", field=field)
    return value


def _read_call(value: Any, handling: Handling, field: str) -> Call:
    if isinstance(value, str):
        value = _decoded_calls(value, handling, field)
    if not isinstance(value, dict):
        raise Quarantined("bad_tool_calls", f"a call of type {type(value).__name__}", field)
    inner = value.get("function")
    if isinstance(inner, str) and inner.lstrip().startswith("{"):
        inner = _decoded_calls(inner, handling, f"{field}.function")
    if not isinstance(inner, dict):
        handling.repair("flat_tool_call_wrapped", field=field)
        inner = {**value, "name": inner} if isinstance(inner, str) else value
    name = _name(inner)
    if name is None:
        raise Quarantined("bad_tool_calls", "a call without a name", field)
    # Some rows put the arguments beside the function object instead of into it.
    given = next((holder[key] for holder in (inner, value) for key in _ARGUMENTS if holder.get(key) is not None), None)
    arguments = read_arguments(given, handling, f"{field}.arguments")
    return Call(name, arguments, _id(value.get("id")), native=False)


def _name(value: JSONObject) -> str | None:
    return next((name for key in _NAMES if isinstance(name := value.get(key), str) and name.strip("\x00 \t\r\n")), None)


def _id(value: Any) -> str | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value if isinstance(value, str) and value else None
