"""`mixdown demo` and `mixdown app`: the whole path without a browser, and the dashboard with one."""

import os
import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from core.commands.output import AsJSON, Home, TerminalWatcher, emit, say, table
from core.workspace import Workspace


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(demo)
    app.command(name="app")(dashboard)


def demo(
    seconds: Annotated[float, typer.Option(help="How long to train, in seconds.", min=1.0)] = 118.0,
    as_json: AsJSON = False,
    home: Annotated[
        str | None, typer.Option("--home", help="The workspace folder; without it a fresh one is made.", show_default=False)
    ] = None,
) -> None:
    """Go the whole path once on the bundled data: sources, mix, dataset, drafter, acceptance length."""
    from core.jobs import DemoJob, free_name, perform_here

    workspace = Workspace.at(home or os.environ.get("MIXDOWN_HOME") or _fresh())
    say(f"workspace {workspace.home}")
    result = perform_here(DemoJob(home=workspace.home, name=free_name(workspace, "demo"), train_seconds=seconds), TerminalWatcher())
    if as_json:
        emit(result)
        return
    rows, made, drafter = result["rows"], result["dataset"], result["drafter"]
    table("Rows of the bundled sources", list(rows), [list(rows.values())])
    table(
        "Dataset",
        ["rows", "tokens", "trainable tokens", "verified"],
        [[made[key] for key in ("rows", "tokens", "trainable_tokens", "verified")]],
    )
    table(
        f"Tokens accepted per round: {drafter['acceptance_length_before']:.2f} before training, {drafter['acceptance_length']:.2f} after",
        ["source", "acceptance length"],
        [[name, value] for name, value in sorted(drafter["by_source"].items(), key=lambda item: item[1])],
    )
    same = "equals plain greedy decoding on every prompt" if drafter["lossless"] else "DIFFERS from plain greedy decoding"
    say(f"Speculative output {same} ({drafter['prompts']} held-out prompts). {result['seconds']:.0f} s in all.")
    say(f"Look at it: mixdown app --home {workspace.home}")


def dashboard(
    port: Annotated[int, typer.Option(help="The port to serve on.")] = 8501,
    browser: Annotated[bool, typer.Option(help="Open a browser window where there is a screen.")] = True,
    home: Home = None,
) -> None:
    """Serve the dashboard on this machine."""
    root = Path(__file__).resolve().parents[2]
    workspace = Workspace.at(home)
    shown = browser and (sys.platform in ("darwin", "win32") or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")))
    options = {"server.port": port, "server.headless": str(not shown).lower(), "server.showEmailPrompt": "false"}
    command = [sys.executable, "-m", "streamlit", "run", str(root / "app.py"), *(f"--{key}={value}" for key, value in options.items())]
    os.chdir(root)  # Streamlit reads its configuration from the working directory
    os.execve(sys.executable, command, os.environ | {"MIXDOWN_HOME": str(workspace.home)})


def _fresh() -> Path:
    return Workspace.at().home / "demos" / time.strftime("%Y%m%d-%H%M%S")
