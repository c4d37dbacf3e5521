"""Characters that text can hold in memory but not in a file or a prompt: lone surrogates, NUL, a byte order mark.

It knows text and JSON values, not what they mean.
"""

import math
from decimal import Decimal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from core.dialects.handling import Handling

BOM = "\ufeff"


class NotJSON(ValueError):
    """A value that JSON cannot hold (bytes, a date, a key that is not text)."""


def printable(text: str) -> str:
    """The text with lone surrogates replaced by U+FFFD, so that it can be encoded."""
    if _encodes(text):
        return text
    return "".join("\ufffd" if "\ud800" <= char <= "\udfff" else char for char in text)


def clean_text(text: str, handling: "Handling") -> str:
    """The text without characters that would break a writer or a reader of it later."""
    if text.isascii():
        return _without_nul(text, handling) if "\x00" in text else text
    if not _encodes(text) and handling.repair("lone_surrogate_replaced"):
        text = printable(text)
    if text.startswith(BOM) and handling.repair("bom_removed"):
        text = text.removeprefix(BOM)
    return _without_nul(text, handling) if "\x00" in text else text


def clean_json(value: Any, handling: "Handling") -> Any:
    """The same for every text and number inside a JSON value. Raises `NotJSON` for what JSON cannot hold."""
    if isinstance(value, str):
        return clean_text(value, handling)
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        if math.isfinite(value):
            return value
        handling.repair("non_finite_number_nulled")
        return None
    if isinstance(value, dict):
        return {_key(key, handling): clean_json(item, handling) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [clean_json(item, handling) for item in value]
    if isinstance(value, Decimal):
        return clean_json(int(value) if value == value.to_integral_value() else float(value), handling) if value.is_finite() else None
    raise NotJSON(f"a value of type {type(value).__name__}")


def _key(key: object, handling: "Handling") -> str:
    if not isinstance(key, str):
        raise NotJSON(f"a key of type {type(key).__name__}")
    return clean_text(key, handling)


def _encodes(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _without_nul(text: str, handling: "Handling") -> str:
    return text.replace("\x00", "") if handling.repair("nul_removed") else text
