"""What all dialects with a list of turns share: where the list, the system text and the tools stand in a row.

It does not know which dialect a row is.
"""

from typing import Any

from core.dialects.content import text_of
from core.dialects.dialect import turn_columns
from core.dialects.draft import Draft, RawRecord, Turn
from core.dialects.handling import Handling, Quarantined
from core.dialects.literals import NotALiteral, parse_json
from core.dialects.messages import read_turns
from core.dialects.tools import Tools, read_tools

SYSTEM_KEYS = ("system", "system_prompt", "system_message")
_TOOL_KEYS = ("tools", "functions", "available_tools")


def read_list(record: RawRecord, handling: Handling) -> Draft:
    """The draft of a row whose turns are in a list. Raises `Quarantined`."""
    key = turns_column(record)
    turns = with_system(record, read_turns(record[key], handling, key), handling)
    tools = tools_of_row(record, handling)
    pending = record.get("pending_user_turns")
    asked = tuple(text for text in pending if isinstance(text, str)) if isinstance(pending, list) else ()
    return Draft(turns, tools.tools, pending=asked, padded=tools.padded)


def turns_column(record: RawRecord) -> str:
    """The column with the turns, of several the first that is a list with something in it. Raises `Quarantined`."""
    present = turn_columns(record)
    if not present:
        raise Quarantined("no_messages", "no column of turns among: " + ", ".join(map(str, list(record)[:12])))
    best = next((key for key in present if isinstance(record[key], list) and record[key]), None)
    best = best or next((key for key in present if record[key] is not None), present[0])
    if record[best] is None:
        raise Quarantined("no_messages", "null instead of turns", best)
    return best


def with_system(record: RawRecord, turns: list[Turn], handling: Handling) -> list[Turn]:
    """The turns, led by the system text that the row has in a column of its own and not yet among them."""
    for key in SYSTEM_KEYS:
        value = record.get(key)
        if value is None:
            continue
        text = text_of(value, handling, key)
        if not text.strip() and handling.repair("blank_system_removed", field=key):
            continue
        if all(turn.role != "system" or turn.content.strip() != text.strip() for turn in turns):
            return [Turn("system", text, field=key), *turns]
    return turns


def tools_of_row(record: RawRecord, handling: Handling) -> Tools:
    """The tools of the row's own column, or those that its metadata text holds."""
    for key in _TOOL_KEYS:
        if record.get(key):
            return read_tools(record[key], handling, key)
    metadata: Any = record.get("metadata")
    if holds_tools(metadata) and isinstance(metadata, str):
        try:
            metadata = parse_json(metadata)
        except NotALiteral:
            handling.refuse("bad_tools", metadata, "metadata")
    if isinstance(metadata, dict) and metadata.get("tools"):
        return read_tools(metadata["tools"], handling, "metadata.tools")
    return Tools([])


def holds_tools(metadata: object) -> bool:
    """Whether a metadata column is, or is the JSON text of, an object with tools."""
    if isinstance(metadata, str):
        return '"tools"' in metadata and metadata.lstrip().startswith("{")
    return isinstance(metadata, dict) and bool(metadata.get("tools"))
