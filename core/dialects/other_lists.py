"""Lists of turns in less usual clothes: as JSON text, as bare texts, as SWE-agent steps, or split from the last answer."""

from typing import Any

from core.dialects.content import text_of
from core.dialects.dialect import TURN_LISTS, Dialect, Outline, has_turn_list
from core.dialects.draft import Draft, RawRecord, Turn
from core.dialects.handling import Handling, Quarantined
from core.dialects.literals import NotALiteral, decoded_again
from core.dialects.message_lists import read_list, tools_of_row, with_system
from core.dialects.messages import read_turns, turns_in_columns, turns_in_text
from core.dialects.roles import meaning

_TEXT_LISTS = ("data", "conversation", "conversations", "dialogue", "dialog", "messages", "chat")
_JSON_COLUMNS = ("messages_json", "messages", "conversations", "conversation", "trajectory", "conversations_json")


def _json_column(record: RawRecord) -> str | None:
    for key in _JSON_COLUMNS:
        value = record.get(key)
        if (isinstance(value, str) and value.strip()) or _is_list_of_turn_texts(value):
            return key
    return None


def _is_list_of_turn_texts(value: object) -> bool:
    """Whether it is a list whose items are each the JSON text of a turn."""
    if not isinstance(value, list) or not value or not all(isinstance(item, str) and item.lstrip().startswith("{") for item in value):
        return False
    return turns_in_text("[" + ",".join(value) + "]") is not None


def _read_json_text(record: RawRecord, handling: Handling) -> Draft:
    key = _json_column(record)
    if key is None:
        raise Quarantined("no_messages", "no text with turns", next((name for name in _JSON_COLUMNS if name in record), None))
    text = record[key] if isinstance(record[key], str) else "[" + ",".join(record[key]) + "]"
    try:
        value = decoded_again(text)
    except NotALiteral as error:
        raise Quarantined("bad_messages", f"{error}: {text}", key) from None
    if turns := turns_in_columns(value):
        handling.repair("columns_to_turns", field=key)
        value = turns
    others = {name: item for name, item in record.items() if name not in TURN_LISTS and name != key}
    if isinstance(value, dict) and has_turn_list(frozenset(value)):
        return read_list(others | value, handling)
    return read_list(others | {"messages": value}, handling)


def _is_list_of_turns(value: object) -> bool:
    if isinstance(value, str):
        return turns_in_text(value) is not None
    return isinstance(value, list) and any(isinstance(item, dict) for item in value)


def _flat_column(record: RawRecord) -> str | None:
    for key in _TEXT_LISTS:
        value = record.get(key)
        if isinstance(value, list) and value and all(isinstance(item, str) or item is None for item in value):
            return key
    return None


def _read_flat(record: RawRecord, handling: Handling) -> Draft:
    key = _flat_column(record)
    if key is None:
        raise Quarantined("no_messages", "no list of texts", next((name for name in _TEXT_LISTS if name in record), None))
    turns = [
        Turn("assistant" if index % 2 else "user", text_of(text, handling, f"{key}[{index}]"), field=f"{key}[{index}]")
        for index, text in enumerate(record[key])
    ]
    return Draft(with_system(record, turns, handling))


def _swe_agent(row: Outline) -> bool:
    return row.turns_key == "trajectory" and "text" in row.turn_keys and "role" in row.turn_keys and "content" not in row.turn_keys


def _read_swe_agent(record: RawRecord, handling: Handling) -> Draft:
    """Observations are user turns there, also the last one; a step's system text stands in a field of its own."""
    steps = record.get("trajectory")
    if not isinstance(steps, list):
        raise Quarantined("no_messages", "no list of steps", "trajectory")
    turns: list[Turn] = []
    for index, step in enumerate(steps):
        where = f"trajectory[{index}]"
        if not isinstance(step, dict):
            raise Quarantined("bad_message", f"a step of type {type(step).__name__}", where)
        role = step.get("role")
        known = meaning(role) if isinstance(role, str) else None
        text = step.get("text")
        if known is not None and known.role == "system" and not text:
            text = step.get("system_prompt") or ""
        turns += read_turns([{"role": role, "content": text}], handling, where)
    return Draft(turns, tools_of_row(record, handling).tools, observes=True)


def _read_input_output(record: RawRecord, handling: Handling) -> Draft:
    asked = record.get("input")
    turns = read_turns(turns_in_text(asked) if isinstance(asked, str) else asked, handling, "input")
    answer: Any = record.get("output")
    if isinstance(answer, list) and answer:
        handling.repair("first_choice_taken", field="output")
        answer = answer[0]
    if isinstance(answer, dict):
        answer = answer.get("message", answer)
    item = answer if isinstance(answer, dict) else {"content": answer}
    turns += read_turns([{**item, "role": "assistant"}], handling, "output")
    tools = tools_of_row(record, handling)
    return Draft(with_system(record, turns, handling), tools.tools, padded=tools.padded)


SWE_SMITH = Dialect(
    "swesmith_messages_string",
    "SWE-smith trajectories",
    "messages as JSON text beside traj_id and instance_id",
    lambda keys: "messages" in keys and "traj_id" in keys,
    lambda row: row.is_text("messages"),
    _read_json_text,
)
JSON_TEXT = Dialect(
    "messages_json_string",
    "Turns as JSON text",
    "a text column messages_json, messages or conversations that holds a JSON list of turns",
    lambda keys: any(key in keys for key in _JSON_COLUMNS),
    lambda row: row.turns_key is None and _json_column(row.record) is not None,
    _read_json_text,
)
FLAT_LIST = Dialect(
    "flat_alternating_list",
    "Alternating texts",
    "a list of texts, the user's first, without roles",
    lambda keys: any(key in keys for key in _TEXT_LISTS),
    lambda row: row.turns_key is None and _flat_column(row.record) is not None,
    _read_flat,
)
SWE_AGENT = Dialect(
    "sweagent_text_trajectory",
    "SWE-agent trajectories",
    "a trajectory whose steps have role and text",
    lambda keys: "trajectory" in keys,
    _swe_agent,
    _read_swe_agent,
)
INPUT_OUTPUT = Dialect(
    "input_list_output_string",
    "Input turns and an output",
    "input is a list of turns, output the answer",
    lambda keys: "input" in keys and "output" in keys,
    lambda row: _is_list_of_turns(row.record["input"]),
    _read_input_output,
)
