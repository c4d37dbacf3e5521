"""What commands read: raw rows from a file or standard input, conversations from either form, targets with their options.

It knows where input comes from, not what is done with it.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from core.conversation import Conversation
from core.errors import InputError

if TYPE_CHECKING:
    from core.chat import Target
    from core.dialects import RawRow

TargetOption = Annotated[str, typer.Option("--target", help="A folder or hub id with tokenizer and chat template.")]
TemplateOption = Annotated[Path | None, typer.Option("--template", help="A .jinja file instead of the target's own template.")]
ArgOption = Annotated[
    list[str] | None, typer.Option("--arg", help="A template argument, NAME=VALUE (VALUE as JSON or text); may be given several times.")
]


class BadArgument(InputError):
    """A `--arg` that is not NAME=VALUE."""


def raw_rows(file: str) -> "Iterator[RawRow]":
    """The raw rows of a file of any kind a source may be, or of JSON Lines on standard input ("-")."""
    from core.sources import read_lines, read_rows

    if file == "-":
        return read_lines(sys.stdin.buffer, "standard input")
    return read_rows(Path(file))


def conversations(file: str) -> "Iterator[tuple[int, Conversation | None, str]]":
    """`(row, conversation, reason)` per raw row: canonical conversations as they stand, other rows converted first.

    A row that cannot be used has no conversation, and the reason says why. Rows that are only parts of others are left out.
    """
    from core.dialects import convert

    converted = _pending(raw_rows(file))
    for row, canonical, raw in converted:
        if canonical is not None:
            yield row, canonical, ""
            continue
        for outcome in convert(raw):
            if outcome.status in ("kept", "prompt_only"):
                yield outcome.row, outcome.conversation, ""
            elif outcome.status == "quarantined":
                yield outcome.row, None, f"{outcome.reason}: {outcome.detail}" if outcome.detail else str(outcome.reason)


def _pending(rows: "Iterator[RawRow]") -> "Iterator[tuple[int, Conversation | None, list[RawRow]]]":
    """Canonical rows one by one; neighbouring raw rows together, because one conversation may stand in several of them."""
    held: list[RawRow] = []
    for row in rows:
        canonical = None if row.problem else Conversation.parse(row.value)
        if canonical is None:
            held.append(row)
            continue
        if held:
            yield held[0].position, None, held
            held = []
        yield row.position, canonical, []
    if held:
        yield held[0].position, None, held


def parsed_filters(items: list[str]) -> dict[str, Any]:
    """`["status=kept", "turns=2..8", "has_tools=true"]` as `core.sources.Source.page` takes filters. Raises `BadArgument`.

    A column that is given twice wants either value (all, for repairs).
    """
    found: dict[str, list[Any]] = {}
    for item in items:
        column, equals, text = item.partition("=")
        if not equals:
            raise BadArgument(f"--where {item!r} is not COLUMN=VALUE; write for example --where status=kept or --where turns=2..8.")
        found.setdefault(column.strip(), []).append(_filter_value(text.strip()))
    return {column: values[0] if len(values) == 1 else values for column, values in found.items()}


def _filter_value(text: str) -> Any:
    low, dots, high = text.partition("..")
    ends = [int(end) if end else None for end in (low, high)] if dots and all(_is_number(end) or not end for end in (low, high)) else None
    if ends is not None and any(end is not None for end in ends):
        return tuple(ends)
    if text in ("true", "false"):
        return text == "true"
    return int(text) if _is_number(text) else text


def _is_number(text: str) -> bool:
    return text.removeprefix("-").isdecimal() and text.isascii()


def load_target(target: str, template: Path | None, args: list[str] | None) -> "Target":
    """The target with the template and arguments that the options name."""
    from core.chat import Target

    return Target.load(target, template=template, args=template_args(args))


def template_args(args: list[str] | None) -> dict[str, Any]:
    """`["enable_thinking=false"]` as `{"enable_thinking": False}`; raises `BadArgument`."""
    import json

    parsed: dict[str, Any] = {}
    for arg in args or []:
        name, equals, text = arg.partition("=")
        if not equals or not name.isidentifier():
            raise BadArgument(f"--arg {arg!r} is not NAME=VALUE; write for example --arg enable_thinking=false.")
        try:
            parsed[name] = json.loads(text)
        except json.JSONDecodeError:
            parsed[name] = text
    return parsed
