"""From a raw value to named fields: objects as they are, JSON text of an object, a bare list of turns.

It does not know dialects.
"""

from typing import Any

from core.dialects.characters import BOM
from core.dialects.draft import RawRecord
from core.dialects.handling import Handling
from core.dialects.literals import NotALiteral, parse_json


class NotARecord(ValueError):
    """A raw value without named fields."""


def record_of(value: Any, handling: Handling | None = None) -> RawRecord:
    """The row's fields, noting with `handling` what had to be repaired. Raises `NotARecord`."""
    if isinstance(value, str) and value.lstrip(BOM + " \t\r\n").startswith(("{", "[")):
        try:
            value = parse_json(value.lstrip(BOM + " \t\r\n"))
        except NotALiteral:
            raise NotARecord("a text") from None
        if handling is not None:
            handling.repair("row_decoded")
    if isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
        if all("message_id" in item and "parent_id" in item for item in value):
            return {"message_id": None, "parent_id": None, "role": None, "text": None, "rows": value}
        return {"messages": value}
    if not isinstance(value, dict):
        raise NotARecord(f"a value of type {type(value).__name__}")
    marked = any(isinstance(key, str) and key.startswith(BOM) for key in value)
    if marked and (handling is None or handling.repair("bom_removed")):
        return {key.removeprefix(BOM) if isinstance(key, str) else key: item for key, item in value.items()}
    return value
