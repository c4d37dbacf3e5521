"""Which role a raw name means. Unknown names are never guessed to be the assistant.

It knows names only; what `function` means (a call or its result) is decided by the content.
"""

from dataclasses import dataclass

from core.conversation import Role
from core.dialects.draft import Part


@dataclass(frozen=True, slots=True)
class Meaning:
    """The canonical role of a raw name, and which piece of an assistant's turn it is where it is only a piece."""

    role: Role
    part: Part | None = None
    repair: str | None = None
    either: bool = False
    """A call when the content is one, else a tool result."""


_USER = Meaning("user")
_ASSISTANT = Meaning("assistant")
_TOOL = Meaning("tool")
_CALL = Meaning("assistant", "call")

ALIASES: dict[str, Meaning] = {
    **dict.fromkeys(("user", "human", "prompter", "question", "instruction"), _USER),
    **dict.fromkeys(("assistant", "gpt", "model", "ai", "bot"), _ASSISTANT),
    **dict.fromkeys(("conclusion", "caller"), _ASSISTANT),
    "answer": Meaning("assistant", "answer"),
    **dict.fromkeys(("bing", "bard", "chatgpt"), Meaning("assistant", repair="product_role_as_assistant")),
    **dict.fromkeys(("system", "system_prompt"), Meaning("system")),
    "developer": Meaning("system", repair="developer_as_system"),
    **dict.fromkeys(("function_call", "tool_call", "tool_calls", "functioncall", "function-call", "tool_use"), _CALL),
    **dict.fromkeys(("reasoning", "thinking", "thought"), Meaning("assistant", "reasoning")),
    **dict.fromkeys(("tool", "observation", "observations", "function_response", "function response", "tool_response"), _TOOL),
    **dict.fromkeys(("tool_output", "tool_result", "toolresult", "ipython", "environment"), _TOOL),
    "function": Meaning("tool", either=True),
}
"""By lower-case name."""


def meaning(name: str) -> Meaning | None:
    """What the raw role name means, in any case and with spaces around; None for a name that no alias covers."""
    return ALIASES.get(name) or ALIASES.get(name.strip().lower())
