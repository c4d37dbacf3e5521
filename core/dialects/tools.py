"""Tool lists of any shape as JSON-Schema function tools: strings, double-encoded, concatenated, bare, padded with nulls.

A tool that is already canonical comes out equal. It does not look for tools in system text.
"""

from dataclasses import dataclass
from typing import Any

from core.conversation import JSONObject, Tool
from core.dialects.characters import NotJSON, clean_json
from core.dialects.handling import Handling
from core.dialects.literals import NotALiteral, decoded_again, parse, parse_json, parse_many
from core.dialects.schema_types import is_optional, json_type

_MAPS = frozenset(("properties", "patternProperties", "$defs", "definitions", "dependentSchemas"))
_SCHEMAS = frozenset(("items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames"))
_LISTS = frozenset(("anyOf", "oneOf", "allOf", "prefixItems"))
_NULL_MEANS_NULL = frozenset(("default", "const"))
_PARAMETERS = ("parameters", "input_schema", "inputSchema", "args_schema")


@dataclass(frozen=True)
class Tools:
    """The tools, and whether nulls that a column store had added were taken out of them."""

    tools: list[Tool]
    padded: bool = False


def read_tools(value: Any, handling: Handling, field: str) -> Tools:
    """The tools that a field holds, none where it is empty. Raises `Quarantined` with `bad_tools`."""
    try:
        reader = _Reader(handling)
        tools = [reader.tool(item) for item in _items(value, handling, field)]
    except _BadTool as error:
        handling.refuse("bad_tools", str(error), field)
        return Tools([])
    return Tools(tools, reader.padded)


def tools_in_text(values: list[Any], handling: Handling) -> list[Tool] | None:
    """The tools that values parsed from a text are; None when one of them is no tool."""
    try:
        reader = _Reader(handling)
        flat = [item for value in values for item in (value if isinstance(value, list) else [value])]
        return [reader.tool(item) for item in flat] if flat and all(_is_tool(item) for item in flat) else None
    except _BadTool:
        return None


class _BadTool(ValueError):
    """What is wrong with a tool."""


def _items(value: Any, handling: Handling, field: str) -> list[Any]:
    if isinstance(value, str):
        value = _decoded(value, handling, field)
    if isinstance(value, dict):
        value = _in_object(value)
    if value is None:
        return []
    if not isinstance(value, list):
        raise _BadTool(f"tools of type {type(value).__name__}")
    items: list[Any] = []
    for item in value:
        decoded = _decoded(item, handling, field) if isinstance(item, str) else item
        items += decoded if isinstance(decoded, list) else [] if decoded is None else [decoded]
    return items


def _in_object(value: JSONObject) -> Any:
    if not value:
        return None
    if "name" in value or "function" in value:
        return [value]
    for key in ("tools", "functions"):
        if key in value:
            return value[key]
    if all(isinstance(item, dict) for item in value.values()):
        return [item if _is_tool(item) else {"name": name, **item} for name, item in value.items()]
    raise _BadTool("an object that is no tool")


def _decoded(text: str, handling: Handling, field: str) -> Any:
    if not text.strip():
        return None
    try:
        value, _ = parse(text)
    except NotALiteral:
        try:
            value = parse_many(text)
        except NotALiteral:
            raise _BadTool(f"tools that do not parse: {text}") from None
    if isinstance(value, str):
        try:
            value = decoded_again(value)
        except NotALiteral:
            raise _BadTool(f"tools that are a text: {text}") from None
        handling.repair("tools_decoded_twice", field=field)
    return value


def _is_tool(value: object) -> bool:
    if not isinstance(value, dict):
        return False
    inner = value["function"] if isinstance(value.get("function"), dict) else value
    return isinstance(inner.get("name"), str) and bool(inner["name"].strip()) and (inner is not value or len(value) > 1)


class _Reader:
    """Makes tools canonical, noting each kind of repair once."""

    def __init__(self, handling: Handling) -> None:
        self._handling = handling
        self.padded = False

    def tool(self, value: Any) -> Tool:
        if not isinstance(value, dict):
            raise _BadTool(f"a tool of type {type(value).__name__}")
        try:
            value = clean_json(value, self._handling)
        except NotJSON as error:
            raise _BadTool(f"a tool that holds {error}") from None
        inner = value.get("function")
        if isinstance(inner, str) and inner.lstrip().startswith("{"):
            inner = _decoded(inner, self._handling, "function")
        wrapped = isinstance(inner, dict)
        function = self._function(inner if wrapped else {key: item for key, item in value.items() if key != "type"}, wrapped=wrapped)
        if not wrapped:
            return {"type": "function", "function": function}
        extra = {key: item for key, item in value.items() if key not in ("type", "function") and not self._padding(item)}
        return {"type": "function", "function": function, **extra}

    def _function(self, value: JSONObject, *, wrapped: bool) -> JSONObject:
        name = value.get("name")
        if not isinstance(name, str) or not name.strip():
            raise _BadTool("a tool without a name")
        key = next((key for key in _PARAMETERS if value.get(key) is not None), None)
        function: JSONObject = {"name": name}
        if isinstance(value.get("description"), str):
            function["description"] = value["description"]
        if key is not None:
            function["parameters"] = self._parameters(value[key], wrapped=wrapped)
        elif not wrapped:
            function["parameters"] = {"type": "object", "properties": {}}
        done = {"name", "description", *_PARAMETERS}
        return function | {key: item for key, item in value.items() if key not in done and not self._padding(item)}

    def _parameters(self, value: Any, *, wrapped: bool) -> JSONObject:
        if isinstance(value, str):
            try:
                value = parse_json(value)
            except NotALiteral:
                raise _BadTool(f"parameters that do not parse: {value}") from None
        if not isinstance(value, dict):
            raise _BadTool(f"parameters of type {type(value).__name__}")
        if not value:
            return {} if wrapped else {"type": "object", "properties": {}}
        if _is_bare(value):
            return self._from_bare(value)
        schema = self._schema(value)
        return schema if isinstance(schema, dict) else {}

    def _from_bare(self, value: JSONObject) -> JSONObject:
        """A property map without a schema around it (xLAM): required is what has no default and is not called optional."""
        properties: JSONObject = {}
        required: list[str] = []
        for name, item in value.items():
            if item is None:
                self._padding(item)
                continue
            text = item.get("type")
            optional = item.get("required") is False or (isinstance(text, str) and is_optional(text))
            if not optional and "default" not in item:
                required.append(name)
            properties[name] = self._schema({key: part for key, part in item.items() if key != "required" or isinstance(part, list)})
        return {"type": "object", "properties": properties, "required": required}

    def _schema(self, node: Any) -> Any:
        if not isinstance(node, dict):
            return node
        schema: JSONObject = {}
        for key, value in node.items():
            if key not in _NULL_MEANS_NULL and self._padding(value):
                continue
            if key == "type":
                schema |= self._type(value)
            elif key in _MAPS and isinstance(value, dict):
                schema[key] = {name: self._schema(item) for name, item in value.items() if not self._padding(item)}
            elif key in _SCHEMAS:
                schema[key] = [self._schema(item) for item in value] if isinstance(value, list) else self._schema(value)
            elif key in _LISTS and isinstance(value, list):
                schema[key] = [self._schema(item) for item in value]
            else:
                schema[key] = value
        return schema

    def _type(self, value: Any) -> JSONObject:
        if isinstance(value, list):
            kinds = [self._type(item).get("type") if isinstance(item, str) else item for item in value]
            return {"type": kinds}
        if not isinstance(value, str):
            self._handling.repair("schema_types_renamed")
            return {}
        kind = json_type(value)
        if kind is None or kind == {"type": value}:
            return {"type": value}
        return kind if self._handling.repair("schema_types_renamed") else {"type": value}

    def _padding(self, value: object) -> bool:
        """Whether it is a null that a column store put there; noted, and kept where the policy says so."""
        if value is not None:
            return False
        self.padded = self._handling.repair("null_padding_removed")
        return self.padded


def _is_bare(parameters: JSONObject) -> bool:
    """Whether it maps parameter names to their descriptions directly."""
    if isinstance(parameters.get("type"), str | list) or isinstance(parameters.get("properties"), dict):
        return False
    if any(key.startswith("$") or key in _LISTS for key in parameters):
        return False
    return all(isinstance(item, dict) or item is None for item in parameters.values())
