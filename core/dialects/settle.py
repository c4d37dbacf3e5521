"""From a draft to a canonical conversation: tools, reasoning and calls taken out of text, order, ids, characters.

The same for every dialect, in one fixed sequence. It does not know where a draft came from.
"""

from dataclasses import dataclass

from core.conversation import Conversation, Message, ToolCall
from core.dialects.brackets import called_name, looks_like_calls, read_brackets
from core.dialects.call_ids import link_calls
from core.dialects.characters import clean_text
from core.dialects.draft import Call, Draft, Turn
from core.dialects.handling import Handling
from core.dialects.literals import NotALiteral
from core.dialects.markup import is_html, saved_page, to_markdown
from core.dialects.observations import take_results
from core.dialects.order import Ending, in_order, systems_first
from core.dialects.reasoning import Split, Unbalanced, split_one_sided, split_reasoning
from core.dialects.system_tools import tools_of_system
from core.dialects.text_calls import Schemas, take_calls
from core.dialects.typed_values import property_schemas


@dataclass(frozen=True, slots=True)
class Settled:
    """A canonical conversation, and whether there is an answer in it to learn from."""

    conversation: Conversation
    ending: Ending


def settle(draft: Draft, handling: Handling) -> Settled:
    """The conversation that the draft is. Raises `Quarantined`."""
    # First of all, since a turn that holds nothing but a NUL is empty.
    for turn in draft.turns:
        turn.content = clean_text(turn.content, handling)
        turn.reasoning = clean_text(turn.reasoning, handling) if turn.reasoning else None
    draft.turns = systems_first(draft.turns, handling)
    _take_system_tools(draft, handling)
    if draft.page:
        _read_pages(draft.turns, handling)
    schemas = property_schemas(draft.tools) if draft.tools else {}
    names = {str(tool["function"]["name"]) for tool in draft.tools} if draft.brackets else set()
    for turn in draft.turns:
        if turn.role == "assistant":
            _take_from_text(turn, schemas, names, draft.brackets, handling)
    draft.turns = take_results(draft.turns)
    ending = in_order(draft, handling)
    turns = link_calls(draft.turns, handling)
    if draft.padded:
        _remove_padding(turns, schemas)
    messages = tuple(_message(turn, handling) for turn in turns)
    pending = tuple(clean_text(text, handling) for text in draft.pending)
    return Settled(Conversation(messages, tuple(draft.tools), pending_user_turns=pending), ending)


def _take_system_tools(draft: Draft, handling: Handling) -> None:
    for turn in draft.turns:
        if turn.role != "system":
            continue
        found = tools_of_system(turn.content, handling)
        if found:
            draft.tools = draft.tools or found.tools
            turn.content = found.text
            draft.turns = [other for other in draft.turns if other is not turn or found.text]
            return


def _read_pages(turns: list[Turn], handling: Handling) -> None:
    if all("<" not in turn.content for turn in turns):
        return
    said = [turn.content for turn in turns if turn.role == "assistant"]
    asked = [turn.content for turn in turns if turn.role == "user"]
    if saved_page(said, asked) and handling.repair("html_to_markdown"):
        for turn in turns:
            if turn.role in ("user", "assistant") and is_html(turn.content):
                turn.content = to_markdown(turn.content)


def _take_from_text(turn: Turn, schemas: Schemas, names: set[str], brackets: bool, handling: Handling) -> None:
    text = turn.content
    if brackets and looks_like_calls(text, names):
        _take_brackets(turn, names, handling)
    elif "<" in text:
        split = _split(text, turn, handling)
        if split.reasoning:
            pieces = [piece for piece in split.reasoning if turn.reasoning is None or piece != turn.reasoning.strip()]
            if (turn.reasoning and pieces) or len(split.reasoning) > 1:
                handling.repair("reasoning_merged", field=turn.field)
            turn.reasoning = "\n\n".join([turn.reasoning, *pieces] if turn.reasoning else pieces)
        turn.content = split.content
        content, calls = take_calls(split.content, schemas, handling, turn.field)
        if calls and not turn.calls:
            turn.content, turn.calls = content, calls
        elif calls and _equal(calls, turn.calls) and handling.repair("repeated_call_text_dropped", split.content, turn.field):
            turn.content = content
    if turn.part == "call" and not turn.calls:
        handling.refuse("bad_call_text", turn.content, turn.field)


def _equal(calls: list[Call], others: list[Call]) -> bool:
    return [(call.name, call.arguments) for call in calls] == [(call.name, call.arguments) for call in others]


def _split(text: str, turn: Turn, handling: Handling) -> Split:
    try:
        return split_reasoning(text)
    except Unbalanced as tag:
        action = handling.refuse("unbalanced_think", f"{tag} without its partner in: {text}", turn.field)
        return split_one_sided(text) if action == "repair" else Split(text, ())


def _take_brackets(turn: Turn, names: set[str], handling: Handling) -> None:
    try:
        turn.calls = read_brackets(turn.content, handling)
        turn.content = ""
    except NotALiteral:
        # Brackets around something else are text; around the name of a tool they were meant as its call.
        if called_name(turn.content) in names:
            handling.refuse("bad_call_text", turn.content, turn.field)


def _remove_padding(turns: list[Turn], schemas: Schemas) -> None:
    """Null arguments that the tool does not have came from the same column store as the nulls of its schema."""
    for turn in turns:
        for call in turn.calls:
            known = schemas.get(call.name)
            if known is not None:
                call.arguments = {key: value for key, value in call.arguments.items() if value is not None or key in known}


def _call(call: Call, handling: Handling) -> ToolCall:
    return ToolCall(clean_text(call.id or "", handling), clean_text(call.name, handling), call.arguments)


def _message(turn: Turn, handling: Handling) -> Message:
    if turn.role in ("tool", "assistant") and (turn.calls or turn.call_id or turn.name):
        return Message(
            turn.role,
            clean_text(turn.content, handling),
            clean_text(turn.reasoning, handling) if turn.reasoning else None,
            tuple(_call(call, handling) for call in turn.calls),
            clean_text(turn.call_id, handling) if turn.call_id else None,
            clean_text(turn.name, handling) if turn.name else None,
            turn.train,
        )
    return Message(
        turn.role,
        clean_text(turn.content, handling),
        clean_text(turn.reasoning, handling) if turn.reasoning else None,
        name=clean_text(turn.name, handling) if turn.name else None,
        train=turn.train,
    )
