"""A conversation as people read one: bubbles, reasoning folded, tool calls and results as cards, tools as a table.

One escaped HTML string. It knows the one shape of a conversation and no template.
"""

import json
from collections.abc import Sequence

from core.conversation import Conversation, Message, Tool, ToolCall
from pages.components.visible import escaped

_LONG = 3000
"""Characters from which a text scrolls inside its bubble instead of stretching the page."""


def conversation_view(conversation: Conversation) -> str:
    """HTML of the whole conversation, its tools first."""
    bubbles = "".join(_bubble(index, message) for index, message in enumerate(conversation.messages))
    pending = "".join(
        f'<div class="md-msg user"><div class="who"><span>user, asked next</span></div>{_text(turn)}</div>'
        for turn in conversation.pending_user_turns
    )
    return f'{_tools(conversation.tools)}<div class="md-chat">{bubbles}{pending}</div>'


def _bubble(index: int, message: Message) -> str:
    label = message.role if not message.name else f"{message.role} · {message.name}"
    parts = [f'<div class="who"><span>{escaped(label)}</span><span>{index + 1}</span></div>']
    if message.reasoning_content:
        parts.append(
            f"<details><summary>reasoning, {len(message.reasoning_content):,} characters</summary>"
            f"{_text(message.reasoning_content)}</details>"
        )
    if message.role == "tool":
        parts.append(_text(message.content, "md-mono"))
    elif message.content:
        parts.append(_text(message.content))
    elif not message.tool_calls:
        parts.append('<div class="md-quiet">(no text)</div>')
    parts += [_call(call) for call in message.tool_calls]
    return f'<div class="md-msg {message.role}">{"".join(parts)}</div>'


def _text(text: str, style: str = "md-text") -> str:
    return f'<div class="{style}{" md-long" if len(text) > _LONG else ""}">{escaped(text)}</div>'


def _call(call: ToolCall) -> str:
    rows = "".join(
        f'<tr><td>{escaped(key)}</td><td class="md-mono">{escaped(_value(value))}</td></tr>' for key, value in call.arguments.items()
    )
    head = f'<div class="who"><b>calls {escaped(call.name)}</b><span>{escaped(call.id)}</span></div>'
    return f'<div class="md-call">{head}<table>{rows}</table></div>'


def _value(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1)


def _tools(tools: Sequence[Tool]) -> str:
    if not tools:
        return ""
    rows = "".join(_tool(tool) for tool in tools)
    return (
        f'<details style="margin-bottom:.7rem"><summary class="md-quiet">{len(tools)} tool{"s" if len(tools) > 1 else ""} offered</summary>'
        f'<table class="md-tools"><tr><th>name</th><th>what it does</th><th>parameters</th></tr>{rows}</table></details>'
    )


def _tool(tool: Tool) -> str:
    function = tool.get("function") or {}
    schema = function.get("parameters")
    properties = schema.get("properties") if isinstance(schema, dict) else None
    required = (schema.get("required") if isinstance(schema, dict) else None) or ()
    names = ", ".join(name if name in required else f"{name}?" for name in properties) if isinstance(properties, dict) else ""
    return (
        f'<tr><td class="md-mono">{escaped(str(function.get("name", "")))}</td><td>{escaped(str(function.get("description") or ""))}</td>'
        f'<td class="md-mono">{escaped(names)}</td></tr>'
    )
