"""From a file or folder to an imported source: read, convert, store, account for every row, publish whole or not at all.

It knows the order of the steps. Formats are the readers' business, dialects the converters', files on disk `parts` and
`shelf`'s.
"""

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import chain, islice
from pathlib import Path
from typing import Any

from core.conversation import Conversation
from core.dialects import Detection, Outcome, Policy, RawRow, convert, detect
from core.errors import MixdownError
from core.sources.catalogue import Catalogue, CatalogueEntry
from core.sources.ledger import Ledger
from core.sources.origin import Origin, describe_origin, still_the_same
from core.sources.parts import Parts, PartWriter
from core.sources.readers import read_rows
from core.sources.shelf import NotWhole, new_draft
from core.sources.source import Source
from core.sources.statistics import Statistics
from core.sources.stored import INDEX, KEPT_GROUPS, QUARANTINE, QUARANTINE_GROUPS, kept_record, quarantine_record
from core.watch import Progress, Unwatched, Watcher, stop_if_cancelled
from core.workspace import Workspace, checked_name

_LOOKED_AT = 500
"""Rows that detection sees."""

_REPORT_EVERY = 1_000

_ENDINGS = frozenset({".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".parquet", ".arrow", ".feather", ".gz", ".zst"})


class OriginChanged(MixdownError):
    """A file of the origin was written to while it was read."""


def import_name(origin: Path) -> str:
    """The name a file or folder gets as a source when nobody gives one: its own, without the endings of its kind."""
    name = Path(os.path.realpath(origin)).name  # unlike Path.resolve, no error for a link to itself
    while (suffix := Path(name).suffix.lower()) in _ENDINGS:
        name = name[: -len(suffix)]
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-._")[:100] or "source"


def import_source(
    workspace: Workspace,
    name: str,
    origin: Path,
    *,
    dialect: str | None = None,
    policy: Policy | None = None,
    domain: str | None = None,
    licence: str | None = None,
    watcher: Watcher | None = None,
) -> Source:
    """Import the file or folder `origin` as the source `name` and return it; memory does not grow with its rows.

    `dialect` None lets each row's shape decide. What the catalogue knows under this name (title, domain, licence, expected
    columns) is taken over and compared. An older import of the name stays until this one is whole, and stays if it fails.
    Raises `BadName`, `UnreadableSource` (nothing was written), `Cancelled` and `MixdownError`s of the writing (nothing is left).
    """
    checked_name(name)
    watcher = watcher or Unwatched()
    policy = policy or Policy()
    entry = Catalogue.load(workspace).find(name)
    rows = read_rows(origin)
    described = describe_origin(origin, watcher)
    with new_draft(workspace, name) as draft:
        job = _Import(name, draft.folder, watcher, expected=described.rows)
        detection = job.run(rows, dialect, policy)
        if not still_the_same(described):
            raise OriginChanged(f"'{origin}' was written to while it was imported: import it again when that is finished.")
        draft.publish(
            {
                "title": entry.title if entry else name,
                "domain": domain or (entry.domain if entry else "other"),
                "licence": licence or (entry.licence if entry else None),
                "dialect": dialect or detection.dialect,
                "origin": described.to_json(),
                "ledger": job.ledger.to_json(),
                "statistics": job.statistics.to_json(),
                "warnings": _differences(job, entry, described),
                "info": {
                    "imported_at": datetime.now(UTC).isoformat(timespec="seconds"),
                    "columns": dict(sorted(job.columns.items())),
                    "detection": detection.to_json(),
                    "dialect_asked_for": dialect,
                    "policy": dict(sorted(policy.switches.items())),
                    "expected": {"columns": list(entry.columns), "rows": entry.rows} if entry else None,
                    "bytes": sum(file.stat().st_size for file in draft.folder.rglob("*.arrow")),
                },
            }
        )
    return Source.open(workspace, name)


def _differences(job: "_Import", entry: CatalogueEntry | None, origin: Origin) -> list[str]:
    """What was found otherwise than the catalogue says, as sentences."""
    if entry is None:
        return []
    found = []
    if missing := [column for column in entry.columns if column not in job.columns]:
        found.append(f"The catalogue expects the columns {', '.join(missing)}, which no row has.")
    if entry.evaluation:
        found.append("This is an evaluation set: do not train on it.")
    if entry.rows and origin.path != entry.bundled and abs(job.ledger.raw_rows - entry.rows) > entry.rows // 20:
        found.append(f"The catalogue expects about {entry.rows:,} rows; {job.ledger.raw_rows:,} were read.")
    return found


@dataclass
class _Import:
    name: str
    folder: Path
    watcher: Watcher
    expected: int | None
    ledger: Ledger = field(default_factory=Ledger)
    statistics: Statistics = field(default_factory=Statistics)
    columns: dict[str, int] = field(default_factory=dict)
    stored: int = 0

    def run(self, rows: Iterator[RawRow], dialect: str | None, policy: Policy) -> Detection:
        """Convert and write all rows; the ledger adds up afterwards."""
        head = list(islice(rows, _LOOKED_AT))
        detection = detect(head)
        kept = PartWriter(self.folder, KEPT_GROUPS)
        quarantined = PartWriter(self.folder, QUARANTINE_GROUPS)
        try:
            for number, outcome in enumerate(convert(self._counted(chain(head, rows)), dialect, policy)):
                if number % _REPORT_EVERY == 0:
                    self._report()
                self._take(outcome, kept, quarantined)
            kept.close()
            quarantined.close()
        except BaseException:
            kept.abandon()
            quarantined.abandon()
            raise
        self._check()
        self._report()
        return detection

    def _check(self) -> None:
        self.ledger.check()
        for group, counted in ((INDEX, self.stored), (QUARANTINE, self.ledger.quarantined)):
            written = len(Parts(self.folder, group))
            if written != counted:
                raise NotWhole(f"Of {counted:,} rows for {group.name} {written:,} could be read back: check the disk and import again.")

    def _counted(self, rows: Iterator[RawRow]) -> Iterator[RawRow]:
        for row in rows:
            self.ledger.raw_rows += 1
            if isinstance(row.value, dict) and row.problem is None:
                for column in row.value:
                    self.columns[column] = self.columns.get(column, 0) + 1
            if self.ledger.raw_rows % _REPORT_EVERY == 0:
                self._report()  # a converter that gathers rows first (message trees) gives nothing for a long time
            yield row

    def _take(self, outcome: Outcome, kept: PartWriter, quarantined: PartWriter) -> None:
        if outcome.status in ("kept", "prompt_only"):
            record = self._record_of(outcome)
            if record is not None:
                kept.append(record, _size(record))
                self.statistics.add(record)
                self.stored += 1
                self.ledger.add(outcome)
                return
            outcome = _unstorable(outcome)
        self.ledger.add(outcome)
        if outcome.status == "quarantined":
            record = quarantine_record(outcome)
            quarantined.append(record, _size(record))

    def _record_of(self, outcome: Outcome) -> dict[str, Any] | None:
        if not isinstance(outcome.conversation, Conversation):
            return None
        try:
            return kept_record(self.stored, self.name, outcome, outcome.conversation)
        except (TypeError, ValueError, RecursionError):
            return None

    def _report(self) -> None:
        stop_if_cancelled(self.watcher)
        counts = {name: getattr(self.ledger, name) for name in ("kept", "prompt_only", "quarantined")}
        self.watcher.progress(Progress(f"import {self.name}", self.ledger.raw_rows, self.expected, "rows", counts))


def _unstorable(outcome: Outcome) -> Outcome:
    detail = "the conversation cannot be written as JSON text"
    return replace(outcome, status="quarantined", conversation=None, reason="unforeseen", detail=detail)


def _size(record: Mapping[str, Any]) -> int:
    return 200 + sum(len(value) for value in record.values() if isinstance(value, str))
