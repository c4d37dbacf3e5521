"""Finds out by rendering what a chat template accepts, loses, rewrites and adds, before any work is spent on it.

It knows templates from the outside only: conversations of marker words go in, text is looked at. It knows no data.
"""

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any, Literal

import jinja2.nodes

from core.chat.attribution import message_spans
from core.chat.frame import thinking_settings
from core.chat.probe_cases import (
    ANSWER,
    ANSWER_2,
    CASES,
    FUNCTION,
    REASON,
    TOOL,
    USER,
    USER_2,
    VALUE,
    ProbeCase,
    answer,
    calling,
    result,
    user,
)
from core.chat.target import Target
from core.chat.template import Chat, ChatTemplate, TemplateRefused
from core.conversation import Conversation, JSONObject, Tool

GenerationTags = Literal["none", "working", "broken"]
_OTHER_DATE = datetime(1999, 12, 31)
_GENERATION = re.compile(r"\{%[-+]?\s*generation\s*[-+]?%\}")


@dataclass(frozen=True)
class CaseReport:
    """What became of one probe conversation. `lost`: it was taken, but some of its text is printed nowhere."""

    name: str
    question: str
    accepted: bool
    lost: bool
    refusal: str | None
    repair: str

    @property
    def answer(self) -> str:
        """In plain words."""
        if not self.accepted:
            return f"refused: {self.refusal}" + (f" → {self.repair}" if self.repair else "")
        return "taken, but a part of it is not printed" + (f" → {self.repair}" if self.repair else "") if self.lost else "yes"


@dataclass(frozen=True)
class ProbeReport:
    """The template, field by field.

    `generation_prompts`: thinking setting ("default", "on", "off") → what the generation prompt adds, or the refusal.
    `arguments`: what arguments given as object and as JSON text turn into. `prefix_stable`: for each kind of conversation,
    whether every turn's render is a prefix of the whole, so that one row per conversation is exact.
    """

    cases: tuple[CaseReport, ...]
    takes_thinking: bool
    generation_prompts: dict[str, str]
    arguments: dict[str, str]
    preamble: str
    header: str
    turn_end: str
    end_ids: tuple[int, ...]
    prefix_stable: dict[str, bool]
    drops_reasoning: bool
    generation_tags: GenerationTags
    special_tokens_forge: bool
    prints_date: bool
    variables: tuple[str, ...]
    unread_args: tuple[str, ...] = field(default=())

    @property
    def refusals(self) -> dict[str, str]:
        """Case → the template's message, for what it refuses."""
        return {case.name: case.refusal or "" for case in self.cases if not case.accepted}

    @property
    def repairs(self) -> dict[str, str]:
        """Case → what would save such rows, for what is refused or loses text."""
        return {case.name: case.repair for case in self.cases if (not case.accepted or case.lost) and case.repair}

    @property
    def rewrites_history(self) -> bool:
        """Whether some kind of conversation is printed otherwise once it goes on."""
        return not all(self.prefix_stable.values())

    def findings(self) -> list[list[str]]:
        """Rows of [question, answer] in plain words, for a table."""
        rows = [[case.question, case.answer] for case in self.cases]
        rows += [[f"Generation prompt, thinking {setting}", _shown(text)] for setting, text in self.generation_prompts.items()]
        rows += [[f"Arguments given as {form} become", _shown(text)] for form, text in self.arguments.items()]
        rows += [[f"One row per conversation is exact: {kind}", _yes(stable)] for kind, stable in self.prefix_stable.items()]
        rows += [
            ["Written before the first message", _shown(self.preamble) if self.preamble else "nothing"],
            ["An assistant turn begins with", _shown(self.header) if self.header else "nothing of its own"],
            ["An assistant turn ends with", _shown(self.turn_end) if self.turn_end else "no token of its own"],
            ["Earlier reasoning is dropped from history", _yes(self.drops_reasoning)],
            ["{% generation %} tags", self.generation_tags],
            ["Special tokens in text would forge turns", "yes, such rows are dropped" if self.special_tokens_forge else "no"],
            ["Prints the date", "yes, a fixed one is used" if self.prints_date else "no"],
            ["Variables it reads", ", ".join(self.variables)],
        ]
        return [*rows, ["Arguments given that it never reads", ", ".join(self.unread_args)]] if self.unread_args else rows

    def to_json(self) -> JSONObject:
        """All fields, with `refusals`, `repairs`, `rewrites_history` and the findings."""
        return {
            **asdict(self),
            "refusals": self.refusals,
            "repairs": self.repairs,
            "rewrites_history": self.rewrites_history,
            "findings": self.findings(),
        }


def probe(target: Target) -> ProbeReport:
    """The report on the target's template; a few dozen renders, no model."""
    template, frame = target.template, target.frame
    return ProbeReport(
        cases=tuple(_case(template, case) for case in CASES),
        takes_thinking=template.takes_thinking,
        generation_prompts=_generation_prompts(template),
        arguments={
            "an object": _arguments(template, {"word": VALUE, "flag": True, "none": None}),
            "JSON text": _arguments(template, f'{{"word": "{VALUE}", "flag": true, "none": null}}'),
        },
        preamble=_preamble(template),
        header=frame.header,
        turn_end=target.encoder.token(frame.end_ids[0]) if frame.end_ids else "",
        end_ids=frame.end_ids,
        prefix_stable=_prefix_stable(template),
        drops_reasoning=_drops_reasoning(template),
        generation_tags=_generation_tags(template),
        special_tokens_forge=_forges(target),
        prints_date=_prints_date(template),
        variables=_variables(template),
        unread_args=template.unread_args,
    )


def refusal_of(conversation: Conversation, target: Target) -> str | None:
    """The message with which the template refuses the conversation, None when it takes it."""
    try:
        target.template.render(conversation)
    except TemplateRefused as refusal:
        return refusal.message
    return None


def _case(template: ChatTemplate, case: ProbeCase) -> CaseReport:
    try:
        text = template.render((case.messages, case.tools))
    except TemplateRefused as refusal:
        return CaseReport(case.name, case.question, False, False, refusal.message, case.repair)
    lost = any(word not in text for word in case.expect)
    return CaseReport(case.name, case.question, True, lost, None, case.repair)


def _try(template: ChatTemplate, messages: Sequence[JSONObject], tools: Sequence[Tool] = (), **args: Any) -> str | None:
    """The render, None where it is refused."""
    try:
        return template.render((messages, tools), **args)
    except TemplateRefused:
        return None


def _generation_prompts(template: ChatTemplate) -> dict[str, str]:
    prompts: dict[str, str] = {}
    for setting in thinking_settings(template):
        name = {True: "on", False: "off"}.get(setting.get("enable_thinking"), "default")  # type: ignore[arg-type]
        try:
            history = template.render(([user()], None), **setting)
            prompt = template.render(([user()], None), add_generation_prompt=True, **setting)
        except TemplateRefused as refusal:
            prompts[name] = f"refused: {refusal.message}"
            continue
        prompts[name] = prompt[len(history) :] if prompt.startswith(history) else prompt
    return prompts


def _arguments(template: ChatTemplate, arguments: object) -> str:
    try:
        text = template.render(([user(), calling(arguments), result(), answer()], [TOOL]))
    except TemplateRefused as refusal:
        return f"refused: {refusal.message}"
    line_of = text.find(VALUE)
    if line_of < 0:
        return "nothing"
    start = max(text.rfind(FUNCTION, 0, line_of), 0)
    end = text.find(ANSWER, line_of)
    stop = min((place for mark in ("</tool_call>", "<|", "</s>") if (place := text.find(mark, line_of)) > 0), default=end)
    return text[start : min(stop, end) if end > 0 else stop].strip()


def _preamble(template: ChatTemplate) -> str:
    try:
        chat: Chat = ([user(), answer()], None)
        spans = message_spans(template, ([user(), answer()], None), {})
        text = template.render(chat)
    except TemplateRefused:
        return ""
    return text[: spans[0].end] if spans and spans[0].message is None else ""


def _prefix_stable(template: ChatTemplate) -> dict[str, bool]:
    call = {"word": VALUE}
    kinds: dict[str, tuple[list[JSONObject], list[Tool]]] = {
        "chat": ([user(), answer(), user(USER_2), answer(ANSWER_2)], []),
        "tool calls": ([user(), calling(call), result(), answer()], [TOOL]),
        "reasoning over several user turns": ([user(), answer(reasoning=REASON), user(USER_2), answer(ANSWER_2, REASON)], []),
        "reasoning between tool calls": ([user(), calling(call, reasoning=REASON), result(), answer(reasoning=REASON)], [TOOL]),
    }
    return {kind: _is_stable(template, messages, tools) for kind, (messages, tools) in kinds.items()}


def _is_stable(template: ChatTemplate, messages: Sequence[JSONObject], tools: Sequence[Tool]) -> bool:
    whole = _try(template, messages, tools)
    turns = [place for place, message in enumerate(messages) if message["role"] == "assistant"]
    parts = [_try(template, messages[: place + 1], tools) for place in turns]
    return whole is not None and all(part is not None and whole.startswith(part) for part in parts)


def _drops_reasoning(template: ChatTemplate) -> bool:
    once = _try(template, [user(), answer(reasoning=REASON)])
    later = _try(template, [user(), answer(reasoning=REASON), user(USER_2), answer(ANSWER_2)])
    return once is not None and later is not None and REASON in once and REASON not in later


def _generation_tags(template: ChatTemplate) -> GenerationTags:
    if not any(_GENERATION.search(source) for source in template.sources.values()):
        return "none"
    try:
        traced = template.trace(([user(), answer()], None))
    except TemplateRefused:
        return "broken"
    marked = "".join(traced.text[start:end] for start, end in traced.generations)
    return "working" if ANSWER in marked and USER not in marked else "broken"


def _forges(target: Target) -> bool:
    for token in target.forgeries.guarded:
        plain = _try(target.template, [user(), answer()])
        forged = _try(target.template, [user(f"{USER}{token}{USER_2}"), answer()])
        if plain is not None and forged is not None:
            token_id = target.encoder.id_of(token)
            return target.encoder.encode(forged).count(token_id or -1) > target.encoder.encode(plain).count(token_id or -1)
    return False


def _variables(template: ChatTemplate) -> tuple[str, ...]:
    """What it reads from outside, less names that its own loops assign (Jinja counts those as read from outside too)."""
    own = {
        name.name
        for tree in template.trees()
        for loop in tree.find_all(jinja2.nodes.For)
        for name in loop.find_all(jinja2.nodes.Name)
        if name.ctx == "store" and name.name != "enable_thinking"
    }
    return tuple(sorted(template.variables - own))


def _prints_date(template: ChatTemplate) -> bool:
    other = ChatTemplate(template.sources, tokens=template.tokens, args=template.args, date=_OTHER_DATE)
    return _try(template, [user(), answer()]) != _try(other, [user(), answer()])


def _shown(text: str) -> str:
    return text.replace("\n", "⏎")


def _yes(value: bool) -> str:
    return "yes" if value else "no"
