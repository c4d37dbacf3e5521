"""Anthropic's content blocks: text, thinking, tool_use and tool_result in one list become turns of the one shape.

It knows the blocks of one turn, not the turns around it.
"""

from typing import Any

from core.conversation import JSONObject, Role
from core.dialects.content import result_text, text_of
from core.dialects.draft import Call, Turn
from core.dialects.handling import Handling, Quarantined
from core.dialects.tool_calls import read_arguments

_CALLS = frozenset(("tool_use", "server_tool_use"))
_RESULTS = frozenset(("tool_result", "web_search_tool_result"))
_THOUGHTS = frozenset(("thinking", "reasoning", "redacted_thinking"))


def has_blocks(content: list[Any]) -> bool:
    """Whether a content list holds more than parts of text and media."""
    known = _CALLS | _RESULTS | _THOUGHTS
    return any(isinstance(block, dict) and isinstance(block.get("type"), str) and block["type"] in known for block in content)


def read_blocks(content: list[Any], role: Role, handling: Handling, field: str) -> list[Turn]:
    """The turns that one turn's blocks are: a user's results each a tool turn, then what was said beside them.

    An assistant's results (of tools that its server ran) end one turn of its and begin the next.
    """
    spoken = _Spoken(role, handling, field)
    turns: list[Turn] = []
    for index, block in enumerate(content):
        where = f"{field}[{index}]"
        kind = block.get("type") if isinstance(block, dict) else None
        if isinstance(kind, str) and kind in _RESULTS:
            if role == "assistant":
                turns += spoken.turns()
                spoken = _Spoken(role, handling, field)
            turns.append(_result(block, handling, where))
        elif block is not None:
            spoken.add(block, where)
    return turns + spoken.turns() or [Turn(role, field=field)]


class _Spoken:
    """Collects what is no result into one turn."""

    def __init__(self, role: Role, handling: Handling, field: str) -> None:
        self._turn = Turn(role, field=field)
        self._handling = handling
        self._texts: list[str] = []
        self._thoughts: list[str] = []
        self._within = False

    def add(self, block: Any, where: str) -> None:
        kind = block.get("type") if isinstance(block, dict) else None
        inner = isinstance(kind, str) and kind in _CALLS | _THOUGHTS
        if inner and self._turn.role != "assistant":
            raise Quarantined("bad_content", f"a block of type {kind} in a turn of the {self._turn.role}", where)
        if not inner:
            self._say(block, where)
        elif kind in _CALLS:
            self._turn.calls.append(_call(block, self._handling, where))
        elif kind != "redacted_thinking":
            self._thoughts.append(text_of(block.get(kind, block.get("text")), self._handling, where))
        self._within = not inner

    def _say(self, block: Any, where: str) -> None:
        """Neighbouring text blocks are one text that was cut; others are paragraphs of their own."""
        plain = isinstance(block, dict) and block.get("type") == "text" and isinstance(block.get("text"), str)
        said = block["text"] if plain else block if isinstance(block, str) else text_of([block], self._handling, where)
        if self._within and self._texts:
            self._texts[-1] += said
        else:
            self._texts.append(said)

    def turns(self) -> list[Turn]:
        """The turn, unless nothing is in it."""
        self._turn.content = "\n\n".join(text for text in self._texts if text)
        self._turn.reasoning = "\n\n".join(thought for thought in self._thoughts if thought.strip()) or None
        return [] if self._turn.blank else [self._turn]


def _call(block: JSONObject, handling: Handling, field: str) -> Call:
    name = block.get("name")
    if not isinstance(name, str) or not name.strip():
        raise Quarantined("bad_tool_calls", "a tool_use block without a name", field)
    call_id = block.get("id")
    arguments = read_arguments(block.get("input"), handling, f"{field}.input", native=True)
    return Call(name, arguments, call_id if isinstance(call_id, str) and call_id else None, native=False)


def _result(block: JSONObject, handling: Handling, field: str) -> Turn:
    call_id = block.get("tool_use_id")
    text = result_text(block.get("content", ""), handling, f"{field}.content")
    return Turn("tool", text, call_id=call_id if isinstance(call_id, str) and call_id else None, field=field, native=False)
