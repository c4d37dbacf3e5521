"""OpenAI's form and its neighbours: lists of turns with `role` and `content`, tools beside them, in them or in metadata."""

from core.dialects.blocks import has_blocks
from core.dialects.content import text_of
from core.dialects.dialect import Dialect, Outline, has_turn_list
from core.dialects.draft import Draft, RawRecord, Turn
from core.dialects.handling import Handling
from core.dialects.message_lists import holds_tools, read_list

_SPLIT_ROLES = frozenset(
    ("reasoning", "thinking", "thought", "answer", "tool_call", "tool_calls", "tool_output", "tool_result", "tool_use", "function_call")
)


def _has_roles(row: Outline) -> bool:
    return row.turns_key is not None and "role" in row.turn_keys


def _string_arguments(row: Outline) -> bool:
    for turn in row.turns:
        calls = turn.get("tool_calls")
        for call in calls if isinstance(calls, list) else ():
            function = call.get("function", call) if isinstance(call, dict) else None
            if isinstance(function, dict) and isinstance(function.get("arguments"), str):
                return True
    return False


def _has_calls(row: Outline) -> bool:
    return any(turn.get("tool_calls") for turn in row.turns)


def _tools_in_metadata(row: Outline) -> bool:
    return _has_roles(row) and not row.record.get("tools") and holds_tools(row.record.get("metadata"))


def _blocks(row: Outline) -> bool:
    return _has_roles(row) and any(isinstance(turn.get("content"), list) and has_blocks(turn["content"]) for turn in row.turns)


def _function_xml(row: Outline) -> bool:
    if not _has_roles(row) or not row.mentions("<function="):
        return False
    said = [turn["content"] for turn in row.turns if isinstance(turn.get("content"), str) and turn.get("role") in ("assistant", "gpt")]
    return any("<function=" in text and "<tool_call>" not in text for text in said)


def _any_list(row: Outline) -> bool:
    """The last resort for a column named like a list of turns, so that a broken one is reported as such."""
    return any(key in row.keys for key in ("messages", "conversations", "conversation"))


def _read_with_prompt(record: RawRecord, handling: Handling) -> Draft:
    """A row whose turns lack the question has it in its `prompt` column; elsewhere that column repeats it."""
    draft = read_list(record, handling)
    prompt = record.get("prompt")
    if isinstance(prompt, str) and prompt.strip() and draft.turns and all(turn.role != "user" for turn in draft.turns):
        at = next((index for index, turn in enumerate(draft.turns) if turn.role != "system"), len(draft.turns))
        draft.turns.insert(at, Turn("user", text_of(prompt, handling, "prompt"), field="prompt"))
    return draft


ANTHROPIC = Dialect(
    "anthropic_blocks",
    "Anthropic content blocks",
    "a content list with blocks of type tool_use, tool_result or thinking",
    has_turn_list,
    _blocks,
    read_list,
)
SPLIT_ROLES = Dialect(
    "split_reasoning_roles",
    "Split roles",
    "roles reasoning, answer, tool_call or tool_output beside role and content",
    has_turn_list,
    lambda row: _has_roles(row) and bool(row.roles & _SPLIT_ROLES),
    read_list,
)
FUNCTION_XML = Dialect(
    "function_xml_in_text",
    "Function XML in text",
    "assistant text with <function=NAME><parameter=KEY> and no <tool_call> around it",
    has_turn_list,
    _function_xml,
    read_list,
)
TOOLS_IN_METADATA = Dialect(
    "openai_tools_in_metadata_string",
    "OpenAI turns, tools in metadata",
    "turns with role and content, no tools column, and metadata whose JSON has tools",
    has_turn_list,
    _tools_in_metadata,
    read_list,
)
TOOLS_UNDER_CONVERSATIONS = Dialect(
    "openai_tools_under_conversations_key",
    "OpenAI turns under the ShareGPT column",
    "a conversations column whose turns have role and content, with tools or tool calls",
    has_turn_list,
    lambda row: row.turns_key == "conversations" and _has_roles(row) and (_has_calls(row) or isinstance(row.record.get("tools"), list)),
    read_list,
)
TOOLS = Dialect(
    "openai_tools_args_string",
    "OpenAI turns with tools, arguments as text",
    "turns with tool_calls whose arguments are text",
    has_turn_list,
    lambda row: _has_roles(row) and _string_arguments(row),
    read_list,
)
MESSAGES = Dialect(
    "openai_messages",
    "OpenAI turns",
    "a list of turns with role and content",
    has_turn_list,
    lambda row: _has_roles(row) or bool(row.turns) or _any_list(row),
    _read_with_prompt,
)
