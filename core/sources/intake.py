"""Raw rows into a draft's parts: convert, store, account for every one, and remember how far it got.

It knows rows and parts. It does not know where the rows come from or what becomes of the draft.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

from core.conversation import Conversation
from core.dialects import ENOUGH_ROWS, Outcome, RawRow
from core.sources.checkpoint import Account, Checkpoint
from core.sources.parts import DamagedLibrary, Group, Parts, PartWriter
from core.sources.shelf import NotWhole
from core.sources.stored import INDEX, KEPT_GROUPS, QUARANTINE, QUARANTINE_GROUPS, kept_record, quarantine_record
from core.watch import Progress, Watcher, stop_if_cancelled

Convert = Callable[[Iterable[RawRow]], Iterator[Outcome]]

_REPORT_EVERY = 1_000


class Intake:
    """One import's rows on their way into the folder of its draft. `account` is right whenever no call is running."""

    def __init__(self, source: str, folder: Path, watcher: Watcher, expected: int | None) -> None:
        self._source = source
        self._folder = folder
        self._watcher = watcher
        self._expected = expected
        self._finished = _checkpoint(folder)
        self.account = self._finished.account if self._finished else Account()

    def run(self, head: Sequence[RawRow], rest: Iterator[RawRow], convert: Convert) -> None:
        """Convert and write all rows (`head` and then `rest`); the ledger adds up afterwards.

        A draft with a checkpoint is gone on with behind it. The rows before it are read over, but for the first
        `ENOUGH_ROWS`: by these a conversion knows what rows that show no dialect of their own are likely to be.
        """
        done = self.account.ledger.raw_rows
        again = head[: min(done, ENOUGH_ROWS)]
        kept = PartWriter(self._folder, KEPT_GROUPS, self._finished.kept_parts if self._finished else 0)
        quarantined = PartWriter(self._folder, QUARANTINE_GROUPS, self._finished.quarantine_parts if self._finished else 0)
        new = self._counted(islice(chain(head, rest), done, None))
        try:
            for number, outcome in enumerate(islice(convert(chain(again, new)), len(again), None)):
                if number % _REPORT_EVERY == 0:
                    self._report()
                self._take(outcome, kept, quarantined)
                if kept.full or quarantined.full:
                    self._finish_parts(kept, quarantined)
            kept.finish_part()
            quarantined.finish_part()
        except BaseException:
            kept.abandon()
            quarantined.abandon()
            raise
        self._check()
        self._report()

    def _finish_parts(self, kept: PartWriter, quarantined: PartWriter) -> None:
        kept.finish_part()
        quarantined.finish_part()
        # While rows are gathered (message trees), some were read that stand in no part yet: the ledger does not add up.
        if self.account.ledger.adds_up():
            Checkpoint(self.account, kept.parts, quarantined.parts).write(self._folder)

    def _check(self) -> None:
        self.account.ledger.check()
        for group, counted in ((INDEX, self.account.stored), (QUARANTINE, self.account.ledger.quarantined)):
            written = len(Parts(self._folder, group))
            if written != counted:
                raise NotWhole(f"Of {counted:,} rows for {group.name} {written:,} could be read back: check the disk and import again.")

    def _counted(self, rows: Iterator[RawRow]) -> Iterator[RawRow]:
        ledger, columns = self.account.ledger, self.account.columns
        for row in rows:
            ledger.raw_rows += 1
            if isinstance(row.value, dict) and row.problem is None:
                for column in row.value:
                    columns[column] = columns.get(column, 0) + 1
            if ledger.raw_rows % _REPORT_EVERY == 0:
                self._report()  # a converter that gathers rows first (message trees) gives nothing for a long time
            yield row

    def _take(self, outcome: Outcome, kept: PartWriter, quarantined: PartWriter) -> None:
        if outcome.status in ("kept", "prompt_only"):
            record = self._record_of(outcome)
            if record is not None:
                kept.append(record, _size(record))
                self.account.statistics.add(record)
                self.account.stored += 1
                self.account.ledger.add(outcome)
                return
            outcome = _unstorable(outcome)
        self.account.ledger.add(outcome)
        if outcome.status == "quarantined":
            record = quarantine_record(outcome)
            quarantined.append(record, _size(record))

    def _record_of(self, outcome: Outcome) -> dict[str, Any] | None:
        if not isinstance(outcome.conversation, Conversation):
            return None
        try:
            return kept_record(self.account.stored, self._source, outcome, outcome.conversation)
        except (TypeError, ValueError, RecursionError):
            return None

    def _report(self) -> None:
        stop_if_cancelled(self._watcher)
        ledger = self.account.ledger
        counts = {name: getattr(ledger, name) for name in ("kept", "prompt_only", "quarantined")}
        self._watcher.progress(Progress(f"import {self._source}", ledger.raw_rows, self._expected, "rows", counts))


def _checkpoint(folder: Path) -> Checkpoint | None:
    """The draft's checkpoint, where its finished parts hold just the rows it counts."""
    found = Checkpoint.read(folder)
    if found is None:
        return None
    wanted = (
        (KEPT_GROUPS, found.kept_parts, found.account.stored),
        (QUARANTINE_GROUPS, found.quarantine_parts, found.account.ledger.quarantined),
    )
    whole = all(_rows(folder, groups[0], parts) == rows for groups, parts, rows in wanted)
    return found if whole and found.account.ledger.adds_up() else None


def _rows(folder: Path, group: Group, parts: int) -> int | None:
    try:
        return len(Parts(folder, group, parts=parts))
    except DamagedLibrary:
        return None


def _unstorable(outcome: Outcome) -> Outcome:
    detail = "the conversation cannot be written as JSON text"
    return replace(outcome, status="quarantined", conversation=None, reason="unforeseen", detail=detail)


def _size(record: Mapping[str, Any]) -> int:
    return 200 + sum(len(value) for value in record.values() if isinstance(value, str))
