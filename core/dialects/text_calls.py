"""Calls that an assistant wrote as text: Hermes' `<tool_call>`, Glaive's `<functioncall>`, `<function=…>` XML.

A tag in code, or one with nothing call-like after it, is text about tags. It does not know whose results come next.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from core.conversation import JSONObject
from core.dialects.characters import clean_json
from core.dialects.draft import Call
from core.dialects.handling import Handling
from core.dialects.literals import NotALiteral, parse, parse_json, parse_python
from core.dialects.tool_calls import call_in_text, calls_in_text
from core.dialects.typed_values import typed

_OPENING = re.compile(r"<tool_call>|<functioncall>|<function=([^<>\n]{1,256})>")
_FUNCTION = re.compile(r"\s*<function=([^<>\n]{1,256})>")
_PARAMETER = re.compile(r"\s*<parameter=([^<>\n]{1,256})>")
_VALUE_END = re.compile(r"</parameter>(?=\s*(?:<parameter=|</function>|</tool_call>|\Z))")
_FUNCTION_END = re.compile(r"\s*</function>")
_TOOL_CALL_END = re.compile(r"\s*</tool_call>")
_FUNCTION_CALL_ENDS = ("<|endoftext|>", "</functioncall>", "<functioncall>")
_QUOTED_ARGUMENTS = re.compile(r""""arguments"\s*:\s*'(.*)'\s*}""", re.DOTALL)

Schemas = Mapping[str, JSONObject]
"""By tool name, the schemas of its parameters: they type the values of XML calls."""


@dataclass(frozen=True, slots=True)
class _Found:
    """Calls that stand in the text up to `end`; `calls` None: it is meant as a call but does not parse."""

    calls: list[Call] | None
    end: int


def take_calls(text: str, schemas: Schemas, handling: Handling, field: str) -> tuple[str, list[Call]]:
    """The text without its calls, and the calls. Raises `Quarantined` with `bad_call_text` where one does not parse."""
    if "<tool_call>" not in text and "<function" not in text:
        return text, []
    calls: list[Call] = []
    kept: list[str] = []
    position = scanned = fences = 0
    while opening := _OPENING.search(text, scanned):
        fences += text.count("```", scanned, opening.start())
        scanned = opening.end()
        if fences % 2 or text[opening.start() - 1 : opening.start()] == "`":
            continue
        found = _read(text, opening, schemas, handling, field)
        if found is None:
            continue
        if found.calls is None:
            handling.refuse("bad_call_text", text[opening.start() : found.end], field)
            continue
        kept.append(text[position : opening.start()])
        calls += found.calls
        position = scanned = found.end
    if not calls:
        return text, []
    kept.append(text[position:])
    return "\n\n".join(piece for piece in (part.strip() for part in kept) if piece), calls


def _read(text: str, opening: re.Match[str], schemas: Schemas, handling: Handling, field: str) -> _Found | None:
    if opening[0] == "<tool_call>":
        return _tool_call(text, opening.end(), schemas, handling, field)
    if opening[0] == "<functioncall>":
        return _function_call(text, opening.end(), handling, field)
    return _xml_call(text, opening.end(), opening[1], schemas, handling)


def _tool_call(text: str, start: int, schemas: Schemas, handling: Handling, field: str) -> _Found | None:
    lead = start
    while lead < len(text) and text[lead].isspace():
        lead += 1
    if xml := _FUNCTION.match(text, lead):
        return _xml_calls(text, xml, schemas, handling)
    if text[lead : lead + 1] not in ("{", "["):
        # On lines of its own it was meant as a call; in the middle of a line it is a word about tags.
        end = text.find("</tool_call>", start)
        own_line = end >= 0 and text[start : start + 1] == "\n" and text[:start].removesuffix("<tool_call>")[-1:] in ("", "\n")
        return _Found(None, end + len("</tool_call>")) if own_line else None
    ends = _closings(text, lead)
    for end in ends:
        calls = calls_in_text(text[lead:end], handling, field)
        if calls:
            return _Found(calls, min(len(text), end + len("</tool_call>")))
    return _Found(None, min(len(text), ends[-1] + len("</tool_call>")))


def _xml_calls(text: str, opening: re.Match[str], schemas: Schemas, handling: Handling) -> _Found:
    """All the XML calls of one `<tool_call>`."""
    calls: list[Call] = []
    while True:
        found = _xml_call(text, opening.end(), opening[1], schemas, handling)
        if not found or found.calls is None:
            return found or _Found(None, len(text))
        calls += found.calls
        if closing := _TOOL_CALL_END.match(text, found.end):
            return _Found(calls, closing.end())
        following = _FUNCTION.match(text, found.end)
        if not following:
            return _Found(calls, found.end)
        opening = following


def _closings(text: str, start: int) -> list[int]:
    """Where the body may end: at the first closing tag or, should that stand inside a string, one of the next two."""
    ends: list[int] = []
    while len(ends) < 3:
        end = text.find("</tool_call>", start)
        if end < 0:
            break
        ends.append(end)
        start = end + 1
    return ends or [len(text)]


def _function_call(text: str, start: int, handling: Handling, field: str) -> _Found | None:
    ends = sorted(end for mark in _FUNCTION_CALL_ENDS if (end := text.find(mark, start)) >= 0) or [len(text)]
    for end in ends:
        body = text[start:end].strip()
        if not body.startswith("{"):
            return None
        for reading in (_as_json, _as_quoted_arguments, _as_python):
            call = call_in_text(reading(body), handling, field)
            if call:
                return _Found([call], end)
    return _Found(None, ends[-1])


def _as_json(body: str) -> object:
    try:
        return parse_json(body)
    except NotALiteral:
        return None


def _as_quoted_arguments(body: str) -> object:
    """Glaive's own form, which is neither JSON nor Python: an object whose arguments are JSON between single quotes."""
    quoted = _QUOTED_ARGUMENTS.search(body)
    if not quoted:
        return None
    try:
        outer = parse_json(body[: quoted.start()].rstrip().rstrip(",") + body[quoted.end() - 1 :])
        return {**outer, "arguments": parse_json(quoted[1])} if isinstance(outer, dict) else None
    except NotALiteral:
        return None


def _as_python(body: str) -> object:
    try:
        return parse_python(body)
    except NotALiteral:
        return None


def _xml_call(text: str, start: int, name: str, schemas: Schemas, handling: Handling) -> _Found | None:
    """`<parameter=key>value</parameter>` until `</function>`; a stop token may have cut that closing tag off at the end.

    None where nothing of a call follows on the same line: the tag is only mentioned.
    """
    name = name.strip().strip("\"'")
    properties = schemas.get(name, {})
    arguments: JSONObject = {}
    position = start
    while parameter := _PARAMETER.match(text, position):
        end = _VALUE_END.search(text, parameter.end())
        if not end:
            return _Found(None, len(text))
        key = parameter[1].strip().strip("\"'")
        arguments[key] = clean_json(typed(_trimmed(text[parameter.end() : end.start()]), properties.get(key)), handling)
        position = end.end()
    closing = _FUNCTION_END.match(text, position)
    if closing:
        return _Found([Call(name, arguments)], closing.end())
    if arguments and (not text[position:].strip() or _TOOL_CALL_END.match(text, position)):
        return _Found([Call(name, arguments)], position)
    if text[start : start + 1] not in ("", "\n", "\r", "{") and "</function>" not in text[start:]:
        return None
    return _json_body(text, start, name, handling)


def _json_body(text: str, start: int, name: str, handling: Handling) -> _Found:
    """Llama 3.1's form of it: `<function=name>{"key": value}</function>`."""
    end = text.find("</function>", start)
    end = len(text) if end < 0 else end
    try:
        value, _ = parse(text[start:end])
    except NotALiteral:
        value = None
    return _Found([Call(name, clean_json(value, handling))] if isinstance(value, dict) else None, min(len(text), end + len("</function>")))


def _trimmed(value: str) -> str:
    """The value without the one line break that the notation puts on either side."""
    return value.removeprefix("\r").removeprefix("\n").removesuffix("\n").removesuffix("\r")
