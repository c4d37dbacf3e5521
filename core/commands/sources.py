"""`mixdown sources`, `import`, `rows`, `quarantine`, `detect`, `convert`: what there is and what became of every row."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from core.commands.inputs import parsed_filters, raw_rows
from core.commands.output import AsJSON, Home, TerminalWatcher, emit, emit_lines, say, table, write_lines
from core.workspace import Workspace

if TYPE_CHECKING:
    from core.dialects import Outcome
    from core.sources import HubReference

File = Annotated[str, typer.Argument(help="A file of raw rows, or - for JSON Lines on standard input.")]
SourceName = Annotated[str, typer.Argument(help="An imported source.")]
Dialect = Annotated[str | None, typer.Option(help="The rows' dialect; found out when not given.")]
Switches = Annotated[list[str] | None, typer.Option("--policy", help="CODE=repair, quarantine or keep; may be given several times.")]
Limit = Annotated[int, typer.Option(help="How many rows to print.", min=1)]
Offset = Annotated[int, typer.Option(help="How many rows to skip.", min=0)]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    for command in (sources, accept, downloads, rows, quarantine, detect, convert):
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
    origin: Annotated[str | None, typer.Argument(help="A file or folder, a name of the catalogue, or OWNER/NAME on the hub.")] = None,
    name: Annotated[str | None, typer.Option(help="The name it gets; its own when not given.")] = None,
    again: Annotated[
        bool, typer.Option("--again", help="ORIGIN is an imported source: read it once more, as before but for what is given.")
    ] = False,
    bundled: Annotated[bool, typer.Option("--bundled", help="Import all sources that ship with Mixdown.")] = False,
    config: Annotated[str | None, typer.Option(help="Which config of a hub data set.")] = None,
    split: Annotated[str | None, typer.Option(help="Which split of a hub data set.")] = None,
    revision: Annotated[str | None, typer.Option(help="Which branch, tag or commit of a hub data set.")] = None,
    file: Annotated[list[str] | None, typer.Option(help="A file inside a hub data set; may be given several times.")] = None,
    dialect: Dialect = None,
    mapping: Annotated[
        list[str] | None, typer.Option("--map", help="PART=COLUMN (prompt, response, system, messages, tools, …), or none to forget it.")
    ] = None,
    policy: Switches = None,
    preview: Annotated[int, typer.Option(help="Only print so many first raw rows; nothing is imported.", min=0, max=1000)] = 0,
    domain: Annotated[str | None, typer.Option(help="chat, code, agentic, tool calling, math, prompt-only, evaluation or other.")] = None,
    licence: Annotated[str | None, typer.Option(help="The licence of the data.")] = None,
    as_json: AsJSON = False,
    home: Home = None,
) -> None:
    """Import sources into the library; every row is kept, prompt-only, or quarantined with a reason."""
    from core.dialects import ColumnMap, Policy
    from core.jobs import ImportJob, again_item, bundled_items, import_item, perform_here

    workspace = Workspace.at(home)
    if bundled == (origin is not None):
        raise typer.BadParameter("give a file, a folder, a catalogue name or OWNER/NAME, or --bundled (not both)")
    items = bundled_items(workspace)
    if origin is not None and again:
        columns = None if mapping is None else {} if mapping == ["none"] else dict(ColumnMap.parse(mapping).columns)
        items = (again_item(workspace, origin, dict(Policy.parse(policy or []).switches), dialect=dialect, columns=columns),)
    elif origin is not None:
        found = import_item(workspace, origin, config=config, split=split, revision=revision, files=tuple(file or ()))
        given = {"name": name, "dialect": dialect, "domain": domain, "licence": licence}
        settled: dict[str, Any] = {key: value for key, value in given.items() if value is not None}
        if mapping is not None:
            settled["columns"] = {} if mapping == ["none"] else dict(ColumnMap.parse(mapping).columns)
        items = (found.model_copy(update={**settled, "policy": {**Policy.parse(policy or []).switches}}),)
    if preview:
        _preview(items[0].origin, preview, as_json=as_json)
        return
    result = perform_here(ImportJob(home=workspace.home, items=items), TerminalWatcher())
    if as_json:
        emit(result)
        return
    ledgers = result["sources"]
    # Only of message trees: raw rows that stand in another row's conversation, or in none.
    shown = [*COUNTS, *(key for key in ("used", "not_chosen") if any(ledger[key] for ledger in ledgers.values()))]
    table(
        "Imported",
        ["source", "raw rows", *(key.replace("_", " ") for key in shown), "repairs"],
        [
            [source, ledger["raw_rows"], *(ledger[key] for key in shown), sum(ledger["repaired"].values())]
            for source, ledger in ledgers.items()
        ],
    )


def _preview(origin: "Path | HubReference", count: int, *, as_json: bool) -> None:
    from core.dialects import detect as detect_dialect
    from core.sources import first_rows

    found = first_rows(origin, count, TerminalWatcher(quiet=as_json))
    if as_json:
        emit_lines(row.value if row.problem is None else {"problem": row.problem, "detail": row.detail} for row in found)
        return
    shape = detect_dialect(found)
    say(f"{shape.dialect or 'no known dialect'} ({shape.score:.0%}): {shape.reason}")
    table(f"First rows of {origin}", ["row", "raw"], [[row.position, _cut(row.detail if row.problem else row.value)] for row in found])


def _cut(value: Any, most: int = 600) -> str:
    import json

    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= most else f"{text[:most]}…"


def accept(source: SourceName, home: Home = None) -> None:
    """Take a source as it is, though under half of its rows could be used."""
    from core.sources import Library

    found = Library(Workspace.at(home)).source(source)
    found.accept()
    say(f"{source} is accepted with {found.rows:,} rows." if found.doubt else f"{source} needs no acceptance: nothing is wrong with it.")


def downloads(
    clean: Annotated[bool, typer.Option("--clean", help="Remove what no imported source was made from.")] = False,
    as_json: AsJSON = False,
    home: Home = None,
) -> None:
    """Show the files that were fetched or uploaded, and which sources were made from them."""
    from core.sources import kept_files, remove_unneeded

    workspace = Workspace.at(home)
    removed = {kept.folder for kept in remove_unneeded(workspace)} if clean else set()
    if clean and not as_json:
        say(f"Removed {len(removed):,} that no source was made from.")
    listed = [{"folder": str(kept.folder), "bytes": kept.bytes, "sources": list(kept.sources)} for kept in kept_files(workspace)]
    if as_json:
        emit_lines(listed)
        return
    table("Fetched and uploaded", ["folder", "bytes", "sources"], [[row["folder"], row["bytes"], row["sources"]] for row in listed])


def rows(
    source: SourceName,
    search: Annotated[str, typer.Option(help="Text that the conversation must hold.")] = "",
    where: Annotated[
        list[str] | None, typer.Option(help="COLUMN=VALUE, or COLUMN=LOW..HIGH for numbers; may be given several times.")
    ] = None,
    sort: Annotated[str, typer.Option(help="The column to sort by.")] = "row",
    descending: Annotated[bool, typer.Option("--descending", help="The highest first.")] = False,
    out: Annotated[Path | None, typer.Option(help="Write all rows found to this file, as JSON Lines of conversations.")] = None,
    limit: Limit = 20,
    offset: Offset = 0,
    as_json: AsJSON = False,
    home: Home = None,
) -> None:
    """Show rows of an imported source."""
    from core.sources import Library

    opened = Library(Workspace.at(home)).source(source)
    filters = parsed_filters(where or [])
    if out is not None:
        written = write_lines(out, opened.selected(search=search, where=filters, sort=sort, descending=descending))
        say(f"{written:,} conversations are in '{out}'.")
        return
    found = opened.page(search=search, where=filters, sort=sort, descending=descending, offset=offset, limit=limit)
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
    from core.sources.groups import group_mixtures, mixed

    found = detect_dialect(list(islice(raw_rows(file), 1000)))
    groups = [] if file == "-" else group_mixtures(Path(file))
    if as_json:
        emit({**found.to_json(), "row_groups": [group.to_json() for group in groups]})
        return
    say(f"{found.dialect or 'no known dialect'} ({found.score:.0%}): {found.reason}")
    table("Rows per dialect", ["dialect", "rows"], found.mixture.items())
    if sentence := mixed(groups):
        say(sentence)
        table(
            "Row groups",
            ["file", "row group", "rows", "dialects of its first rows"],
            [[group.file, group.number, group.rows, ", ".join(group.detection.mixture)] for group in groups],
        )


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
