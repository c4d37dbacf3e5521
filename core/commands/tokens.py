"""`mixdown tokenize`, `verify`, `export` and `vocabulary`: make a dataset, prove it, and what else a trainer may want of it."""

import atexit
import gc
from pathlib import Path
from typing import Annotated, Literal

import typer

from core.commands.inputs import ArgOption, TemplateOption
from core.commands.mix import MixOptions, RecipeArgument, SourceOption, chosen_recipe
from core.commands.output import AsJSON, Home, TerminalWatcher, emit, say, table
from core.commands.supervision import Layout, Overlong, SpecialTokens, Supervise, Thinking, Turns
from core.workspace import Workspace

RECIPES = "Instead of the recipe's; `mixdown mask --help` says what it does."


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(tokenize)
    app.command()(verify)
    app.command()(export)
    app.command()(vocabulary)


def tokenize(
    out: Annotated[Path, typer.Option(help="The dataset's folder.")],
    recipe: RecipeArgument = None,
    source: SourceOption = None,
    target: Annotated[str | None, typer.Option("--target", help="A folder or hub id instead of the recipe's.")] = None,
    template: TemplateOption = None,
    arg: ArgOption = None,
    layout: Annotated[Layout | None, typer.Option(help=RECIPES)] = None,
    supervise: Annotated[Supervise | None, typer.Option(help=RECIPES)] = None,
    thinking: Annotated[Thinking | None, typer.Option(help=RECIPES)] = None,
    seq_length: Annotated[int | None, typer.Option(help=RECIPES, min=2)] = None,
    turns: Annotated[Turns | None, typer.Option(help=RECIPES)] = None,
    reasoning: Annotated[bool | None, typer.Option("--reasoning/--no-reasoning", help=RECIPES)] = None,
    tool_calls: Annotated[bool | None, typer.Option("--tool-calls/--no-tool-calls", help=RECIPES)] = None,
    special_tokens: Annotated[SpecialTokens | None, typer.Option(help=RECIPES)] = None,
    overlong: Annotated[Overlong | None, typer.Option(help=RECIPES)] = None,
    budget: Annotated[int | None, typer.Option(help="Conversations in all, instead of the recipe's.", min=1)] = None,
    seed: Annotated[int | None, typer.Option(help="Instead of the recipe's.", min=0)] = None,
    validation: Annotated[float | None, typer.Option(help="Share held out, instead of the recipe's.", min=0, max=0.99)] = None,
    workers: Annotated[int, typer.Option(help="Worker processes; the result is the same for any number.", min=1)] = 1,
    encoder: Annotated[
        Literal["auto", "hf", "fastokens"], typer.Option(help="hf: never fastokens; else fastokens where it gives the same ids.")
    ] = "auto",
    shard_size: Annotated[
        int | None,
        typer.Option(help="Conversations per shard file; by default a 64th of all, in 256s, 128 to 4,096.", min=1),
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a dataset of ours that is there.")] = False,
    resume: Annotated[bool, typer.Option(help="Continue what an interrupted run of this recipe left, or start over.")] = True,
    as_json: AsJSON = False,
    home: Home = None,
) -> None:
    """Tokenize a recipe into a verified Arrow dataset that datasets.load_from_disk opens."""
    from core.jobs import TokenizeJob, perform_here
    from core.mix import recipe_text

    # At its end the interpreter looks for garbage among all that was loaded, twice: 0.3 s for a process that ends anyway.
    atexit.register(gc.freeze)
    workspace = Workspace.at(home)
    options = MixOptions(
        sources=tuple(source or ()),
        target=target,
        template=template,
        args=tuple(arg or ()),
        supervision={
            "layout": layout,
            "supervise": supervise,
            "thinking": thinking,
            "seq_length": seq_length,
            "turns": turns,
            "reasoning": reasoning,
            "tool_calls": tool_calls,
            "special_tokens": special_tokens,
            "overlong": overlong,
        },
        budget=budget,
        seed=seed,
        validation=validation,
    )
    chosen = chosen_recipe(workspace, recipe, options)
    job = TokenizeJob(
        home=workspace.home,
        recipe=recipe_text(chosen),
        out=out.resolve(),
        workers=workers,
        encoder="hf" if encoder == "hf" else "auto",
        shard_size=shard_size,
        overwrite=overwrite,
        resume=resume,
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


def export(
    dataset: Annotated[Path, typer.Argument(help="A dataset's folder.")],
    out: Annotated[Path, typer.Argument(help="The new file.")],
    form: Annotated[
        Literal["jsonl", "parquet", "text"],
        typer.Option(help="jsonl: input_ids and loss_mask a line; parquet: all columns; text: the rendered conversation a line."),
    ] = "jsonl",
    as_json: AsJSON = False,
) -> None:
    """Write a dataset's rows as JSON Lines that SpecForge and speculators read, as Parquet, or as rendered text."""
    from core.tokens.exports import export as export_rows

    rows = export_rows(dataset, out, form)
    if as_json:
        emit({"path": str(out), "form": form, "rows": rows})
    else:
        say(f"{out}: {rows:,} rows")


def vocabulary(
    dataset: Annotated[Path, typer.Argument(help="A dataset's folder.")],
    size: Annotated[int | None, typer.Option(help="Ids of the draft vocabulary; writes its d2t.npy and t2d.npy.", min=1)] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for the two files; needed with --size.")] = None,
    as_json: AsJSON = False,
) -> None:
    """Show what share of supervised tokens a smaller draft vocabulary covers, or write the mappings of one size."""
    from core.errors import InputError
    from core.tokens.vocabulary import coverages, dataset_vocabulary

    if (size is None) != (out is None):
        raise InputError("Give --size and --out together: the mappings of one size go to one folder.")
    shares = coverages(dataset)
    value: dict[str, object] = {"coverage": shares}
    if size is not None and out is not None:
        made = dataset_vocabulary(dataset, size)
        made.write(out)
        value |= {"path": str(out), "size": size, "covered": made.covered}
        shares = [*shares, {"size": size, "covered": made.covered}]
    if as_json:
        emit(value)
        return
    table("Draft vocabulary", ["size", "covers"], [[f"{one['size']:,}", f"{one['covered']:.2%}"] for one in shares])
