"""`mixdown probe`, `render`, `mask`: what the target's template does to conversations, and what is trained on."""

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from core.commands.inputs import ArgOption, TargetOption, TemplateOption, conversations, load_target
from core.commands.output import AsJSON, emit, emit_lines, say, table
from core.workspace import BUNDLED_TARGET

if TYPE_CHECKING:
    from core.chat import Supervision, Target

BATCH = 256
"""Conversations that are tokenized at a time."""

File = Annotated[str, typer.Argument(help="JSON Lines of conversations or raw rows, or - for standard input.")]
Layout = Annotated[Literal["auto", "turn", "conversation"], typer.Option(help="One row per conversation, per turn, or what fits.")]
Supervise = Annotated[Literal["sampled", "boundary", "content"], typer.Option(help="Which tokens of a turn are trained on.")]
Thinking = Annotated[Literal["auto", "on", "off", "default"], typer.Option(help="The generation prompt's thinking setting.")]
SeqLength = Annotated[int, typer.Option(help="Longest row, in tokens.", min=8)]
Turns = Annotated[
    Literal["after_user", "all", "last", "flagged"],
    typer.Option(help="Which assistant turns are trained on; flagged: those that the data do not flag off."),
]
Reasoning = Annotated[bool, typer.Option("--reasoning/--no-reasoning", help="Train on the reasoning of a turn too.")]
ToolCalls = Annotated[bool, typer.Option("--tool-calls/--no-tool-calls", help="Train on tool calls too.")]
SpecialTokens = Annotated[
    Literal["quarantine", "as_text"], typer.Option(help="Rows whose text holds a special token: left out, or encoded as ordinary text.")
]
Overlong = Annotated[
    Literal["truncate", "drop", "keep_last_turns"], typer.Option(help="Rows past the limit: cut, dropped, or without their earliest turns.")
]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    for command in (probe, render, mask):
        app.command()(command)


def probe(
    target: TargetOption = str(BUNDLED_TARGET), template: TemplateOption = None, arg: ArgOption = None, as_json: AsJSON = False
) -> None:
    """Find out what the template accepts, refuses and rewrites, by rendering."""
    from core.chat import probe as probe_template

    report = probe_template(load_target(target, template, arg))
    if as_json:
        emit(report.to_json())
        return
    table("What the template does", ["question", "answer"], report.findings())


def render(
    file: File,
    target: TargetOption = str(BUNDLED_TARGET),
    template: TemplateOption = None,
    arg: ArgOption = None,
    generation_prompt: Annotated[bool, typer.Option("--generation-prompt", help="End with the prompt for the next answer.")] = False,
    as_json: AsJSON = False,
) -> None:
    """Render conversations with the target's own template."""
    loaded = load_target(target, template, arg)
    rendered = _rendered(file, loaded, generation_prompt)
    if as_json:
        emit_lines(rendered)
        return
    for row in rendered:
        say(f"── row {row['row']}" + (f" refused: {row['refused']}" if "refused" in row else ""))
        typer.echo(row.get("text", ""))


def _rendered(file: str, target: "Target", generation_prompt: bool) -> Iterator[dict[str, Any]]:
    from core.chat import TemplateRefused

    for row, conversation, reason in conversations(file):
        if conversation is None:
            yield {"row": row, "refused": reason}
            continue
        try:
            yield {"row": row, "text": target.template.render(conversation, add_generation_prompt=generation_prompt)}
        except TemplateRefused as refusal:
            yield {"row": row, "refused": str(refusal)}


def mask(
    file: File,
    target: TargetOption = str(BUNDLED_TARGET),
    template: TemplateOption = None,
    arg: ArgOption = None,
    layout: Layout = "auto",
    supervise: Supervise = "sampled",
    thinking: Thinking = "auto",
    seq_length: SeqLength = 4096,
    turns: Turns = "after_user",
    reasoning: Reasoning = True,
    tool_calls: ToolCalls = True,
    special_tokens: SpecialTokens = "quarantine",
    overlong: Overlong = "truncate",
    oracle: Annotated[bool, typer.Option("--oracle", help="Use the slow path only, which defines the mask.")] = False,
    as_json: AsJSON = False,
) -> None:
    """Tokenize conversations into training rows with their loss mask."""
    from core.chat import Supervision

    loaded = load_target(target, template, arg)
    choices = Supervision(
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
    made = _masked(file, loaded, choices, oracle)
    if as_json:
        emit_lines(made)
        return
    table(
        "Training rows",
        ["row", "turn", "tokens", "trainable", "dropped"],
        [[row["row"], row["turn"], len(row["input_ids"]), sum(row["loss_mask"]), row["dropped"] or ""] for row in made],
    )


def _masked(file: str, target: "Target", choices: "Supervision", oracle: bool) -> Iterator[dict[str, Any]]:
    from core.chat import FastPath, supervise

    fast = FastPath(target, choices)
    rows = iter(conversations(file))
    while batch := list(islice(rows, BATCH)):
        usable = [conversation for _, conversation, _ in batch if conversation is not None]
        made = iter([supervise(one, target, choices) for one in usable] if oracle else fast.supervise_batch(usable))
        for row, conversation, reason in batch:
            if conversation is None:
                yield _dropped(row, None, reason.partition(":")[0], reason)
                continue
            supervised = next(made)
            for training in supervised.rows:
                yield {
                    "row": row,
                    "turn": training.turn,
                    "input_ids": training.input_ids.tolist(),
                    "loss_mask": [int(value) for value in training.loss_mask],
                    "dropped": None,
                    "truncated": training.truncated,
                    "cut_turn": training.cut_turn,
                    "shortened": training.shortened,
                }
            for dropped in supervised.dropped:
                yield _dropped(row, dropped.turn, dropped.reason, dropped.detail)


def _dropped(row: int, turn: int | None, reason: str, detail: str) -> dict[str, Any]:
    return {"row": row, "turn": turn, "input_ids": [], "loss_mask": [], "dropped": reason, "detail": detail}
