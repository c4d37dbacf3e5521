"""Results that stand in text: `<tool_response>` blocks, and user turns that report what an action printed.

A user turn counts as a result only right after a call. It does not know ids.
"""

import re

from core.dialects.content import json_text
from core.dialects.draft import Turn
from core.dialects.literals import NotALiteral, parse

_OPENING, _CLOSING = "<tool_response>", "</tool_response>"
_REPORT = re.compile(r"\A\s*(?:EXECUTION RESULT of \[[^\]\n]*\]:|OBSERVATION:|FUNCTION RESPONSE:|Observation:)[ \t]*\n?")
_ENVELOPE = frozenset(("name", "content", "tool_call_id", "id"))


def take_results(turns: list[Turn]) -> list[Turn]:
    """The turns with every result in a tool turn of its own."""
    taken: list[Turn] = []
    calls = False
    for turn in turns:
        if turn.role == "tool" and _OPENING in turn.content:
            taken += _responses(turn) or [turn]
        elif turn.role == "user" and calls:
            taken += _reported(turn)
        else:
            taken.append(turn)
        last = taken[-1]
        calls = bool(last.calls) or (calls and last.role in ("tool", "assistant"))
    return taken


def _reported(turn: Turn) -> list[Turn]:
    report = _REPORT.match(turn.content)
    if report:
        return [Turn("tool", turn.content[report.end() :], field=turn.field)]
    if turn.content.lstrip().startswith(_OPENING) and turn.content.rstrip().endswith(_CLOSING):
        return _responses(turn) or [turn]
    return [turn]


def _responses(turn: Turn) -> list[Turn]:
    """One tool turn for each block, the turn's id on the first; none where other text stands between the blocks."""
    bodies: list[str] = []
    before, *blocks = turn.content.split(_OPENING)
    for block in blocks:
        body, _, between = block.partition(_CLOSING)
        if between.strip():
            return []
        bodies.append(body)
    if before.strip():
        return []
    found = [_response(body, turn) for body in bodies]
    found[0].call_id = turn.call_id
    return found


def _response(body: str, turn: Turn) -> Turn:
    """The content of Hermes' envelope `{"name", "content"}`, or the body as it stands."""
    body = body.strip()
    if body.startswith("{"):
        try:
            value, _ = parse(body)
        except NotALiteral:
            value = None
        if isinstance(value, dict) and "content" in value and value.keys() <= _ENVELOPE:
            content = value["content"]
            text = content if isinstance(content, str) else json_text(content, turn.field)
            name = value.get("name")
            return Turn("tool", text, name=name if isinstance(name, str) and name else turn.name, field=turn.field)
    return Turn("tool", body, name=turn.name, field=turn.field)
