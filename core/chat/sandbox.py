"""The Jinja environment in which chat templates run: sandboxed, and the same in effect as transformers'.

Templates come from strangers, so they see plain data only and can change nothing. Whitespace handling, the `tojson`
filter, `raise_exception`, `strftime_now` and `{% generation %}` follow `transformers/utils/chat_template_utils.py`, which is what
"the same bytes as apply_chat_template" means. It does not know conversations.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime
from typing import Any

import jinja2
from jinja2 import nodes
from jinja2.ext import Extension
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import Namespace

from core.chat.trace import BEGIN, END, Trace, mark_loops

_active: ContextVar[Trace | None] = ContextVar("active_trace", default=None)


class RaisedByTemplate(jinja2.TemplateError):
    """The template called `raise_exception`; the message is its own words."""


@contextmanager
def tracing(trace: Trace) -> Iterator[None]:
    """Renders of traced templates inside this block report to `trace`."""
    token = _active.set(trace)
    try:
        yield
    finally:
        _active.reset(token)


def build_environment(now: datetime) -> ImmutableSandboxedEnvironment:
    """The environment; `strftime_now` always gives `now`, so that two renders of one row are equal on any day."""
    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[GenerationTag, "jinja2.ext.loopcontrols"])

    def strftime_now(format: str) -> str:
        return now.strftime(format)

    environment.filters["tojson"] = _to_json
    environment.globals.update(
        raise_exception=_raise_exception,
        strftime_now=strftime_now,
        dict=_PlainDict(),
        namespace=_PlainNamespace,
    )
    environment.globals[BEGIN] = _begin
    environment.globals[END] = _end
    return environment


def compile_traced(environment: ImmutableSandboxedEnvironment, source: str) -> jinja2.Template:
    """The template with a mark at every turn of every loop; the marks are empty unless they meet a message (`Trace`)."""
    tree = environment.parse(source)
    mark_loops(tree)
    return environment.from_string(tree)


class GenerationTag(Extension):
    """`{% generation %}…{% endgeneration %}`: prints its body; a listening `Trace` gets its bounds marked."""

    tags = {"generation"}  # noqa: RUF012  (jinja2's own declaration is a plain set)

    def parse(self, parser: Parser) -> nodes.Node:
        """Turn the block into a call that receives the body."""
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.CallBlock(self.call_method("_print"), [], [], body).set_lineno(line)

    def _print(self, caller: Callable[[], str]) -> str:
        trace = _active.get()
        return caller() if trace is None else trace.generated(caller())


def _begin(loop: int, *targets: object) -> str:
    trace = _active.get()
    return "" if trace is None else trace.begin(loop, targets)


def _end(loop: int) -> str:
    trace = _active.get()
    return "" if trace is None else trace.end(loop)


def _raise_exception(message: str) -> None:
    raise RaisedByTemplate(message)


def _to_json(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | str | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """Jinja's own filter escapes HTML characters, which no chat model was trained on."""
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


class _PlainDict:
    """`dict` for templates, without the class behind it."""

    def __call__(self, *args: Any, **kwargs: Any) -> dict[Any, Any]:
        return dict(*args, **kwargs)

    def fromkeys(self, *args: Any, **kwargs: Any) -> dict[Any, Any]:
        """`dict.fromkeys`."""
        return dict.fromkeys(*args, **kwargs)


class _PlainNamespace(Namespace):
    """Jinja's `namespace` without underscore names, which reach into the interpreter."""

    def __init__(*args: Any, **kwargs: Any) -> None:
        self, values = args[0], dict(*args[1:], **kwargs)
        for name in values:
            _refuse_underscore(name)
        Namespace.__init__(self, values)

    def __setitem__(self, name: str, value: Any) -> None:
        _refuse_underscore(name)
        super().__setitem__(name, value)


def _refuse_underscore(name: object) -> None:
    if isinstance(name, str) and name.startswith("_"):
        raise jinja2.exceptions.SecurityError(f"A chat template may not store the name {name!r} on a namespace; rename it.")
