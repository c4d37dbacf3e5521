"""Content of any JSON type as text. Parts of a list are joined; what is no text is refused, never dropped in silence.

It does not know roles beyond "a tool's result may be any value".
"""

import json
import math
from typing import Any

from core.dialects.handling import Handling, Quarantined

_TEXT_TYPES = frozenset(("text", "input_text", "output_text", None))
_MEDIA = frozenset(
    ("image", "image_url", "input_image", "audio", "input_audio", "audio_url", "video", "video_url", "file", "input_file", "document")
)


def text_of(value: Any, handling: Handling, field: str) -> str:
    """What a turn says. Null becomes empty, numbers their text, parts one text, each noted as a repair."""
    if isinstance(value, str):
        return value
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        handling.repair("null_content_emptied", field=field)
        return ""
    if isinstance(value, list):
        return _joined(value, handling, field)
    if isinstance(value, dict):
        parts = value.get("parts")
        return _joined(parts if isinstance(parts, list) else [value], handling, field)
    if isinstance(value, int | float) and not isinstance(value, bool):
        handling.repair("number_content_written", field=field)
        return str(value)
    raise Quarantined("bad_content", f"content of type {type(value).__name__}", field)


def result_text(value: Any, handling: Handling, field: str) -> str:
    """What a tool returned, as text: parts of text are joined, anything else becomes its JSON text."""
    if isinstance(value, str):
        return value
    if value is None:
        handling.repair("null_content_emptied", field=field)
        return ""
    if isinstance(value, list) and value and all(is_text_part(part) for part in value):
        return _joined(value, handling, field)
    if is_text_part(value):
        return _joined([value], handling, field)
    handling.repair("tool_result_serialised", field=field)
    return json_text(value, field)


def json_text(value: Any, field: str) -> str:
    """The JSON text of a value, as Python writes it (`{"m": 4.2}`), not escaped to ASCII."""
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError):
        raise Quarantined("bad_content", f"a value of type {type(value).__name__} that JSON cannot hold", field) from None


def is_text_part(part: object) -> bool:
    """Whether it is `{"type": "text", "text": "…"}`, with or without further nulls."""
    return isinstance(part, dict) and part.get("type") in ("text", "input_text", "output_text") and isinstance(part.get("text"), str)


def _joined(parts: list[Any], handling: Handling, field: str) -> str:
    """Text parts follow each other without a separator, as chat templates print them."""
    texts: list[str] = []
    for part in parts:
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, dict) and isinstance(part.get("text"), str) and _kind(part) in _TEXT_TYPES:
            texts.append(part["text"])
        elif isinstance(part, dict) and "text" in part and part["text"] is None and _kind(part) == "text":
            continue  # a column store's part of another type, or an empty one
        elif isinstance(part, dict) and (_kind(part) in _MEDIA or part.keys() & _MEDIA):
            handling.refuse("non_text_content", f"a content part of type {_kind(part)}", field)
        elif part is not None:
            raise Quarantined("bad_content", f"a content part of type {_kind(part) or type(part).__name__}", field)
    handling.repair("content_parts_joined", field=field)
    return "".join(texts)


def _kind(part: Any) -> str | None:
    kind = part.get("type") if isinstance(part, dict) else None
    return kind if kind is None or isinstance(kind, str) else type(kind).__name__
