"""`mixdown tokenize` and `verify`: make a dataset, and prove it."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from core.commands.inputs import ArgOption, TemplateOption
from core.commands.mix import MixOptions, RecipeArgument, SourceOption, chosen_recipe
from core.commands.output import AsJSON, Home, TerminalWatcher, emit, say, table
from core.workspace import Workspace


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(tokenize)
    app.command()(verify)


def tokenize(
    out: Annotated[Path, typer.Option(help="The dataset's folder.")],
    recipe: RecipeArgument = None,
    source: SourceOption = None,
    target: Annotated[str | None, typer.Option("--target", help="A folder or hub id instead of the recipe's.")] = None,
    template: TemplateOption = None,
    arg: ArgOption = None,
    layout: Annotated[Literal["auto", "turn", "conversation"] | None, typer.Option(help="Instead of the recipe's.")] = None,
    supervise: Annotated[Literal["sampled", "boundary", "content"] | None, typer.Option(help="Instead of the recipe's.")] = None,
    thinking: Annotated[Literal["auto", "on", "off", "default"] | None, typer.Option(help="Instead of the recipe's.")] = None,
    seq_length: Annotated[int | None, typer.Option(help="Instead of the recipe's.", min=2)] = None,
    budget: Annotated[int | None, typer.Option(help="Conversations in all, instead of the recipe's.", min=1)] = None,
    seed: Annotated[int | None, typer.Option(help="Instead of the recipe's.", min=0)] = None,
    validation: Annotated[float | None, typer.Option(help="Share held out, instead of the recipe's.", min=0, max=0.99)] = None,
    workers: Annotated[int, typer.Option(help="Worker processes; the result is the same for any number.", min=1)] = 1,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a dataset of ours that is there.")] = False,
    resume: Annotated[bool, typer.Option(help="Continue what an interrupted run of this recipe left, or start over.")] = True,
    as_json: AsJSON = False,
    home: Home = None,
) -> None:
    """Tokenize a recipe into a verified Arrow dataset that datasets.load_from_disk opens."""
    from core.jobs import TokenizeJob, perform_here
    from core.mix import recipe_text

    workspace = Workspace.at(home)
    options = MixOptions(
        sources=tuple(source or ()),
        target=target,
        template=template,
        args=tuple(arg or ()),
        layout=layout,
        supervise=supervise,
        thinking=thinking,
        seq_length=seq_length,
        budget=budget,
        seed=seed,
        validation=validation,
    )
    chosen = chosen_recipe(workspace, recipe, options)
    job = TokenizeJob(
        home=workspace.home, recipe=recipe_text(chosen), out=out.resolve(), workers=workers, overwrite=overwrite, resume=resume
    )
    report = perform_here(job, TerminalWatcher())
    if as_json:
        emit(report)
        return
    shown = ["rows", "tokens", "trainable_tokens", "seconds", "verified"]
    table(str(out), shown, [[report[key] for key in shown]])
    if report["dropped"]:
        table("Dropped", ["reason", "rows"], report["dropped"].items())


def verify(
    dataset: Annotated[Path, typer.Argument(help="A dataset's folder.")],
    as_json: AsJSON = False,
    home: Home = None,
) -> None:
    """Check a dataset against its manifest: schema, counts, hashes, ids, masks, frequencies. Exit 1 if anything is wrong.

    Where its sources and target are still in the workspace, some of its rows are made again and compared.
    """
    from core.tokens import verify as verify_dataset

    report = verify_dataset(dataset, workspace=Workspace.at(home))
    if as_json:
        emit(report.to_json())
    elif report.ok:
        say(f"{dataset}: {report.rows:,} rows, everything as the manifest says")
    else:
        table(f"{dataset}: not as its manifest says", ["problem"], [[problem] for problem in report.problems])
    raise typer.Exit(0 if report.ok else 1)
