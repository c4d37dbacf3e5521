"""What a chat template writes around an assistant turn: the header before it and the token that ends it.

Learned by rendering conversations of marker words. It does not know real conversations.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from core.chat.attribution import message_spans, span_of
from core.chat.encoding import Encoder
from core.chat.template import ChatTemplate, TemplateRefused
from core.conversation import JSONObject, Tool

USER, ANSWER, REASON, VALUE = "Uzqword", "Azqword", "Rzqword", "Vzqword"
"""Marker words: no template prints them by itself, and no special token holds them."""

_ATOM = re.compile(r"<[^<>\n]*>|\[[^\[\]\n]*\]|\w+|.", re.DOTALL)  # a tag is compared whole: "<think>" and "</think>" share nothing


@dataclass(frozen=True)
class TurnFrame:
    """`header`: text that begins every assistant turn and every generation prompt ("<|im_start|>assistant\\n").

    `end_ids`: tokens that end a turn, the usual one first; empty when the template ends turns with ordinary text.
    """

    header: str
    end_ids: tuple[int, ...]


def thinking_settings(template: ChatTemplate) -> list[dict[str, Any]]:
    """Arguments for each thinking setting the template can tell apart: none given, and on and off where it reads them."""
    if not template.takes_thinking or "enable_thinking" in template.args:
        return [{}]
    return [{}, {"enable_thinking": True}, {"enable_thinking": False}]


def learn_frame(template: ChatTemplate, encoder: Encoder, stop_ids: Sequence[int]) -> TurnFrame:
    """The frame; `stop_ids` (the model's stop tokens) stand in when the template shows no end token in any probe."""
    before: list[str] = []
    after: list[str] = []
    for turn, words in _turns(template):
        before.append(turn[: min(turn.find(word) for word in words if word in turn)])
        after.append(turn[max(turn.rfind(word) + len(word) for word in words if word in turn) :])
    before += _generation_prompts(template)
    end_ids: list[int] = []
    for tail in after:
        end_ids += [token_id for token_id in _end_of(encoder.encode(tail), encoder, end_ids) if token_id not in end_ids]
    return TurnFrame(header=_shared_beginning(before), end_ids=tuple(end_ids) or tuple(stop_ids))


def _turns(template: ChatTemplate) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Renders of one assistant turn, plain ones before those with tool calls, each with the marker words to look for."""
    user: JSONObject = {"role": "user", "content": USER}
    answer: JSONObject = {"role": "assistant", "content": ANSWER}
    call: JSONObject = {"id": "c0", "type": "function", "function": {"name": "lookup", "arguments": {"word": VALUE}}}
    calling: JSONObject = {"role": "assistant", "content": "", "tool_calls": [call]}
    result: JSONObject = {"role": "tool", "tool_call_id": "c0", "name": "lookup", "content": "found"}
    parameters = {"type": "object", "properties": {"word": {"type": "string", "description": "A word."}}, "required": ["word"]}
    tools: list[Tool] = [{"type": "function", "function": {"name": "lookup", "description": "Looks up.", "parameters": parameters}}]
    reasoning = {**answer, "reasoning_content": REASON}
    trials: list[tuple[list[JSONObject], list[Tool] | None]] = [
        ([user, answer], None),
        ([user, answer, user, answer], None),
        ([user, reasoning], None),
        ([user, calling], tools),
        ([user, calling, result, answer], tools),
    ]
    for messages, tools_given in trials:
        for args in thinking_settings(template):
            try:
                text = template.render((messages, tools_given), **args)
                span = span_of(message_spans(template, (messages, tools_given), args), 1)
            except TemplateRefused:
                continue
            if span is not None and any(word in text[span[0] : span[1]] for word in (ANSWER, REASON, VALUE)):
                yield text[span[0] : span[1]], (ANSWER, REASON, VALUE)


def _generation_prompts(template: ChatTemplate) -> Iterator[str]:
    chat = ([{"role": "user", "content": USER}], None)
    for args in thinking_settings(template):
        try:
            history = template.render(chat, **args)
            prompt = template.render(chat, add_generation_prompt=True, **args)
        except TemplateRefused:
            continue
        if prompt.startswith(history):
            yield prompt[len(history) :]


def _shared_beginning(texts: Sequence[str]) -> str:
    if not texts:
        return ""
    atoms = [_ATOM.findall(text) for text in texts]
    columns = zip(*atoms, strict=False)
    return "".join(column[0] for column in takewhile(lambda column: len(set(column)) == 1, columns))


def _end_of(tail: Sequence[int], encoder: Encoder, known: Sequence[int]) -> list[int]:
    """The end token in what stands after a turn's words: a known one, else the first special one, else the first added one."""
    if any(token_id in known for token_id in tail):
        return []
    special = [token_id for token_id in tail if token_id in encoder.special_ids]
    added = [token_id for token_id in tail if token_id in encoder.added]
    return (special or added)[:1]
