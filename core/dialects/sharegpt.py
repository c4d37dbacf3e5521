"""ShareGPT's form and what grew on it: turns with `from` and `value`, calls as turns, as Hermes text or in brackets."""

from core.dialects.dialect import Dialect, Outline, has_turn_list
from core.dialects.draft import Draft, RawRecord
from core.dialects.handling import Handling
from core.dialects.message_lists import read_list

_CALL_ROLES = frozenset(("function_call", "observation", "observations", "function_response"))


def _has_from(row: Outline) -> bool:
    return row.turns_key is not None and "from" in row.turn_keys


def _brackets(row: Outline) -> bool:
    system = row.record.get("system")
    if not _has_from(row) or not isinstance(system, str):
        return False
    return "list of functions in JSON format" in system or ("[func" in system and "(params" in system)


def _json_mode(row: Outline) -> bool:
    return _has_from(row) and not row.mentions("<tools>") and row.mentions("<schema>")


def _hermes(row: Outline) -> bool:
    return row.turns_key is not None and (row.mentions("<tool_call>") or (_has_from(row) and row.mentions("<tools>")))


def _read_brackets(record: RawRecord, handling: Handling) -> Draft:
    draft = read_list(record, handling)
    draft.brackets = True
    return draft


def _read_pages(record: RawRecord, handling: Handling) -> Draft:
    draft = read_list(record, handling)
    draft.page = True
    return draft


TOOLACE = Dialect(
    "toolace_brackets",
    "ToolACE bracket calls",
    "turns with from and value, and a system column with a list of functions to be called in brackets",
    has_turn_list,
    _brackets,
    _read_brackets,
)
HERMES_JSON = Dialect(
    "hermes_json_mode",
    "Hermes JSON mode",
    "turns with from and value whose system text gives a <schema> to answer in",
    has_turn_list,
    _json_mode,
    read_list,
)
HERMES = Dialect(
    "hermes_xml",
    "Hermes function calling",
    "<tools> in the system text and <tool_call> in the answers",
    has_turn_list,
    _hermes,
    read_list,
)
LLAMA_FACTORY = Dialect(
    "llamafactory_sharegpt_tools",
    "ShareGPT with calls as turns",
    "turns from function_call and observation, tools as JSON text",
    has_turn_list,
    lambda row: _has_from(row) and (bool(row.roles & _CALL_ROLES) or bool(row.record.get("tools"))),
    read_list,
)
SHAREGPT = Dialect(
    "sharegpt",
    "ShareGPT",
    "a list of turns with from and value",
    has_turn_list,
    _has_from,
    _read_pages,
)
