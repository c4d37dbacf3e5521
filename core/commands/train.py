"""`mixdown train`: a drafter by either engine, from states made here, kept, or asked of a server; or only what it would take."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from core.commands.drafter import Prompts, Target, show_report
from core.commands.output import AsJSON, Home, TerminalWatcher, emit, say, table
from core.errors import InputError
from core.workspace import BUNDLED_TARGET, Workspace

if TYPE_CHECKING:
    from core.drafter.forecast import Forecast
    from core.jobs import TrainJob

_ENGINE = "The engine speculators"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(train)


def train(
    data: Annotated[Path, typer.Option(help="A dataset that `mixdown tokenize` made.")],
    out: Annotated[Path, typer.Option(help="The drafter's folder.")],
    target: Target = str(BUNDLED_TARGET),
    max_seconds: Annotated[float | None, typer.Option(help="Stop training after so many seconds.", min=0.1)] = None,
    max_steps: Annotated[int | None, typer.Option(help="Stop training after so many steps.", min=1)] = None,
    layers: Annotated[int | None, typer.Option(help="Layers of the drafter.", min=1)] = None,
    block_size: Annotated[int | None, typer.Option(help="Tokens it drafts in one pass, the committed one included.", min=2)] = None,
    learning_rate: Annotated[float | None, typer.Option(help="Peak learning rate.", min=0.0)] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of weights, order and anchors.", min=0)] = None,
    setting: Annotated[
        list[str] | None, typer.Option("--set", help="NAME=VALUE, any other setting of a training (values as in JSON): anchors=16.")
    ] = None,
    states: Annotated[Path | None, typer.Option(help="Keep the target's hidden states here, and take those that are here.")] = None,
    server: Annotated[str | None, typer.Option(help="Ask this vLLM server (hidden-states connector) for them: http://HOST:PORT.")] = None,
    server_timeout: Annotated[float, typer.Option(help="Seconds to wait for one answer of the server.", min=0.1)] = 120.0,
    engine: Annotated[str, typer.Option(help="native, or speculators in an environment of its own (--python).")] = "native",
    python: Annotated[str | None, typer.Option(help="The interpreter of an environment with speculators.", rich_help_panel=_ENGINE)] = None,
    algorithm: Annotated[str | None, typer.Option(help="dflash, eagle3, peagle, dspark or mtp.", rich_help_panel=_ENGINE)] = None,
    gpus: Annotated[int | None, typer.Option(help="GPUs of each node; 0: on the CPU.", min=0, rich_help_panel=_ENGINE)] = None,
    nodes: Annotated[int | None, typer.Option(help="Machines.", min=1, rich_help_panel=_ENGINE)] = None,
    rendezvous: Annotated[str | None, typer.Option(help="HOST:PORT of the first node.", rich_help_panel=_ENGINE)] = None,
    epochs: Annotated[int | None, typer.Option(help="At most so often over the data.", min=1, rich_help_panel=_ENGINE)] = None,
    sequence: Annotated[int | None, typer.Option(help="Tokens of a packed batch.", min=2, rich_help_panel=_ENGINE)] = None,
    option: Annotated[
        list[str] | None, typer.Option(help="GROUP.KEY=VALUE in its own words: mtp.num_speculative_steps=3.", rich_help_panel=_ENGINE)
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what it would take, check what can be checked, and start nothing.")
    ] = False,
    measure: Annotated[bool, typer.Option("--evaluate/--no-evaluate", help="Measure the acceptance length afterwards.")] = True,
    prompts: Prompts = None,
    as_json: AsJSON = False,
    home: Home = None,
) -> None:
    """Train a drafter for a target, then measure what the target accepts. Settings not given are those suited to the target's size."""
    from core.jobs import TrainJob, perform_here
    from core.jobs.planning import settings_for

    given: dict[str, Any] = {
        "max_seconds": max_seconds,
        "max_steps": max_steps,
        "layers": layers,
        "block_size": block_size,
        "learning_rate": learning_rate,
        "seed": seed,
    }
    chosen = {key: value for key, value in given.items() if value is not None} | _pairs(setting, "--set")
    if engine == "speculators" and max_seconds is None:
        from core.drafter.speculators.settings import ENDLESS

        chosen.setdefault("max_seconds", None)
        chosen.setdefault("max_steps", max_steps or ENDLESS)
    own = {
        "python": python,
        "algorithm": algorithm,
        "gpus": gpus,
        "nodes": nodes,
        "rendezvous": rendezvous,
        "epochs": epochs,
        "sequence": sequence,
        "extra": _pairs(option, "--option") or None,
    }
    own = {key: value for key, value in own.items() if value is not None}
    if engine not in ("native", "speculators"):
        raise InputError(f"There is no engine {engine!r}: choose native or speculators.")
    if own and engine == "native":
        raise InputError(f"--{next(iter(own)).replace('extra', 'option')} is for --engine speculators: add that, or leave it out.")
    job = TrainJob(
        home=Workspace.at(home).home,
        data=data.resolve(),
        target=target,
        out=out.resolve(),
        settings=settings_for(target, chosen),
        engine=engine,  # type: ignore[arg-type]
        speculators=own,
        states=states.resolve() if states else None,
        server=server,
        server_timeout=server_timeout,
        evaluate=measure,
        prompts=prompts,
    )
    if dry_run:
        _dry_run(job, as_json)
        return
    result = perform_here(job, TerminalWatcher())
    if as_json:
        emit(result)
        return
    say(f"trained {result['train']['steps']:,} steps in {result['train']['seconds']:.0f} s: {out}")
    if result["evaluation"] is not None:
        show_report(result["evaluation"])


def _dry_run(job: "TrainJob", as_json: bool) -> None:
    """What it would take; exit 1 when the states would not fit the disk."""
    from core.jobs.planning import dry_run

    found = dry_run(job)
    if as_json:
        emit(found.to_json())
    else:
        _show(found.forecast, found.problems)
        for line in found.commands:
            typer.echo(line, err=True)  # whole, to be copied
    raise typer.Exit(1 if found.problems else 0)


def _show(found: "Forecast", problems: list[str]) -> None:
    time = f"{found.train_seconds:,.0f} s"
    table(
        "What it would take",
        ["", ""],
        [
            ["parameters of the drafter", f"{found.parameters:,} (the target has {found.target_parameters:,})"],
            ["memory", f"about {found.memory_bytes / 1e9:,.1f} GB"],
            ["disk for hidden states", f"{found.disk_bytes / 1e9:,.2f} GB of {found.free_bytes / 1e9:,.0f} GB free"],
            ["capture", f"about {found.capture_seconds:,.0f} s on two CPU cores"],
            ["training", f"about {time} on two CPU cores" if found.estimated else time],
        ],
    )
    for problem in problems:
        say(problem)


def _pairs(texts: list[str] | None, option: str) -> dict[str, Any]:
    """`NAME=VALUE` with the value in JSON, or as text where it is none."""
    found: dict[str, Any] = {}
    for text in texts or ():
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise InputError(f"{option} {text!r} is not NAME=VALUE: write for example {option} anchors=16.")
        try:
            found[name.strip()] = json.loads(value)
        except ValueError:
            found[name.strip()] = value
    return found
