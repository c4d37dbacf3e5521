"""`mixdown evaluate`: what the target accepts from a drafter."""

from pathlib import Path
from typing import Annotated, Any

import typer

from core.commands.output import AsJSON, Home, TerminalWatcher, emit, say, table
from core.errors import InputError
from core.workspace import BUNDLED_TARGET, Workspace

Target = Annotated[str, typer.Option("--target", help="The target model: a folder or hub id.")]
Prompts = Annotated[int | None, typer.Option(help="At most so many held-out prompts; all when not given.", min=1)]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(evaluate)


def evaluate(
    drafter: Annotated[Path, typer.Option(help="A drafter's folder.")],
    target: Target = str(BUNDLED_TARGET),
    prompts: Prompts = None,
    max_new_tokens: Annotated[int | None, typer.Option(help="Longest answer, in tokens.", min=1)] = None,
    trees: Annotated[str, typer.Option(help="Node budgets of draft trees to measure too, with commas; `none` for none.")] = "8,16,32,64",
    lookup: Annotated[bool, typer.Option("--lookup/--no-lookup", help="Measure prompt lookup too, the drafter that costs nothing.")] = True,
    temperature: Annotated[float, typer.Option(help="Above 0: also answer by drawing at this temperature.", min=0.0)] = 0.0,
    seed: Annotated[int, typer.Option(help="Seed of what is drawn; every prompt has its own from it.", min=0)] = 0,
    thinking: Annotated[str, typer.Option(help="Ask the target to think: as-is, on, off, or both (every prompt twice).")] = "as-is",
    confidence: Annotated[
        float | None,
        typer.Option(help="A chain ends where the drafter gives it less than this probability; 0: whole blocks, as servers do.", min=0.0),
    ] = None,
    as_json: AsJSON = False,
    home: Home = None,
) -> None:
    """Decode held-out prompts speculatively and plainly: acceptance length, and whether the output is the same. Exit 1 if not."""
    from core.jobs import EvaluateJob, perform_here

    job = EvaluateJob(
        home=Workspace.at(home).home,
        drafter=drafter.resolve(),
        target=target,
        prompts=prompts,
        max_new_tokens=max_new_tokens,
        trees=_budgets(trees),
        prompt_lookup=lookup,
        temperature=temperature,
        seed=seed,
        thinking=thinking,
        confidence=confidence,
    )
    report = perform_here(job, TerminalWatcher())["evaluation"]
    if as_json:
        emit(report)
    else:
        show_report(report)
    raise typer.Exit(0 if report["lossless"] else 1)


def _budgets(text: str) -> tuple[int, ...]:
    """The node budgets in "8,16"."""
    try:
        return () if text.strip() in ("", "none") else tuple(int(part) for part in text.split(","))
    except ValueError:
        raise InputError(f"--trees {text!r} is no list of node budgets: give numbers with commas, such as 8,16, or none.") from None


def show_report(report: dict[str, Any]) -> None:
    """The acceptance report for people."""
    table(
        f"Tokens accepted per round: {report['acceptance_length']:.2f}",
        ["source", "acceptance length"],
        [[name, value] for name, value in sorted(report["by_source"].items(), key=lambda item: item[1])],
    )
    ways = {"chain": report, "prompt lookup": report["prompt_lookup"]}
    ways |= {f"tree of {budget}": way for budget, way in report["trees"].items()}
    if report["sampled"]:
        ways |= {f"chain at temperature {report['sampled']['temperature']}": report["sampled"]}
    table(
        "Ways to decode",
        ["way", "tokens per round", "tokens per second", "after the prompt"],
        [
            ["plain", 1.0, report["plain_tokens_per_second"], report["plain_after_prompt"]],
            ["plain, by transformers", 1.0, report["transformers_tokens_per_second"], report["transformers_after_prompt"]],
            *([name, way["acceptance_length"], way["tokens_per_second"], way["after_prompt"]] for name, way in ways.items() if way),
        ],
    )
    if len(report["by_thinking"]) > 1:
        say("Tokens per round with thinking " + ", ".join(f"{mode}: {value:.2f}" for mode, value in report["by_thinking"].items()))
    same = "equals plain greedy decoding" if report["lossless"] else f"differs from plain greedy decoding on {report['mismatches']} prompts"
    say(f"Speculative output {same} on {report['prompts']} held-out prompts.")
