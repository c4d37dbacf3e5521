"""`mixdown runs`: list, show, logs, cancel, retry, delete. The same files the dashboard reads."""

import time
from typing import Annotated

import typer

from core.commands.output import AsJSON, Home, emit, emit_lines, say, table
from core.runs import Run, RunStore
from core.workspace import Workspace

RunId = Annotated[str, typer.Argument(help="The run's id, as `mixdown runs` lists it.")]


def register(app: typer.Typer) -> None:
    """Add the group to the command."""
    group = typer.Typer(help="Background runs: what ran, what came of it, and how to stop or repeat it.", invoke_without_command=True)
    group.callback()(list_runs)
    group.command("list")(list_all)
    group.command("show")(show)
    group.command("logs")(logs)
    group.command("cancel")(cancel)
    group.command("retry")(retry)
    group.command("delete")(delete)
    app.add_typer(group, name="runs")


def list_runs(context: typer.Context, as_json: AsJSON = False, home: Home = None) -> None:
    """List all runs, newest first (the same as `mixdown runs list`)."""
    if context.invoked_subcommand is None:
        list_all(as_json, home)


def list_all(as_json: AsJSON = False, home: Home = None) -> None:
    """List all runs, newest first."""
    found = _store(home).list()
    if as_json:
        emit_lines(run.to_json() for run in found)
    elif not found:
        say("No runs yet. `mixdown demo` does the whole path once on the bundled data.")
    else:
        table(
            "Runs",
            ["id", "what", "state", "progress", "seconds"],
            [[run.id, run.title, run.state, _stand(run), run.seconds] for run in found],
        )


def show(run_id: RunId, as_json: AsJSON = False, home: Home = None) -> None:
    """Show one run: what it does, how far it is, how it ended."""
    run = _store(home).get(run_id)
    if as_json:
        emit(run.to_json())
        return
    facts = [["what", run.title], ["state", run.state], ["progress", _stand(run)], ["seconds", f"{run.seconds:,.1f}"]]
    started = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(run.created_at))
    table(run.id, ["", ""], [*facts, ["started", started], ["error", run.error or "–"], ["result", run.result or "–"]])


def logs(run_id: RunId, home: Home = None) -> None:
    """Print what the run's process printed."""
    typer.echo(_store(home).get(run_id).log(), nl=False)


def cancel(run_id: RunId, home: Home = None) -> None:
    """Stop a run and wait until no process of it is left."""
    store = _store(home)
    store.cancel(run_id, wait=True)
    say(f"{run_id}: {store.get(run_id).state}")


def retry(run_id: RunId, as_json: AsJSON = False, home: Home = None) -> None:
    """Start the same work again in the background, as a new run."""
    run = _store(home).retry(run_id)
    emit(run.to_json()) if as_json else say(f"started {run.id}")


def delete(run_id: RunId, home: Home = None) -> None:
    """Remove the record of a run that has ended; what it made stays."""
    _store(home).delete(run_id)
    say(f"deleted {run_id}")


def _store(home: str | None) -> RunStore:
    return RunStore(Workspace.at(home).runs)


def _stand(run: Run) -> str:
    if run.progress is None:
        return "–"
    total = run.progress["total"]
    of = f" of {total:,}" if total is not None else ""
    return f"{run.progress['phase']}: {run.progress['done']:,}{of} {run.progress['unit']}"
