"""`mixdown mix …` on what a recipe does to rows: filters, duplicates, contamination, licences, measured tokens."""

from dataclasses import asdict
from typing import Annotated, Any

import typer

from core.commands.mix import RecipeName, saved_recipe
from core.commands.output import AsJSON, Home, TerminalWatcher, emit, emit_lines, say, table
from core.workspace import Workspace

Examples = Annotated[int, typer.Option(help="How many rows, groups or matches to show.", min=0, max=1000)]
Only = Annotated[str | None, typer.Option("--source", help="Of one source alone.")]


def register(group: typer.Typer) -> None:
    """Add the commands to the group `mix`."""
    group.command()(filters)
    group.command()(duplicates)
    group.command()(contamination)
    group.command()(licences)
    group.command()(measure)


def filters(recipe: RecipeName, source: Only = None, examples: Examples = 10, as_json: AsJSON = False, home: Home = None) -> None:
    """Say for every filter and source how many rows it removes, and show some of them."""
    from core.mix import checks_of, removed_by
    from core.sources import Library
    from core.tokens import row_tokens

    workspace = Workspace.at(home)
    made, library, watcher = saved_recipe(workspace, recipe), Library(workspace), TerminalWatcher(quiet=as_json)
    found: list[dict[str, Any]] = []
    for entry in sorted(made.sources, key=lambda entry: entry.name):
        if source not in (None, entry.name):
            continue
        its = library.source(entry.name)
        for removed in removed_by(list(checks_of(made, its, row_tokens(made, watcher), watcher)), its, examples):
            shown = its.page(where={"row": [min(removed.examples), max(removed.examples)]}, limit=10_000).rows if removed.examples else []
            rows = [
                {"row": row["row"], "row_id": row["row_id"], "excerpt": row["excerpt"]} for row in shown if row["row"] in removed.examples
            ]
            found.append({"source": entry.name, "rows": its.rows, **asdict(removed), "examples": rows})
    if as_json:
        emit_lines(found)
    elif not found:
        say(f"{made.name} has no filters: every kept row may be used.")
    else:
        said = [[one["source"], one["rule"], one["scope"], one["rows"], one["alone"], one["first"]] for one in found]
        table("Filters", ["source", "rule", "said for", "kept rows", "fail it", "removed by it"], said)
        for one in found:
            for row in one["examples"]:
                say(f"  {one['rule']}  {one['source']}:{row['row']}  {' '.join(row['excerpt'].split())[:100]}")


def duplicates(recipe: RecipeName, source: Only = None, groups: Examples = 10, as_json: AsJSON = False, home: Home = None) -> None:
    """Find the recipe's duplicates, say what they cost, and show the largest groups."""
    from core.mix import duplicate_groups, usable_rows
    from core.sources import Library
    from core.tokens import row_tokens

    workspace = Workspace.at(home)
    made, library, watcher = saved_recipe(workspace, recipe), Library(workspace), TerminalWatcher(quiet=as_json)
    if not made.duplicates.asks:  # asked for here, so both kinds are meant
        made = made.model_copy(update={"duplicates": made.duplicates.model_copy(update={"exact": True, "near": True})})
    found = duplicate_groups(made, library, watcher)
    usable = usable_rows(made, library, row_tokens(made, watcher), watcher)
    removed = {name: sum(count for rule, count in part.removed.items() if rule.startswith("duplicates")) for name, part in usable.items()}
    page: list[dict[str, Any]] = [
        {
            "exact": group.exact,
            "rows": [
                {"source": name, "row": row, "text": library.source(name).texts()[row].as_py()[:200]} for name, row in group.rows[:20]
            ],
            "size": len(group.rows),
        }
        for group in found.page(limit=groups, source=source)
    ]
    if as_json:
        between = [{"sources": list(dict.fromkeys(pair)), "groups": count} for pair, count in found.between().items()]
        emit({"groups": found.count, "rows": found.rows, "removed": removed, "between": between, "largest": page})
        return
    table("Duplicates", ["source", "rows removed"], sorted(removed.items()))
    for group in page:
        say(f"{group['size']} rows, {'equal' if group['exact'] else 'near'}:")
        for row in group["rows"]:
            say(f"  {row['source']}:{row['row']}  {' '.join(row['text'].split())[:100]}")
    say(f"{found.rows:,} rows in {found.count:,} groups")


def contamination(
    recipe: RecipeName,
    benchmark: Annotated[list[str] | None, typer.Option("--benchmark", help="A file or hub id, besides the recipe's own.")] = None,
    group: Annotated[str | None, typer.Option(help="Matches of one group alone, as gsm8k-test:17 or boilerplate.")] = None,
    source: Only = None,
    matches: Examples = 10,
    as_json: AsJSON = False,
    home: Home = None,
) -> None:
    """Compare the recipe's rows with benchmarks; exit code 1 where rows that it keeps repeat one."""
    from core.mix import BOILERPLATE, checked_recipe, contamination_report
    from core.sources import Library

    workspace = Workspace.at(home)
    value = saved_recipe(workspace, recipe).model_dump(mode="json")
    value["contamination"]["benchmarks"] += benchmark or []
    made = checked_recipe(value)
    report = contamination_report(made, Library(workspace), TerminalWatcher(quiet=as_json))
    found = report.groups()
    shown = report.matches(group=group, source=source, limit=matches)
    left = [one for one in found if one.kept and one.name != BOILERPLATE and made.contamination.action == "report"]
    if as_json:
        dropped = {name: len(rows) for name, rows in report.dropped().items()}
        said = {"groups": [asdict(one) for one in found], "dropped": dropped, "texts_too_short": report.index.too_short}
        emit(said | {"matches": [asdict(match) for match in shown]})
    else:
        rows = [[one.name, sum(one.rows.values()), ", ".join(one.rows), "kept" if one.kept else "dropped"] for one in found[:50]]
        table("Matches with benchmarks", ["group", "rows", "in", "rows are"], rows)
        for match in shown:
            say(f"{match.source}:{match.row} and {match.group}, {match.words} words")
            for what, text in (("row", match.in_row), ("benchmark", match.in_benchmark)):
                say(f"  {what}: … {' '.join(text.before.split())} [[{' '.join(text.span.split())}]] {' '.join(text.after.split())} …")
        say(f"{sum(len(rows) for rows in report.dropped().values()):,} rows dropped; {report.index.too_short} texts are too short to match")
    if left:
        raise typer.Exit(1)


def licences(recipe: RecipeName, as_json: AsJSON = False, home: Home = None) -> None:
    """List the licences of a mix, the strictest first, with a warning where parts exclude commercial use."""
    from core.mix import Part, Shortfall, mix_licences, plan, usable_rows
    from core.sources import Library
    from core.tokens import row_tokens, settled_plan

    workspace = Workspace.at(home)
    made, library = saved_recipe(workspace, recipe), Library(workspace)
    usable = usable_rows(made, library, row_tokens(made))
    try:
        planned = settled_plan(made, library, usable=usable) if made.needs_tokens else plan(made, library, usable=usable)
    except Shortfall as error:
        planned = error.plan
    found = mix_licences(Part(part.name, usable[part.name].source.licence, part.rows) for part in planned.sources)
    if as_json:
        emit({**asdict(found), "commercial": found.commercial})
        return
    rows = [[share.licence or "none", share.kind.name, ", ".join(share.sources), share.rows, 100 * share.share] for share in found.licences]
    table("Licences", ["licence", "kind", "sources", "rows", "%"], rows)
    for warning in found.warnings:
        say(warning)


def measure(recipe: RecipeName, source: Only = None, as_json: AsJSON = False, home: Home = None) -> None:
    """Count the tokens of every row under the recipe's target, so that its plans are exact before anything is tokenized."""
    from core.mix import kept_rows
    from core.sources import Library
    from core.tokens import Meter

    workspace = Workspace.at(home)
    made, library = saved_recipe(workspace, recipe), Library(workspace)
    meter = Meter(made, TerminalWatcher(quiet=as_json))
    found = {}
    for entry in made.sources:
        if source in (None, entry.name):
            its = library.source(entry.name)
            rows = kept_rows(its)
            measured = meter.measured(its, rows)
            at, _ = measured.places(rows)
            figures = (measured.tokens[at], measured.trainable_tokens[at], measured.training_rows[at])
            tokens, trainable, training = (int(column.sum(dtype="int64")) for column in figures)
            found[entry.name] = {"rows": len(rows), "training_rows": training, "tokens": tokens, "trainable_tokens": trainable}
    if as_json:
        emit({"key": meter.key, "sources": found})
    else:
        table(
            "Tokens",
            ["source", "rows", "training rows", "tokens", "trainable"],
            [[name, *figures.values()] for name, figures in found.items()],
        )
