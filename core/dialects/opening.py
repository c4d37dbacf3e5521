"""From a raw value to named fields: objects as they are, JSON text of an object, a bare list of turns,
turns as an object of lists.

It does not know dialects.
"""

from typing import Any

from core.dialects.characters import BOM
from core.dialects.draft import RawRecord
from core.dialects.handling import Handling
from core.dialects.literals import NotALiteral, parse_json
from core.dialects.messages import turns_in_columns

_ENVELOPE = {"row_idx", "row", "truncated_cells"}


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
    record = _with_turn_lists(_without_envelope(value, handling), handling)
    marked = any(isinstance(key, str) and key.startswith(BOM) for key in record)
    if marked and (handling is None or handling.repair("bom_removed")):
        return {key.removeprefix(BOM) if isinstance(key, str) else key: item for key, item in record.items()}
    return record


def _without_envelope(record: RawRecord, handling: Handling | None) -> RawRecord:
    """The row inside what a service that serves rows puts around it: `{"row_idx": 0, "row": {…}, "truncated_cells": []}`."""
    inner: RawRecord | None = record.get("row")
    if not isinstance(inner, dict) or not record.keys() <= _ENVELOPE or "row_idx" not in record:
        return record
    if handling is not None:
        if cut := record.get("truncated_cells"):
            handling.refuse("cells_cut", f"cut: {cut}", "truncated_cells")
        handling.repair("row_unwrapped")
    return inner


def _with_turn_lists(record: RawRecord, handling: Handling | None) -> RawRecord:
    """The record with turns in a list wherever a column holds them as an object of lists, as column stores write them."""
    found: RawRecord = {}
    for key, value in record.items():
        if isinstance(value, dict) and (turns := turns_in_columns(value)):
            if handling is not None:
                handling.repair("columns_to_turns", field=str(key))
            found[key] = turns
    return {**record, **found} if found else record
