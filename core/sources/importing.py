"""From a file, a folder or the hub to an imported source: fetch, read, convert, store, account for every row, publish whole or not at all.

It knows the order of the steps. The hub and formats are the fetcher's and the readers' business, dialects the converters', rows and
their account `intake`'s, files on disk `parts` and `shelf`'s.
"""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from pathlib import Path

from core.conversation import Conversation
from core.dialects import ColumnMap, Detection, Dialect, Policy, RawRow, convert, detect
from core.errors import MixdownError
from core.sources.catalogue import Catalogue, CatalogueEntry
from core.sources.checkpoint import Account, import_key
from core.sources.downloads import reading
from core.sources.groups import group_mixtures, mixed
from core.sources.hub import HubReference
from core.sources.intake import Intake
from core.sources.origin import Origin, describe_origin, still_the_same
from core.sources.parts import DamagedLibrary, Parts
from core.sources.readers import read_rows
from core.sources.shelf import SourceMissing, open_draft
from core.sources.source import Source
from core.sources.stored import CONVERSATIONS, conversation_of
from core.watch import Unwatched, Watcher
from core.workspace import Workspace, checked_name

_LOOKED_AT = 500
"""Rows that detection sees."""

_ENDINGS = frozenset({".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".parquet", ".arrow", ".feather", ".gz", ".zst"})


class OriginChanged(MixdownError):
    """A file of the origin was written to while it was read."""


def import_name(origin: Path | HubReference) -> str:
    """The name an origin gets as a source when nobody gives one: its own, without the endings of its kind."""
    if isinstance(origin, HubReference):
        name = "-".join(filter(None, (origin.repo.split("/")[-1], origin.config, origin.split if origin.split != "train" else None)))
    else:
        name = Path(os.path.realpath(origin)).name  # unlike Path.resolve, no error for a link to itself
        while (suffix := Path(name).suffix.lower()) in _ENDINGS:
            name = name[: -len(suffix)]
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-._")[:100] or "source"


def first_rows(origin: Path | HubReference, count: int, watcher: Watcher | None = None) -> list[RawRow]:
    """At most `count` first raw rows of an origin; of one on the hub no more is fetched than they take. Raises as `import_source`."""
    if isinstance(origin, HubReference):
        from core.sources.hub.preview import preview  # noqa: PLC0415 - half a second that local files need not wait

        return preview(origin, count, watcher or Unwatched())
    return list(islice(read_rows(origin), count))


def import_source(
    workspace: Workspace,
    name: str,
    origin: Path | HubReference,
    *,
    dialect: str | None = None,
    columns: ColumnMap | None = None,
    policy: Policy | None = None,
    domain: str | None = None,
    licence: str | None = None,
    watcher: Watcher | None = None,
) -> Source:
    """Import `origin` as the source `name` and return it; memory does not grow with its rows.

    `dialect` None lets each row's shape decide. `columns` maps columns by hand; None takes the mapping that the name was imported
    with before, where the rows have those columns, and an empty one forgets it. What the catalogue knows under this name (title,
    domain, licence, expected columns) is taken over and compared. An older import of the name stays until this one is whole, and
    stays if it fails. An import that was killed or cancelled is gone on with by the next one of the same rows in the same way.
    Raises `BadName`, `UnreadableSource` (nothing was written), `Cancelled`, what `hub.download.fetch` raises, and `MixdownError`s of
    the writing (nothing is left).
    """
    checked_name(name)
    watcher = watcher or Unwatched()
    policy = policy or Policy()
    entry = Catalogue.load(workspace).find(name)
    with reading(workspace):
        rows, described = _opened(workspace, name, origin, watcher)
        head = list(islice(rows, _LOOKED_AT))
        mapping = _mapping(workspace, name, dialect, columns, head)
        read_by: str | Dialect | None = mapping.dialect() if mapping else dialect
        how = {"name": name, "dialect": dialect, "mapping": dict(mapping.columns) if mapping else None, "policy": dict(policy.switches)}
        key = import_key([(file.path, file.bytes, file.sha256) for file in described.files], how)
        with open_draft(workspace, name, key) as draft:
            intake = Intake(name, draft.folder, watcher, expected=described.rows)
            intake.run(head, rows, partial(convert, dialect=read_by, policy=policy))
            if not still_the_same(described):
                raise OriginChanged(f"'{origin}' was written to while it was imported: import it again when that is finished.")
            detection = detect(head)
            groups = group_mixtures(described.path, [file.path for file in described.files] if described.hub else None)
            mixture = mixed(groups) if not read_by else None
            account = intake.account
            draft.publish(
                {
                    "title": entry.title if entry else name,
                    "domain": domain or (entry.domain if entry else "other"),
                    "licence": licence or (entry.licence if entry else None),
                    "dialect": read_by.name if isinstance(read_by, Dialect) else dialect or detection.dialect,
                    "origin": described.to_json(),
                    "ledger": account.ledger.to_json(),
                    "statistics": account.statistics.to_json(),
                    "warnings": [
                        *_differences(account, entry, described, detection),
                        *([mixture] if mixture else []),
                        *_passed_over(described),
                    ],
                    "info": {
                        "imported_at": datetime.now(UTC).isoformat(timespec="seconds"),
                        "columns": dict(sorted(account.columns.items())),
                        "detection": detection.to_json(),
                        "row_groups": [group.to_json() for group in groups] if mixture else [],
                        "dialect_asked_for": dialect,
                        "mapping": how["mapping"],
                        "policy": dict(sorted(policy.switches.items())),
                        "languages": _languages(draft.folder),
                        "expected": {"columns": list(entry.columns), "rows": entry.rows, "dialect": entry.dialect} if entry else None,
                        "bytes": sum(file.stat().st_size for file in draft.folder.rglob("*.arrow")),
                    },
                }
            )
    return Source.open(workspace, name)


def origin_rows(workspace: Workspace, origin: Path | HubReference, watcher: Watcher) -> tuple[Iterator[RawRow], Origin]:
    """The raw rows of an origin and its description; a hub data set is fetched into the workspace first. Raises as `import_source`."""
    if isinstance(origin, HubReference):
        from core.sources.hub.download import fetch  # noqa: PLC0415 - half a second that local files need not wait

        fetched = fetch(origin, workspace.downloads, watcher)
        rows = read_rows(fetched.folder, fetched.files)
        return rows, describe_origin(fetched.folder, watcher, fetched.files, fetched.reference)
    rows = read_rows(origin)
    return rows, describe_origin(origin, watcher)


def _opened(workspace: Workspace, name: str, origin: Path | HubReference, watcher: Watcher) -> tuple[Iterator[RawRow], Origin]:
    """The rows of the origin and its description; a hub data set is fetched first, unless `name` is it and its files are still here."""
    if isinstance(origin, HubReference) and (here := _still_here(workspace, name, origin, watcher)) is not None:
        return read_rows(here.path, [file.path for file in here.files]), here
    return origin_rows(workspace, origin, watcher)


def _still_here(workspace: Workspace, name: str, wanted: HubReference, watcher: Watcher) -> Origin | None:
    """What `name` was imported from before, when that is exactly the wanted commit and not one byte of its files has changed."""
    try:
        before = Source.open(workspace, name).origin
    except (SourceMissing, DamagedLibrary):
        return None
    if before.hub is None or before.hub != wanted or not still_the_same(before):
        return None
    found = describe_origin(before.path, watcher, [*(file.path for file in before.files), *before.empty], before.hub)
    return found if found.files == before.files else None


def _mapping(workspace: Workspace, name: str, dialect: str | None, given: ColumnMap | None, head: Sequence[RawRow]) -> ColumnMap | None:
    """The mapping to read by: the one given, else the one remembered where the rows still have its columns."""
    if given is not None:
        return given if given.columns else None
    if dialect is not None:
        return None
    try:
        remembered = ColumnMap(Source.open(workspace, name).info.get("mapping") or {})
    except (SourceMissing, DamagedLibrary):
        return None
    return remembered if remembered.columns and any(remembered.fits(row.value) for row in head) else None


def _languages(folder: Path) -> dict[str, float]:
    from core.sources.languages import SAMPLE, language_shares  # noqa: PLC0415 - its model is loaded with it

    parts = Parts(folder, CONVERSATIONS)
    chosen = range(0, len(parts), max(1, -(-len(parts) // SAMPLE)))
    return language_shares(_at(parts, chosen))


def _at(parts: Parts, rows: Iterable[int]) -> Iterator[Conversation]:
    for row in rows:
        yield conversation_of(parts.row(row), "", "")


def _passed_over(origin: Origin) -> list[str]:
    empty = origin.empty
    return [f"Nothing is in {', '.join(empty[:5])}{' and others' if len(empty) > 5 else ''}: an empty file gives no rows."] if empty else []


def _differences(account: Account, entry: CatalogueEntry | None, origin: Origin, shape: Detection) -> list[str]:
    """What was found otherwise than the catalogue says, as sentences."""
    if entry is None:
        return []
    found = []
    if missing := [column for column in entry.columns if column not in account.columns]:
        found.append(f"The catalogue expects the columns {', '.join(missing)}, which no row has.")
    if entry.dialect and shape.dialect != entry.dialect:
        found.append(f"The catalogue expects the dialect {entry.dialect}; most rows are {shape.dialect or 'of no known one'}.")
    if entry.evaluation:
        found.append("This is an evaluation set: do not train on it.")
    if entry.rows and origin.path != entry.bundled and abs(account.ledger.raw_rows - entry.rows) > entry.rows // 20:
        found.append(f"The catalogue expects about {entry.rows:,} rows; {account.ledger.raw_rows:,} were read.")
    return found
