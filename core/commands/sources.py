"""`mixdown sources`, `import`, `rows`, `quarantine`, `detect`, `convert`: what there is and what became of every row."""

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from core.commands.inputs import raw_rows
from core.commands.output import AsJSON, Home, TerminalWatcher, emit, emit_lines, say, table
from core.workspace import Workspace

if TYPE_CHECKING:
    from core.dialects import Outcome

File = Annotated[str, typer.Argument(help="A file of raw rows, or - for JSON Lines on standard input.")]
SourceName = Annotated[str, typer.Argument(help="An imported source.")]
Dialect = Annotated[str | None, typer.Option(help="The rows' dialect; found out when not given.")]
Switches = Annotated[list[str] | None, typer.Option("--policy", help="CODE=repair, quarantine or keep; may be given several times.")]
Limit = Annotated[int, typer.Option(help="How many rows to print.", min=1)]
Offset = Annotated[int, typer.Option(help="How many rows to skip.", min=0)]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    for command in (sources, rows, quarantine, detect, convert):
        app.command()(command)
    app.command(name="import")(import_)


def sources(as_json: AsJSON = False, home: Home = None) -> None:
    """List the catalogue and what of it is imported."""
    from core.sources import Catalogue, Library

    workspace = Workspace.at(home)
    imported = {source.name: source for source in Library(workspace).sources()}
    entries = {entry.name: entry for entry in Catalogue.load(workspace).entries()}
    listed: list[dict[str, Any]] = [
        {
            "name": name,
            "title": entries[name].title if name in entries else imported[name].title,
            "domain": imported[name].domain if name in imported else entries[name].domain,
            "licence": imported[name].licence if name in imported else entries[name].licence,
            "hub_id": entries[name].hub_id if name in entries else None,
            "gated": entries[name].gated if name in entries else False,
            "bundled": name in entries and entries[name].bundled is not None,
            "imported": name in imported,
            "ledger": imported[name].ledger.to_json() if name in imported else None,
            "problem": imported[name].problem if name in imported else None,
        }
        for name in [*entries, *(name for name in imported if name not in entries)]
    ]
    if as_json:
        emit_lines(listed)
        return
    table(
        "Sources",
        ["name", "domain", "licence", "bundled", "kept", "prompt only", "quarantined"],
        [
            [row["name"], row["domain"], row["licence"], row["bundled"], *(row["ledger"][key] if row["ledger"] else None for key in COUNTS)]
            for row in listed
        ],
    )


COUNTS = ("kept", "prompt_only", "quarantined")


def import_(
    origin: Annotated[Path | None, typer.Argument(help="A file or folder; without it --bundled.")] = None,
    name: Annotated[str | None, typer.Option(help="The name it gets; the file's own when not given.")] = None,
    bundled: Annotated[bool, typer.Option("--bundled", help="Import all sources that ship with Mixdown.")] = False,
    dialect: Dialect = None,
    policy: Switches = None,
    domain: Annotated[str | None, typer.Option(help="chat, code, agentic, tool calling, math or other.")] = None,
    licence: Annotated[str | None, typer.Option(help="The licence of the data.")] = None,
    as_json: AsJSON = False,
    home: Home = None,
) -> None:
    """Import sources into the library; every row is kept, prompt-only, or quarantined with a reason."""
    from core.dialects import Policy
    from core.jobs import ImportItem, ImportJob, bundled_items, perform_here
    from core.sources import import_name

    workspace = Workspace.at(home)
    if bundled == (origin is not None):
        raise typer.BadParameter("give a file or folder, or --bundled (not both)")
    items = bundled_items(workspace)
    if origin is not None:
        switches: dict[str, str] = {**Policy.parse(policy or []).switches}
        chosen = name or import_name(origin)
        # Unlike Path.resolve, this gives no error for a link to itself.
        found = Path(os.path.realpath(origin))
        items = (ImportItem(name=chosen, origin=found, dialect=dialect, policy=switches, domain=domain, licence=licence),)
    result = perform_here(ImportJob(home=workspace.home, items=items), TerminalWatcher())
    if as_json:
        emit(result)
        return
    table(
        "Imported",
        ["source", "raw rows", "kept", "prompt only", "quarantined", "repaired"],
        [
            [source, ledger["raw_rows"], *(ledger[key] for key in COUNTS), sum(ledger["repaired"].values())]
            for source, ledger in result["sources"].items()
        ],
    )


def rows(
    source: SourceName,
    search: Annotated[str, typer.Option(help="Text that the conversation must hold.")] = "",
    limit: Limit = 20,
    offset: Offset = 0,
    as_json: AsJSON = False,
    home: Home = None,
) -> None:
    """Show rows of an imported source."""
    from core.sources import Library

    found = Library(Workspace.at(home)).source(source).page(search=search, offset=offset, limit=limit)
    if as_json:
        emit_lines(found.rows)
        return
    shown = ["row", "status", "turns", "chars", "has_tools", "has_reasoning"]
    table(f"{source}: {found.total:,} rows", shown, [[row.get(key) for key in shown] for row in found.rows])


def quarantine(
    source: SourceName,
    reason: Annotated[str | None, typer.Option(help="Only rows with this reason.")] = None,
    limit: Limit = 20,
    offset: Offset = 0,
    as_json: AsJSON = False,
    home: Home = None,
) -> None:
    """Show the rows that cannot be used, and why."""
    from core.sources import Library

    opened = Library(Workspace.at(home)).source(source)
    found = opened.quarantine_page(reason=reason, offset=offset, limit=limit)
    if as_json:
        emit_lines(found.rows)
        return
    table(f"{source}: why rows are in quarantine", ["reason", "rows"], opened.quarantine_reasons().items())
    shown = ["position", "reason", "field", "detail"]
    table(f"{found.total:,} rows", shown, [[row.get(key) for key in shown] for row in found.rows])


def detect(file: File, as_json: AsJSON = False) -> None:
    """Say which dialect a file's rows are in, and how sure that is."""
    from itertools import islice

    from core.dialects import detect as detect_dialect

    found = detect_dialect(list(islice(raw_rows(file), 1000)))
    if as_json:
        emit(found.to_json())
        return
    say(f"{found.dialect or 'no known dialect'} ({found.score:.0%}): {found.reason}")
    table("Rows per dialect", ["dialect", "rows"], found.mixture.items())


def convert(file: File, dialect: Dialect = None, policy: Switches = None, as_json: AsJSON = False) -> None:
    """Convert raw rows to conversations and account for every one."""
    from core.dialects import Policy
    from core.dialects import convert as convert_rows

    outcomes = convert_rows(raw_rows(file), dialect=dialect, policy=Policy.parse(policy or []))
    if as_json:
        emit_lines(outcome.to_json() for outcome in outcomes)
        return
    states: Counter[str] = Counter()
    codes: Counter[tuple[str, str]] = Counter()
    for outcome in _watched(outcomes):
        states[outcome.status] += 1
        codes.update(("repaired", code) for code in outcome.repairs)
        if outcome.reason:
            codes[outcome.status, outcome.reason] += 1
    table("Rows", ["status", "rows"], states.items())
    if codes:
        table("Why", ["", "code", "rows"], [[*kind, count] for kind, count in codes.most_common()])


def _watched(outcomes: "Iterator[Outcome]") -> "Iterator[Outcome]":
    from core.watch import Progress

    watcher = TerminalWatcher()
    for number, outcome in enumerate(outcomes, 1):
        yield outcome
        if number % 1000 == 0:
            watcher.progress(Progress("convert", number, None, "rows"))
