"""Anthropic's content blocks: text, thinking, tool_use and tool_result in one list become turns of the one shape.

It knows the blocks of one turn, not the turns around it.
"""

from typing import Any

from core.conversation import Role
from core.dialects.content import result_text, text_of
from core.dialects.draft import Call, Turn
from core.dialects.handling import Handling, Quarantined
from core.dialects.tool_calls import read_arguments

_BLOCKS = frozenset(("tool_use", "tool_result", "thinking", "redacted_thinking", "reasoning"))


def has_blocks(content: list[Any]) -> bool:
    """Whether a content list holds more than parts of text and media."""
    return any(isinstance(block, dict) and isinstance(block.get("type"), str) and block["type"] in _BLOCKS for block in content)


def read_blocks(content: list[Any], role: Role, handling: Handling, field: str) -> list[Turn]:
    """The turns that one turn's blocks are: results first, each a tool turn, then what was said beside them."""
    spoken = Turn(role, field=field)
    results: list[Turn] = []
    texts: list[str] = []
    thoughts: list[str] = []
    together = False
    for index, block in enumerate(content):
        where = f"{field}[{index}]"
        kind = block.get("type") if isinstance(block, dict) else None
        if kind == "tool_use":
            spoken.calls.append(_call(block, handling, where))
        elif kind == "tool_result":
            results.append(_result(block, handling, where))
        elif kind in ("thinking", "reasoning"):
            thoughts.append(text_of(block.get(kind, block.get("text")), handling, where))
        elif kind != "redacted_thinking" and block is not None:
            said = block if isinstance(block, str) else block.get("text") if kind == "text" else None
            if not isinstance(said, str):
                said = text_of([block], handling, where)
            # Neighbouring text blocks are one text that was cut; others are paragraphs of their own.
            if together and texts:
                texts[-1] += said
            else:
                texts.append(said)
            together = True
            continue
        together = False
    spoken.content = "\n\n".join(text for text in texts if text)
    spoken.reasoning = "\n\n".join(thought for thought in thoughts if thought.strip()) or None
    return results if results and spoken.blank else [*results, spoken]


def _call(block: dict[str, Any], handling: Handling, field: str) -> Call:
    name = block.get("name")
    if not isinstance(name, str) or not name.strip():
        raise Quarantined("bad_tool_calls", "a tool_use block without a name", field)
    call_id = block.get("id")
    arguments = read_arguments(block.get("input"), handling, f"{field}.input", native=True)
    return Call(name, arguments, call_id if isinstance(call_id, str) and call_id else None, native=False)


def _result(block: dict[str, Any], handling: Handling, field: str) -> Turn:
    call_id = block.get("tool_use_id")
    text = result_text(block.get("content", ""), handling, f"{field}.content")
    return Turn("tool", text, call_id=call_id if isinstance(call_id, str) and call_id else None, field=field, native=False)
