"""`mixdown suggest`: which sources a drafter accepts least of, and a recipe that gives them more."""

from pathlib import Path
from typing import Annotated

import typer

from core.commands.output import AsJSON, Home, emit, say, table
from core.workspace import Workspace


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(suggest)


def suggest(
    drafter: Annotated[Path, typer.Argument(help="A measured drafter's folder, or its name in the workspace.")],
    name: Annotated[str | None, typer.Option(help="What the new recipe is called; else the old name with the next number.")] = None,
    save: Annotated[bool, typer.Option("--save", help="Save it as a recipe of the workspace.")] = False,
    as_json: AsJSON = False,
    home: Home = None,
) -> None:
    """Say which sources lag, what more of them would cost, and suggest the next mix: bounded, damped, with a reason per source."""
    from core.jobs.suggesting import keep, suggestion_for

    workspace = Workspace.at(home)
    folder = drafter if drafter.is_dir() or len(drafter.parts) > 1 else workspace.drafter(str(drafter))
    found = suggestion_for(workspace, folder.resolve(), name)
    path = keep(workspace, found.recipe) if save else None
    if as_json:
        emit({**found.to_json(), "saved": str(path) if path else None})
        return
    table(
        f"Tokens per round by source; the mean of the mix is {found.mean:.2f}",
        ["source", "accepted", "prompts", "share", "suggested", "trainable tokens"],
        [
            [
                one.name,
                one.accepted.length if one.accepted else None,
                one.accepted.prompts if one.accepted else None,
                f"{one.share:.1%}",
                f"{one.suggested_share:.1%}",
                f"{one.trainable_tokens:+,}" if one.trainable_tokens is not None else "–",
            ]
            for one in found.sources
        ],
    )
    for line in found.changes or ["Nothing would change."]:
        say(line)
    for note in found.notes:
        say(note)
    say(f"Saved as {path}." if path else "Add --save to make it a recipe of the workspace.")
