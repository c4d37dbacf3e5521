"""Renders with minijinja, several times as fast as Jinja2, where it was seen to print the same bytes.

It is sure of a render or gives None, and then Jinja2 decides. It does not know tokens.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Never

import minijinja

from core.chat.frame import thinking_settings
from core.chat.probe_cases import CASES, TOOL, answer, calling, named, result, user
from core.chat.template import ChatTemplate, TemplateRefused, template_messages
from core.conversation import JSONObject, Tool, holds_float

_HELD = 64
"""Lists of tools that are held."""
_GENERATION = re.compile(r"(\{%[-+]?\s*)(end)?generation(\s*[-+]?%\})")
_TRIMMED_BY_PYTHON_ALONE = ("\x1c", "\x1d", "\x1e", "\x1f")
"""Python's `strip` takes these for blanks, Rust's does not, so they stand in the render of a template that trims."""

_HARD_TEXTS = (
    " x ", "\nx\n", "\n\n", "", "\tx\u00a0", "\u2028x\u0085", "<b>&amp;'\"</b>", "é 世界 🙂 e\u0301", "{{ x }} {% if %}",
    "a\\n\\\\b", "\x00\x07\x7f",
    "<tool_response>\nx\n</tool_response>", "x </think> y", "<think>\nx\n</think>\n\ny", "ß İ ﬁ",
)  # fmt: skip
_HARD_VALUES: tuple[object, ...] = (
    True, False, None, 0, -7, 10**12, 2**63, 10**30, "", "text", "é<>&'\"\n", [], {}, [1, None, [True, {"a": 1.5}]],
    {"b": {"a": 1e20, "é": -0.0, "c": [1.0]}}, ["x", "é"],
)  # fmt: skip


class Ready(NamedTuple):
    """A conversation as `FastRenderer.printed` takes it; `name`: which of the template's sources prints it."""

    name: str
    messages: Sequence[Mapping[str, Any]]
    tools: Sequence[Tool] | None


class FastRenderer:
    """One template in minijinja. Make it with `FastRenderer.proven`."""

    def __init__(self, template: ChatTemplate) -> None:
        """Raises `minijinja.TemplateError` where minijinja cannot read the template."""
        self._template = template
        self._offered: dict[int, tuple[Sequence[Tool], bool]] = {}
        """lists of tools by `id`, and whether minijinja can print them; what is held keeps its `id`"""
        self._written: dict[int, tuple[Tool, str | None]] = {}
        """each of these tools by `id`, and its JSON text once that was asked for"""

        def strftime_now(format: str) -> str:
            return template.date.strftime(format)

        self._environment = minijinja.Environment(
            templates={name: _GENERATION.sub(_plain_block, source) for name, source in template.sources.items()},
            filters={"tojson": self._to_json},
            globals={"raise_exception": _refuse, "strftime_now": strftime_now, **template.tokens, **template.args},
            trim_blocks=True,
            lstrip_blocks=True,
            debug=False,
        )

    @classmethod
    def proven(cls, template: ChatTemplate) -> "FastRenderer | str":
        """The renderer when it prints every conversation of the probe as Jinja2 does, else a sentence that says where it does not."""
        try:
            renderer = cls(template)
        except minijinja.TemplateError as error:
            return f"minijinja cannot read the template ({error.message})"
        for messages, tools in probe_chats():
            for args in thinking_settings(template):
                # Without generation prompts, as all that is rendered with it.
                fast = renderer.render(messages, tools, False, args)
                if fast is None:
                    continue
                try:
                    slow: str | None = template.render((messages, tools), **args)
                except TemplateRefused:
                    slow = None
                if fast != slow:
                    return f"minijinja prints a probe conversation otherwise than Jinja2 ({_difference(fast, slow)})"
        return renderer

    def render(
        self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Tool] | None, add_generation_prompt: bool, args: Mapping[str, Any]
    ) -> str | None:
        """The text, None where Jinja2 has to say: it may refuse, or print something else. `messages` in OpenAI form."""
        ready = self.ready(messages, tools)
        return None if ready is None else self.printed(ready, len(messages), add_generation_prompt, args)

    def ready(self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Tool] | None) -> Ready | None:
        """The conversation in the form that templates take, for several renders of its beginnings; None where Jinja2 has to print it."""
        plain = True
        for message in messages:
            if len(message) != 2 or type(message["content"]) is not str:
                plain = False
                if "tool_calls" in message and holds_float(message["tool_calls"]):
                    return None  # a float on its own comes back from minijinja as another number's text (1.0 as 1, 1e20 as its digits)
        if tools and not self._printable(tools):
            return None
        name = "tool_use" if tools and "tool_use" in self._template.sources else "default"
        # No template can change what it is given here, so messages of a role and a text alone need no copy.
        return Ready(name, messages if plain else template_messages(messages), tools or None)

    def printed(self, ready: Ready, count: int, add_generation_prompt: bool, args: Mapping[str, Any]) -> str | None:
        """The text of the first `count` messages, None where Jinja2 has to say."""
        messages = ready.messages if count == len(ready.messages) else ready.messages[:count]
        try:
            text = self._environment.render_template(
                ready.name, messages=messages, tools=ready.tools, documents=None, add_generation_prompt=add_generation_prompt, **args
            )
        except Exception:  # noqa: BLE001  a template is a stranger's program; Jinja2 finds the words for what went wrong
            return None
        for blank in _TRIMMED_BY_PYTHON_ALONE:  # ten times as fast as a regex
            if blank in text:
                return None
        return text

    def _printable(self, tools: Sequence[Tool]) -> bool:
        """Whether no float stands in the tools; many conversations share theirs, so they are held and written as JSON once."""
        known = self._offered.get(id(tools))
        if known is None:
            if len(self._offered) >= _HELD:
                self._offered.clear()
                self._written.clear()
            known = self._offered[id(tools)] = tools, not holds_float(tools)
            self._written.update((id(tool), (tool, None)) for tool in tools)
        return known[1]

    def _to_json(self, value: Any, indent: int | None = None, **options: Any) -> str:
        if indent is not None or options:
            return json.dumps(value, **{"ensure_ascii": False, "indent": indent, **options})
        known = self._written.get(id(value))
        if known is None or known[0] is not value:
            return _DUMPS(value)  # json.dumps makes an encoder at every call
        text = known[1]
        if text is None:
            text = _DUMPS(value)
            self._written[id(value)] = known[0], text
        return text


def probe_chats() -> Iterator[tuple[list[JSONObject], list[Tool] | None]]:
    """The probe's conversations, and hard texts and values in every place."""
    for case in CASES:
        yield list(case.messages), list(case.tools) or None
    for text in _HARD_TEXTS:
        yield [named("system", text), user(text), answer(text), user(text), answer(text, text)], None
        yield [user("x"), calling({"word": text, text: "x"}, content=text, reasoning=text), result(text), answer(text)], [TOOL]
        described = {"type": "function", "function": {**TOOL["function"], "description": text}}
        yield [user(text), answer(text)], [TOOL, described]
    for value in _HARD_VALUES:
        yield [user("x"), calling({"word": value}, {"a": "b", "deep": {"c": value}}), result("x"), result("y", 1), answer("z")], [TOOL]


_DUMPS = json.JSONEncoder(ensure_ascii=False).encode


def _refuse(message: str) -> Never:
    raise minijinja.TemplateError(str(message))


def _plain_block(tag: re.Match[str]) -> str:
    """`{% generation %}` as a block of minijinja's with the same whitespace around it."""
    return f"{tag[1]}{'endif' if tag[2] else 'if true'}{tag[3]}"


def _difference(fast: str, slow: str | None) -> str:
    if slow is None:
        return "Jinja2 refuses it"
    place = next((place for place, (one, other) in enumerate(zip(fast, slow, strict=False)) if one != other), min(len(fast), len(slow)))
    return f"{fast[place : place + 20]!r} for {slow[place : place + 20]!r}"
