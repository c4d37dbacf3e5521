"""Tools that stand only in a system message's text: found, read, and their text taken out, with the format rules around it.

Only where they parse; otherwise the text stays whole. It does not know the tools column.
"""

import re
from dataclasses import dataclass
from typing import Any

from core.conversation import JSONObject, Tool
from core.dialects.handling import Handling
from core.dialects.literals import NotALiteral, decode_at, parse, parse_many
from core.dialects.tools import tools_in_text
from core.dialects.typed_values import typed

_ANNOUNCED = re.compile(r"\b(?:following|available|list of|these)\s+(?:functions?|tools?|apis?)\b[^{}\[\]]{0,300}(?=[\[{])", re.IGNORECASE)
_FUNCTION = re.compile(r"---- BEGIN FUNCTION #\d+: (\S+) ----\n(.*?)\n?---- END FUNCTION #\d+ ----", re.DOTALL)
_PARAMETER = re.compile(r"^[ \t]*\(\d+\) (\S+) \(([^,()\n]+), (required|optional)\):[ \t]*", re.MULTILINE)
_ALLOWED = re.compile(r"\s*Allowed values: \[([^\]\n]*)\]")

_EXAMPLE = re.compile(
    r"<tool_call>.*?</tool_call>|<schema>.*?</schema>|<function=.*?</function>|<IMPORTANT>(?:(?!</IMPORTANT>).)*?call.*?</IMPORTANT>"
    r"|(?:Example:\s*)?<scratch_pad>\s*\n.*?</scratch_pad>|\{[^\n]*FunctionCall[^\n]*\}",
    re.DOTALL,
)
"""What shows or describes a call to come: it goes as a whole, before the text is taken apart into sentences."""
_PIECE = re.compile(r"(?<=[.!?:])[ \t]+|\n+")
_RULES = re.compile(
    r"""function[- ]call|tool[_ -]call|tools?>|<tool|scratch_pad|pydantic|FunctionCall\b|json schema for each
    |\bfunction\ signatures|call\ one\ or\ more\ functions|assumptions\ about\ what\ values
    |following\ (?:functions|tools|apis)|functions\ in\ JSON\ format|access\ to\ the\ (?:functions|tools)|[Uu]se\ them\ if\ required
    |expert\ in\ composing\ functions|question\ and\ a\ set\ of\ possible\ functions|function/tool\ calls
    |[Nn]one\ of\ the\ functions?\ can\ be\ used|question\ lacks\ the\ parameters|return\ the\ function|call\ a\ function
    |in\ the\ format\ of\ \[|^func\w*\(|NO\ other\ text\ MUST|ONLY\ reply\ in\ the\ following\ format
    |^\#+\ ?Tools?$|^[-*]\ Function\ calls""",
    re.VERBOSE | re.MULTILINE,
)

_EXAMPLE_LINE = re.compile(r"^[{<\[]")


@dataclass(frozen=True, slots=True)
class SystemTools:
    """The tools found in a system text, and what of the text is about something else."""

    tools: list[Tool]
    text: str


def tools_of_system(text: str, handling: Handling) -> SystemTools | None:
    """The tools in a system message's text; None when it offers none, or when they do not parse."""
    if "{" not in text and "BEGIN FUNCTION #" not in text:
        return None
    for find in (_in_tags, _in_function_blocks, _after_announcement):
        found = find(text, handling)
        if found:
            return found
    return None


def _in_tags(text: str, handling: Handling) -> SystemTools | None:
    """Hermes and Qwen: `<tools> [...] </tools>`; an earlier mention of the empty tags is no block."""
    start = text.find("<tools>")
    while start >= 0:
        end = text.find("</tools>", start)
        if end < 0:
            return None
        body = text[start + len("<tools>") : end].strip()
        tools = tools_in_text(_values(body), handling) if body[:1] in ("{", "[") else None
        if tools:
            before = text[:start].rstrip()
            before = _without_last_sentence(before) if before.endswith(":") else before
            return SystemTools(tools, _other_text(before, text[end + len("</tools>") :]))
        start = text.find("<tools>", start + 1)
    return None


def _values(body: str) -> list[Any]:
    try:
        value, _ = parse(body)
        return value if isinstance(value, list) else [value]
    except NotALiteral:
        try:
            return parse_many(body)
        except NotALiteral:
            return []


def _in_function_blocks(text: str, handling: Handling) -> SystemTools | None:
    """OpenHands: `---- BEGIN FUNCTION #1: name ----` with a description and numbered parameters."""
    blocks = list(_FUNCTION.finditer(text)) if "---- BEGIN FUNCTION #" in text else []
    if not blocks:
        return None
    tools = tools_in_text([_described(block[1], block[2]) for block in blocks], handling)
    return SystemTools(tools, _other_text(text[: blocks[0].start()], text[blocks[-1].end() :])) if tools else None


def _described(name: str, body: str) -> JSONObject:
    head, _, listed = body.partition("\nParameters:")
    properties: JSONObject = {}
    required: list[str] = []
    found = list(_PARAMETER.finditer(listed))
    for index, parameter in enumerate(found):
        end = found[index + 1].start() if index + 1 < len(found) else len(listed)
        description = listed[parameter.end() : end].strip()
        allowed = _ALLOWED.search(description)
        schema: JSONObject = {"type": parameter[2].strip(), "description": _ALLOWED.sub("", description).strip()}
        if allowed:
            schema["enum"] = [typed(value.strip().strip("`'\""), schema) for value in allowed[1].split(",")]
        properties[parameter[1]] = schema
        if parameter[3] == "required":
            required.append(parameter[1])
    description = head.strip().removeprefix("Description:").removesuffix("No parameters are required for this function.").strip()
    return {"name": name, "description": description, "parameters": {"type": "object", "properties": properties, "required": required}}


def _after_announcement(text: str, handling: Handling) -> SystemTools | None:
    """Glaive, ToolACE: one or several JSON values after "the following functions" or the like."""
    for announced in _ANNOUNCED.finditer(text):
        values: list[Any] = []
        position = end = announced.end()
        while text[position : position + 1] in ("{", "["):
            try:
                value, position = decode_at(text, position)
            except NotALiteral:
                break
            values.append(value)
            end = position
            while text[position : position + 1] in (" ", "\t", "\r", "\n", ","):
                position += 1
        tools = tools_in_text(values, handling)
        if tools:
            return SystemTools(tools, _other_text(_without_last_sentence(text[: announced.end()]), text[end:]))
    return None


def _without_last_sentence(text: str) -> str:
    """The last sentence announces the tools; without them it says nothing."""
    text = text.rstrip()
    end = max((gap.start() for gap in _PIECE.finditer(text)), default=0)
    return text[:end]


def _other_text(before: str, after: str) -> str:
    """What stands around the tools without the sentences that only say how to call them."""
    kept = [_without_rules(before, _RULES), _without_rules(_EXAMPLE.sub("", after), _RULES, _EXAMPLE_LINE)]
    return "\n\n".join(piece for piece in kept if piece)


def _without_rules(text: str, *unwanted: re.Pattern[str]) -> str:
    pieces: list[str] = []
    position = 0
    for gap in [*_PIECE.finditer(text), None]:
        end = gap.start() if gap else len(text)
        piece = text[position:end]
        if any(char.isalnum() for char in piece) and not any(rule.search(piece.strip()) for rule in unwanted):
            pieces.append(piece + (gap[0] if gap else ""))
        position = gap.end() if gap else end
    return "".join(pieces).strip()
