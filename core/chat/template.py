"""The target's chat template: loaded from its files, rendered to the same bytes as `apply_chat_template`.

It knows messages, tools and template arguments. It does not know tokens.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import jinja2
import jinja2.meta
import jinja2.nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment

from core.chat.sandbox import RaisedByTemplate, build_environment, compile_traced, tracing
from core.chat.tokenizer_config import BadTargetFile, read_json_object
from core.chat.trace import Span, Trace, unused_mark
from core.conversation import Conversation, JSONObject, Tool, messages_json
from core.errors import InputError, MixdownError

DEFAULT_DATE = datetime(2026, 1, 1)
"""What `strftime_now` prints from when nobody chose a date."""

Chat = Conversation | tuple[Sequence[Mapping[str, Any]], Sequence[Tool] | None]
"""A conversation, or its messages and tools already in OpenAI form."""

_REASONING_KEYS = ("reasoning_content", "thinking", "reasoning")
_PLAIN_KEYS = frozenset({"role", "content", "tool_calls", "tool_call_id", "name"})
"""A message with no other keys is handed to a template as it is."""
_OWN_ARGUMENTS = frozenset({"messages", "tools", "documents", "add_generation_prompt"})


class TemplateMissing(InputError):
    """There is no chat template where one was looked for."""


class TemplateBroken(InputError):
    """The chat template is not valid Jinja."""


class BadTemplateArgument(InputError):
    """A template argument that cannot be passed."""


class TemplateRefused(MixdownError):
    """The template cannot print this conversation.

    `message` is the template's own text where it raised one, else what went wrong in it. `code` is short and stable,
    for counting: the message in snake case, or "template_error" where the template broke instead of objecting.
    """

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message)
        self.message = message
        self.code = code


@dataclass(frozen=True)
class TracedRender:
    """A render with the span of every message. `exact` is False where the marks changed the text and spans are unknown."""

    text: str
    spans: tuple[Span, ...]
    generations: tuple[tuple[int, int], ...]
    exact: bool = True


class ChatTemplate:
    """One model's template, or its several named ones, with the special tokens and arguments it is given on every render."""

    def __init__(
        self,
        sources: Mapping[str, str] | str,
        *,
        tokens: Mapping[str, str] | None = None,
        args: Mapping[str, Any] | None = None,
        date: datetime | None = None,
        origin: str = "the chat template",
    ) -> None:
        """`sources`: name → Jinja source ("default", "tool_use", ...) or the only source. `tokens`: `bos_token`, ... as text."""
        self.sources: dict[str, str] = {"default": sources} if isinstance(sources, str) else dict(sources)
        self.tokens: dict[str, str] = dict(tokens or {})
        self.args: dict[str, Any] = checked_arguments(args or {})
        self.date = date or DEFAULT_DATE
        self.origin = origin
        if "default" not in self.sources and "tool_use" not in self.sources:
            names = ", ".join(sorted(self.sources)) or "none"
            raise TemplateMissing(f"{origin} has no default chat template (found: {names}); name one with --template FILE.jinja.")
        self._compiled: dict[tuple[str, bool], jinja2.Template] = {}
        for name in self.sources:
            self._template(name)

    @classmethod
    def from_folder(
        cls, folder: Path, *, tokens: Mapping[str, str] | None = None, args: Mapping[str, Any] | None = None, date: datetime | None = None
    ) -> "ChatTemplate":
        """The template of a model folder, found as transformers finds it. Raises `TemplateMissing`, `TemplateBroken`."""
        sources = folder_sources(folder)
        if not sources:
            raise TemplateMissing(
                f"{folder} has no chat template (neither chat_template.jinja nor one in tokenizer_config.json); give --template FILE.jinja."
            )
        return cls(sources, tokens=tokens, args=args, date=date, origin=str(folder))

    @classmethod
    def from_file(
        cls, path: Path, *, tokens: Mapping[str, str] | None = None, args: Mapping[str, Any] | None = None, date: datetime | None = None
    ) -> "ChatTemplate":
        """The template in one `.jinja` file. Raises `TemplateMissing`, `TemplateBroken`."""
        if not path.is_file():
            raise TemplateMissing(f"There is no template file {path}; give the path of a .jinja file.")
        return cls(_read_source(path), tokens=tokens, args=args, date=date, origin=str(path))

    @cached_property
    def variables(self) -> frozenset[str]:
        """Every variable the template reads and does not set: messages, tools, special tokens, arguments."""
        found: set[str] = set()
        for tree in self.trees():
            found |= jinja2.meta.find_undeclared_variables(tree)
        return frozenset(found)

    @property
    def takes_thinking(self) -> bool:
        """Whether the argument `enable_thinking` makes a difference to it."""
        return "enable_thinking" in self.variables

    @property
    def unread_args(self) -> tuple[str, ...]:
        """Given arguments that the template never reads (often a misspelling)."""
        return tuple(name for name in self.args if name not in self.variables)

    def trees(self) -> list[jinja2.nodes.Template]:
        """The parsed templates, for looking at what they hold; not for rendering."""
        return [self._environment.parse(source) for source in self.sources.values()]

    def source(self, with_tools: bool) -> str:
        """The Jinja source that renders a conversation with or without tools."""
        return self.sources[self._name(with_tools)]

    def render(self, conversation: Chat, *, add_generation_prompt: bool = False, **args: Any) -> str:
        """The text of the conversation. `args` overrule the template's own. Raises `TemplateRefused`."""
        messages, tools = _parts(conversation)
        return self._render(messages, tools, add_generation_prompt, args, traced=False)

    def trace(self, conversation: Chat, *, add_generation_prompt: bool = False, **args: Any) -> TracedRender:
        """As `render`, and which message each part came from. Raises `TemplateRefused`."""
        messages, tools = _parts(conversation)
        plain = self._render(messages, tools, add_generation_prompt, args, traced=False)
        trace = Trace(messages, unused_mark(plain))
        try:
            with tracing(trace):
                marked = self._render(messages, tools, add_generation_prompt, args, traced=True)
        except TemplateRefused:
            return TracedRender(plain, (), (), exact=False)
        text, spans, generations = trace.read(marked)
        if text != plain:
            return TracedRender(plain, (), (), exact=False)
        return TracedRender(plain, tuple(spans), tuple(generations))

    @cached_property
    def _environment(self) -> ImmutableSandboxedEnvironment:
        return build_environment(self.date)

    def _name(self, with_tools: bool) -> str:
        if with_tools and "tool_use" in self.sources:
            return "tool_use"
        if "default" not in self.sources:
            raise TemplateRefused("The target has a template for tool use only, and this conversation has no tools.", "no_default_template")
        return "default"

    def _template(self, name: str, traced: bool = False) -> jinja2.Template:
        key = (name, traced)
        if key not in self._compiled:
            source = self.sources[name]
            try:
                self._compiled[key] = compile_traced(self._environment, source) if traced else self._environment.from_string(source)
            except jinja2.TemplateSyntaxError as error:
                raise TemplateBroken(
                    f"{self.origin}: the chat template is not valid Jinja (line {error.lineno}: {error.message})."
                ) from error
        return self._compiled[key]

    def _render(
        self, messages: list[JSONObject], tools: list[Tool] | None, add_generation_prompt: bool, args: Mapping[str, Any], traced: bool
    ) -> str:
        template = self._template(self._name(tools is not None), traced)
        values = {**self.tokens, **self.args, **args}
        try:
            return template.render(messages=messages, tools=tools, documents=None, add_generation_prompt=add_generation_prompt, **values)
        except RaisedByTemplate as error:
            message = str(error.message)
            raise TemplateRefused(message, _code(message)) from None
        except Exception as error:  # a template is a stranger's program: anything can come out of it
            message = f"the template fails on this conversation ({type(error).__name__}: {error})"
            raise TemplateRefused(message, "template_error") from error


def folder_sources(folder: Path) -> dict[str, str]:
    """Name → source of every template in a model folder; files win over `tokenizer_config.json` (transformers' order)."""
    single, several = folder / "chat_template.jinja", folder / "additional_chat_templates"
    sources = {"default": _read_source(single)} if single.is_file() else {}
    if several.is_dir():
        sources.update({path.stem: _read_source(path) for path in sorted(several.glob("*.jinja"))})
    if sources:
        return sources
    for name in ("tokenizer_config.json", "chat_template.json"):
        value = read_json_object(folder / name).get("chat_template")
        if isinstance(value, str):
            return {"default": value}
        if isinstance(value, dict):
            return {str(key): str(source) for key, source in value.items()}
        if isinstance(value, list):
            return _named_list(folder / name, value)
    return {}


def checked_arguments(args: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments as a dict; raises `BadTemplateArgument` for a name that is not free or not an identifier."""
    for name, value in args.items():
        if not isinstance(name, str) or not name.isidentifier():
            raise BadTemplateArgument(f"{name!r} cannot be the name of a template argument; use letters, digits and '_'.")
        if name in _OWN_ARGUMENTS:
            raise BadTemplateArgument(f"The template argument {name!r} is set by Mixdown itself; remove it from the recipe.")
        if not _is_json(value):
            raise BadTemplateArgument(
                f"The template argument {name!r} is a {type(value).__name__}; give text, a number, true/false, a list or an object."
            )
    return dict(args)


def _is_json(value: object) -> bool:
    if isinstance(value, Mapping):
        return all(isinstance(key, str) and _is_json(item) for key, item in value.items())
    if isinstance(value, list | tuple):
        return all(_is_json(item) for item in value)
    return value is None or isinstance(value, str | int | float | bool)


def _named_list(path: Path, entries: Sequence[Any]) -> dict[str, str]:
    try:
        return {entry["name"]: entry["template"] for entry in entries}
    except (KeyError, TypeError) as error:
        raise BadTargetFile(
            f'{path}: "chat_template" is a list whose items are not {{"name", "template"}}; download the target again.'
        ) from error


def _read_source(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise TemplateBroken(f"{path} is not UTF-8 text ({error}); save the template as UTF-8.") from error


def _parts(conversation: Chat) -> tuple[list[JSONObject], list[Tool] | None]:
    """Fresh message dicts as transformers hands them to a template: no null values, reasoning under each name in use."""
    if isinstance(conversation, Conversation):
        messages: Sequence[Mapping[str, Any]] = messages_json(conversation.messages)
        tools: Sequence[Tool] | None = conversation.tools
    else:
        messages, tools = conversation
    return [_template_message(message) for message in messages], list(tools) if tools else None


def _template_message(message: Mapping[str, Any]) -> JSONObject:
    if message.keys() <= _PLAIN_KEYS and None not in message.values():
        return dict(message)
    plain = {key: value for key, value in message.items() if value is not None and key != "train"}
    reasoning = next((plain[key] for key in _REASONING_KEYS if key in plain), None)
    return plain if reasoning is None else {"thinking": reasoning, **plain, "reasoning_content": reasoning}


def template_messages(messages: Sequence[Mapping[str, Any]]) -> list[JSONObject]:
    """Fresh message dicts as transformers hands them to a template."""
    return [_template_message(message) for message in messages]


def _code(message: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", message.lower()).strip("_")[:60].rstrip("_") or "refused"
