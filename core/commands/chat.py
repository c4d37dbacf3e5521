"""`mixdown probe`, `render`, `mask`: what the target's template does to conversations, and what is trained on."""

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from core.commands.inputs import ArgOption, TargetOption, TemplateOption, conversations, load_target
from core.commands.mix import MixOptions, RecipeArgument, SourceOption, chosen_recipe
from core.commands.output import AsJSON, Home, emit, emit_lines, say, table
from core.commands.supervision import with_supervision
from core.workspace import BUNDLED_TARGET, Workspace

if TYPE_CHECKING:
    from core.chat import Forecast, Supervised, Supervision, Target

File = Annotated[str, typer.Argument(help="JSON Lines of conversations or raw rows, or - for standard input.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    for command in (probe, render, mask):
        app.command()(command)


def probe(
    recipe: RecipeArgument = None,
    source: SourceOption = None,
    target: Annotated[str | None, typer.Option("--target", help="A folder or hub id; else the recipe's or the bundled one.")] = None,
    template: TemplateOption = None,
    arg: ArgOption = None,
    sample: Annotated[int, typer.Option(help="Rows looked at per source, evenly spread; 0 for all.", min=0)] = 2000,
    as_json: AsJSON = False,
    home: Home = None,
) -> None:
    """Find out what the template accepts, refuses and rewrites, by rendering; of a recipe's sources too, before anything is tokenized.

    With a recipe or sources: how many rows of each would not be trained on, for which reasons, and what would save them.
    """
    from core.chat import probe as probe_template

    if recipe is None and not source:
        loaded, found = load_target(target or str(BUNDLED_TARGET), template, arg), None
    else:
        loaded, found = _forecasts(recipe, source or [], MixOptions(target=target, template=template, args=tuple(arg or ())), sample, home)
    report = probe_template(loaded)
    if as_json:
        emit(report.to_json() | ({} if found is None else {"sources": [one.to_json() for one in found]}))
        return
    table("What the template does", ["question", "answer"], report.findings())
    if found is not None:
        _announce(found)


def _forecasts(
    recipe: str | None, sources: list[str], options: MixOptions, sample: int, home: str | None
) -> "tuple[Target, list[Forecast]]":
    from core.chat import FastPath, forecast
    from core.sources import Library
    from core.tokens.target import load_target as target_of
    from core.tokens.target import supervision_of

    workspace = Workspace.at(home)
    chosen = chosen_recipe(workspace, recipe, replace(options, sources=tuple(sources)))
    target = target_of(chosen)
    path, library = FastPath(target, supervision_of(chosen)), Library(workspace)
    return target, [forecast(library.source(entry.name), path, sample or None) for entry in chosen.sources]


def _announce(found: "list[Forecast]") -> None:
    from core.chat.characters import spelled_out

    table(
        "What of each source is not trained on",
        ["source", "rows", "looked at", "lost", "reason", "what would save them"],
        [
            [one.source, one.kept, one.rows, loss.whole, f"{len(loss.rows):,} × {spelled_out(loss.meaning)}", loss.remedy]
            for one in found
            for loss in one.losses
        ],
    )
    fine = [one.source for one in found if not one.losses]
    if fine:
        say(f"nothing is refused or dropped of {', '.join(fine)}")


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


@with_supervision
def mask(
    file: File,
    choices: "Supervision",
    target: TargetOption = str(BUNDLED_TARGET),
    template: TemplateOption = None,
    arg: ArgOption = None,
    oracle: Annotated[bool, typer.Option("--oracle", help="Use the slow path only, which defines the mask.")] = False,
    as_json: AsJSON = False,
) -> None:
    """Tokenize conversations into training rows with their loss mask."""
    made = _masked(file, load_target(target, template, arg), choices, oracle)
    if as_json:
        emit_lines(made)
        return
    table(
        "Training rows",
        ["row", "turn", "tokens", "trainable", "dropped"],
        [[row["row"], row["turn"], len(row["input_ids"]), sum(row["loss_mask"]), row["dropped"] or ""] for row in made],
    )


def _masked(file: str, target: "Target", choices: "Supervision", oracle: bool) -> Iterator[dict[str, Any]]:
    for (row, reason), made in _supervised(file, target, choices, oracle):
        if made is None:
            yield _dropped(row, None, reason.partition(":")[0], reason)
            continue
        for training in made.rows:
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
        for dropped in made.dropped:
            yield _dropped(row, dropped.turn, dropped.reason, dropped.detail)


def _supervised(file: str, target: "Target", choices: "Supervision", oracle: bool) -> "Iterator[tuple[tuple[int, str], Supervised | None]]":
    """`((row, reason), result)` per row; the reason where there is no conversation and so no result."""
    from core.chat import FastPath, settled, supervise

    rows = (((row, reason), conversation) for row, conversation, reason in conversations(file))
    if oracle:
        return ((key, None if one is None else supervise(one, target, choices)) for key, one in rows)
    return settled(FastPath(target, choices), rows)


def _dropped(row: int, turn: int | None, reason: str, detail: str) -> dict[str, Any]:
    return {"row": row, "turn": turn, "input_ids": [], "loss_mask": [], "dropped": reason, "detail": detail}
