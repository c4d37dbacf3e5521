"""What would save a row that is not trained on: the choice, or the repair of the conversation, by name.

It knows why rows are lost and what the probe found; it changes nothing.
"""

from collections.abc import Callable, Sequence

from core.chat.choices import Dropped
from core.chat.probe import CaseReport, ProbeReport
from core.conversation import Conversation

REMEDIES: dict[str, str] = {
    "special_token_in_content": 'read such tokens as ordinary text (special_tokens = "as_text")',
    "no_assistant_turn": "have the target answer it",
    "before_first_user": 'train on every turn (turns = "all")',
    "flagged_off": 'train on it all the same (turns = "after_user")',
    "not_separable": "train on reasoning and tool calls too",
    "too_long": 'raise seq_length, or cut such rows (overlong = "truncate")',
    "boundary_unstable": 'train on the whole conversation (layout = "conversation")',
    "no_supervised_token": 'raise seq_length, or keep the last turns (overlong = "keep_last_turns")',
    "unencodable_text": "import the source again: what is no Unicode is replaced then",
}
"""For every reason but a refusal, whose remedy depends on the template."""

_OTHERWISE = "leave the row out, or choose another target or template"


def remedy_for(dropped: Dropped, conversation: Conversation, report: Callable[[], ProbeReport]) -> str:
    """In a few words what would save the conversation or turn that was dropped.

    For a refusal it is the repair of the probe case that the template refuses in the same words and that the conversation is an
    instance of; failing that, of another refused case that it is an instance of. `report` is asked for refusals only.
    """
    code = dropped.reason.partition(":")[0]
    if code != "refused":
        return REMEDIES.get(code, "")
    refused = [case for case in report().cases if not case.accepted and case.repair]
    same = [case for case in refused if case.refusal == dropped.detail]
    found = _fitting(same, conversation) or _fitting(refused, conversation)
    return found.repair if found else _OTHERWISE


def _fitting(cases: Sequence[CaseReport], conversation: Conversation) -> CaseReport | None:
    return next((case for case in cases if case.name in _FITS and _FITS[case.name](conversation)), None)


def _roles(conversation: Conversation) -> list[str]:
    return [message.role for message in conversation.messages]


def _twice(role: str) -> Callable[[Conversation], bool]:
    return lambda chat: any(pair == (role, role) for pair in zip(_roles(chat), _roles(chat)[1:], strict=False))


def _first_but_system(chat: Conversation) -> str:
    return next((role for role in _roles(chat) if role != "system"), "")


def _only_results(chat: Conversation) -> bool:
    users = [message.content.strip() for message in chat.messages if message.role == "user"]
    return bool(users) and all(text.startswith("<tool_response>") and text.endswith("</tool_response>") for text in users)


def _orphan(chat: Conversation) -> bool:
    called = False
    for message in chat.messages:
        if message.role == "tool" and not called:
            return True
        called = bool(message.tool_calls) or (called and message.role == "tool")
    return False


_FITS: dict[str, Callable[[Conversation], bool]] = {
    "no_messages": lambda chat: not chat.messages,
    "no_user": lambda chat: "user" not in _roles(chat),
    "only_tool_response_users": _only_results,
    "late_system": lambda chat: "system" in _roles(chat)[1:],
    "leading_assistant": lambda chat: _first_but_system(chat) == "assistant",
    "leading_tool": lambda chat: _first_but_system(chat) == "tool",
    "orphan_tool": _orphan,
    "parallel_calls": lambda chat: any(len(message.tool_calls) > 1 for message in chat.messages),
    "tool_call": lambda chat: any(message.tool_calls or message.role == "tool" for message in chat.messages),
    "tools": lambda chat: bool(chat.tools),
    "two_users": _twice("user"),
    "two_assistants": _twice("assistant"),
    "system_first": lambda chat: _roles(chat)[:1] == ["system"],
    "trailing_user": lambda chat: _roles(chat)[-1:] == ["user"],
    "reasoning": lambda chat: any(message.reasoning_content for message in chat.messages),
}
"""Which conversations are instances of a probe case."""
