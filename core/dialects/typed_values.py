"""Values written as bare text in XML calls, given the type that the tool's schema says.

It knows a schema's property and a text; without a schema the text stays a text.
"""

import math
from collections.abc import Iterable
from typing import Any

from core.conversation import JSONObject, Tool
from core.dialects.literals import NotALiteral, parse

_PYTHON: dict[str, tuple[type, ...]] = {
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}


def property_schemas(tools: Iterable[Tool]) -> dict[str, JSONObject]:
    """By tool name, the schemas of its parameters."""
    found: dict[str, JSONObject] = {}
    for tool in tools:
        function = tool.get("function")
        parameters = function.get("parameters") if isinstance(function, dict) else None
        properties = parameters.get("properties") if isinstance(parameters, dict) else None
        if isinstance(function, dict) and isinstance(properties, dict):
            found[function["name"]] = properties
    return found


def typed(text: str, schema: object) -> Any:
    """The value of a parameter's text: by the schema's types where it parses to one of them, else the text itself."""
    kinds = _kinds(schema)
    allowed = schema.get("enum") if isinstance(schema, dict) and not kinds else None
    others = [kind for kind in kinds if kind in _PYTHON]
    if not others and not isinstance(allowed, list):
        return text
    try:
        value, _ = parse(text)
    except NotALiteral:
        return text
    if isinstance(allowed, list):
        return value if text not in allowed and value in allowed else text
    if isinstance(value, float) and not math.isfinite(value):
        return text
    for kind in others:
        if isinstance(value, _PYTHON[kind]) and (kind == "boolean" or not isinstance(value, bool)):
            return value
        if kind == "integer" and isinstance(value, float) and value.is_integer():
            return int(value)
    return text


def _kinds(schema: object) -> list[str]:
    if not isinstance(schema, dict):
        return []
    kind = schema.get("type")
    if isinstance(kind, str):
        return [kind]
    if isinstance(kind, list):
        return [item for item in kind if isinstance(item, str)]
    for key in ("anyOf", "oneOf"):
        if isinstance(schema.get(key), list):
            return [name for item in schema[key] for name in _kinds(item)]
    return []
