"""Conversations through the demo target's own chat template: whole, and cut into rows exactly as a server would see them.

It knows the template and where an answer begins. It knows no tokens.
"""

import functools
import json
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import jinja2
from jinja2.ext import loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment

from core.conversation import Conversation, messages_json

TARGET = Path(__file__).resolve().parent.parent / "target"


def _refuse(message: str) -> NoReturn:
    raise jinja2.exceptions.TemplateError(message)


@functools.cache
def template() -> jinja2.Template:
    """The target's chat template, compiled as transformers compiles it."""
    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols])
    environment.filters["tojson"] = lambda value: json.dumps(value, ensure_ascii=False)
    environment.globals["raise_exception"] = _refuse
    return environment.from_string((TARGET / "chat_template.jinja").read_text(encoding="utf-8"))


def render(conversation: Conversation, upto: int | None = None, *, thinking: bool | None = None) -> str:
    """The first `upto` messages as text; with `thinking` given, the generation prompt for the next turn behind them."""
    messages = messages_json(conversation.messages[:upto])
    tools = list(conversation.tools) or None
    if thinking is None:
        return template().render(messages=messages, tools=tools, add_generation_prompt=False)
    return template().render(messages=messages, tools=tools, add_generation_prompt=True, enable_thinking=thinking)


@dataclass(frozen=True)
class ServedRow:
    """One training text and its answers: character spans from the generation prompt's end through `<|im_end|>`."""

    text: str
    answers: tuple[tuple[int, int], ...]


def prompt(conversation: Conversation, turn: int) -> str:
    """What the server feeds the model before it writes message `turn`."""
    return render(conversation, turn, thinking=bool(conversation.messages[turn].reasoning_content))


def served_rows(conversation: Conversation) -> list[ServedRow]:
    """One row per stretch of turns whose history the template does not rewrite, last first."""
    rows: list[ServedRow] = []
    text, spans = "", list[tuple[int, int]]()
    for turn in reversed([i for i, m in enumerate(conversation.messages) if m.role == "assistant"]):
        whole = render(conversation, turn + 1)
        if not text.startswith(whole):
            if spans:
                rows.append(ServedRow(text, tuple(reversed(spans))))
            text, spans = whole, []
        start = len(prompt(conversation, turn))
        spans.append((start, len(whole) - 1))
    return [*rows, ServedRow(text, tuple(reversed(spans)))]
