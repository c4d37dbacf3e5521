"""The options that say what is trained on, once for every command that takes them.

It knows their names and help, not what any of them does.
"""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

if TYPE_CHECKING:
    from core.chat import Supervision

# The choices of core.chat.choices once more: importing them would load tokenizers and templates whenever the command starts.
Layout = Literal["auto", "turn", "conversation"]
Supervise = Literal["sampled", "boundary", "content"]
Thinking = Literal["auto", "on", "off", "default"]
Turns = Literal["after_user", "all", "last", "flagged"]
SpecialTokens = Literal["quarantine", "as_text"]
Overlong = Literal["truncate", "drop", "keep_last_turns"]


def _options(
    layout: Annotated[Layout, typer.Option(help="One row per conversation, per turn, or what fits.")] = "auto",
    supervise: Annotated[Supervise, typer.Option(help="Which tokens of a turn are trained on.")] = "sampled",
    thinking: Annotated[Thinking, typer.Option(help="The generation prompt's thinking setting.")] = "auto",
    seq_length: Annotated[int, typer.Option(help="Longest row, in tokens.", min=8)] = 4096,
    turns: Annotated[
        Turns, typer.Option(help="Which assistant turns are trained on; flagged: those that the data do not flag off.")
    ] = "after_user",
    reasoning: Annotated[bool, typer.Option("--reasoning/--no-reasoning", help="Train on the reasoning of a turn too.")] = True,
    tool_calls: Annotated[bool, typer.Option("--tool-calls/--no-tool-calls", help="Train on tool calls too.")] = True,
    special_tokens: Annotated[
        SpecialTokens, typer.Option(help="Rows whose text holds a special token: left out, or encoded as ordinary text.")
    ] = "quarantine",
    overlong: Annotated[Overlong, typer.Option(help="Rows past the limit: cut, dropped, or without their earliest turns.")] = "truncate",
) -> "Supervision":
    from core.chat import Supervision

    return Supervision(
        supervise=supervise,
        thinking=thinking,
        layout=layout,
        seq_length=seq_length,
        turns=turns,
        reasoning=reasoning,
        tool_calls=tool_calls,
        special_tokens=special_tokens,
        overlong=overlong,
    )


def with_supervision(command: Callable[..., None]) -> Callable[..., None]:
    """The command with these options in the place of its parameter `choices`, which gets the `Supervision` made of them."""
    own, theirs = inspect.signature(command).parameters, inspect.signature(_options).parameters
    parameters = [option for name, one in own.items() for option in (theirs.values() if name == "choices" else (one,))]

    @wraps(command)
    def called(**given: Any) -> None:
        command(**{name: given[name] for name in own if name != "choices"}, choices=_options(**{name: given[name] for name in theirs}))

    called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # typer reads it, and the annotations
    called.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return called
