"""Type names of other worlds in tool schemas (`dict`, `float`, `List[int], optional`) as JSON Schema's.

It knows one type text at a time, not where in a schema it stands.
"""

import re

from core.conversation import JSONObject

JSON_TYPES = frozenset(("string", "number", "integer", "boolean", "object", "array", "null"))

_NAMES = {
    **dict.fromkeys(("str", "text", "char"), "string"),
    **dict.fromkeys(("int", "long"), "integer"),
    **dict.fromkeys(("float", "double", "decimal", "complex"), "number"),
    "bool": "boolean",
    **dict.fromkeys(("dict", "map", "mapping", "hashmap"), "object"),
    **dict.fromkeys(("list", "tuple", "set", "sequence", "iterable", "arraylist", "frozenset"), "array"),
    "none": "null",
    "nonetype": "null",
}


_OPTIONAL = re.compile(r"\s*,\s*optional\b.*\Z|\s*,?\s*\(optional\)\s*\Z", re.IGNORECASE | re.DOTALL)


def is_optional(text: str) -> bool:
    """Whether the type text says that the parameter may be left out (`str, optional`, `Optional[str]`, `str | None`)."""
    lowered = text.strip().lower()
    return bool(_OPTIONAL.search(lowered)) or lowered.startswith("optional[") or lowered == "optional" or "none" in _split(lowered, "|")[1:]


def json_type(text: str) -> JSONObject | None:
    """The schema of a type text: `{"type": …}` with `items` where it says them, `{}` for "any"; None for an unknown name."""
    name = text.strip()
    if name in JSON_TYPES:
        return {"type": name}
    lowered = name.lower()
    if optional := _OPTIONAL.search(name):
        return json_type(name[: optional.start()])
    if lowered in JSON_TYPES:
        return {"type": lowered}
    if lowered in _NAMES:
        return {"type": _NAMES[lowered]}
    if lowered in ("any", "object | any", "optional"):
        return {}
    if len(choices := _split(name, "|")) > 1:
        return _union([choice for choice in choices if choice.lower() != "none"])
    return _generic(name) if name.endswith("]") and "[" in name else None


def _generic(name: str) -> JSONObject | None:
    outer, _, rest = name.partition("[")
    inner = _split(rest[:-1])
    outer = outer.rpartition(".")[2].strip().lower()
    kinds = [json_type(item) for item in inner]
    if outer == "optional" and len(inner) == 1:
        return kinds[0]
    if outer == "union":
        return _union(inner)
    base = _NAMES.get(outer, outer)
    if base == "array":
        return {"type": "array", "items": kinds[0]} if kinds and kinds[0] and len({*inner} - {"..."}) == 1 else {"type": "array"}
    if base == "object":
        return {"type": "object", "additionalProperties": kinds[1]} if len(kinds) == 2 and kinds[1] else {"type": "object"}
    return None


def _union(choices: list[str]) -> JSONObject | None:
    kinds = [json_type(choice) for choice in choices]
    types = [kind["type"] for kind in kinds if kind and isinstance(kind.get("type"), str)]
    if not types or len(types) != len(kinds):
        return None
    return kinds[0] if len(kinds) == 1 else {"type": types}


def _split(text: str, separator: str = ",") -> list[str]:
    """The parts between separators that stand in no inner bracket."""
    parts: list[str] = []
    depth, start = 0, 0
    for index, char in enumerate(text):
        depth += (char == "[") - (char == "]")
        if char == separator and depth == 0:
            parts.append(text[start:index].strip())
            start = index + 1
    return [*parts, text[start:].strip()]
