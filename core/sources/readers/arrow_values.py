"""Arrow values as the JSON values they came from.

Arrow gives every struct of a column the same keys, so a call's arguments carry a null for every argument that any other
call has: those nulls are padding and go, here, because only the reader knows that Arrow added them. (Padding of tool
schemas can be recognised from the value; `core.dialects` removes and counts it.) It knows nothing of files.
"""

import base64
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa

_ARGUMENT_KEYS = frozenset({"arguments", "input"})


def json_rows(batch: pa.RecordBatch) -> list[dict[str, Any]]:
    """The rows of a batch as plain JSON objects."""
    convert = _converter(batch.schema)
    rows: list[dict[str, Any]] = batch.to_pylist()
    return rows if convert is None else [{key: convert(key, value) for key, value in row.items()} for row in rows]


def _converter(schema: pa.Schema) -> Callable[[str, Any], Any] | None:
    """None where every value is plain JSON already, which spares a walk through each row."""
    return None if all(_plain(field.type, field.name) for field in schema) else _json_value


def _plain(kind: pa.DataType, name: str) -> bool:
    if pa.types.is_struct(kind):
        return name not in _ARGUMENT_KEYS and all(_plain(field.type, field.name) for field in kind)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return _plain(kind.value_type, "")
    return bool(
        pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_boolean(kind)
        or pa.types.is_null(kind)
    )


def _json_value(key: str, value: Any) -> Any:
    if isinstance(value, dict):
        if key in _ARGUMENT_KEYS:
            return {name: _json_value(name, item) for name, item in value.items() if item is not None}
        return {name: _json_value(name, item) for name, item in value.items()}
    if isinstance(value, list):
        if value and isinstance(value[0], tuple):  # a map column
            return {str(name): _json_value(str(name), item) for name, item in value}
        return [_json_value("", item) for item in value]
    return _scalar(value)


def _scalar(value: Any) -> Any:
    """A single value; bytes that are no text become `{"base64": …}`."""
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if isinstance(value, bytes):
        try:
            return value.decode("utf-8")
        except UnicodeDecodeError:
            return {"base64": base64.b64encode(value).decode("ascii")}  # an object, so that nobody takes it for a text
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
