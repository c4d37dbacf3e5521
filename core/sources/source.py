"""One imported source: what it is, its account, and its rows, memory-mapped and queried, never loaded.

It knows what an import left on disk. It does not know how the rows were read or converted.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from core.conversation import Conversation, Stored
from core.sources import shelf
from core.sources.arrays import text_scalar
from core.sources.computed import FOLDER as COMPUTED
from core.sources.computed import Fill, computed, is_computed
from core.sources.ledger import Ledger
from core.sources.origin import Origin
from core.sources.parts import DamagedLibrary, Group, Parts
from core.sources.query import Bin, Filters, Page, all_matching_rows, histogram, matching_rows, quarantined_numbers
from core.sources.statistics import Statistics
from core.sources.stored import CONVERSATIONS, INDEX, QUARANTINE, QUARANTINE_RAW, RAW, SEARCH, StoredRow, conversation_of, stored_of
from core.sources.text import loads
from core.workspace import Workspace

_EXCERPT = 200
_AT_ONCE = 256
"""Conversations whose columns are read together."""


class Source:
    """An imported source, as it was when this object was made; a later import of the name does not change it."""

    def __init__(self, name: str, folder: Path) -> None:
        record = shelf.record(folder)
        try:
            self.name = name
            self.title: str = record["title"]
            self.domain: str = record["domain"]
            self.licence: str | None = record["licence"]
            self.dialect: str | None = record["dialect"]
            self.origin = Origin.from_json(record["origin"])
            self.ledger = Ledger.from_json(record["ledger"])
            self.statistics = Statistics.from_json(record["statistics"])
            self.warnings: tuple[str, ...] = tuple(record["warnings"])
            self.info: dict[str, Any] = record["info"]
        except (KeyError, TypeError) as error:
            raise DamagedLibrary(f"'{folder / shelf.RECORD}' lacks {error}: import the source again.") from error
        self._folder = folder

    @classmethod
    def open(cls, workspace: Workspace, name: str) -> Self:
        """The source called `name`. Raises `SourceMissing`."""
        return cls(name, shelf.version_folder(workspace, name))

    @property
    def languages(self) -> dict[str, float]:
        """ISO 639 code -> share of a sample of its rows, the largest first; "und" for those that tell no language."""
        return dict(self.info.get("languages") or {})

    @property
    def rows(self) -> int:
        """How many rows were kept (prompt-only ones not among them)."""
        return self.ledger.kept

    @property
    def problem(self) -> str | None:
        """Why this source should not be used as it is: under half of its rows could be; None where all is well or accepted."""
        return None if self.accepted else self.doubt

    @property
    def accepted(self) -> bool:
        """Whether a person took this import as it is, with all its quarantine; another import has to be accepted anew."""
        return shelf.accepted(self._folder)

    def accept(self) -> None:
        """Take the source as it is: it has no `problem` from now on. Raises `CannotWrite`."""
        try:
            shelf.accept(self._folder)
        except OSError as error:
            raise shelf.CannotWrite(f"'{self._folder}' cannot be written to ({error.strerror or error}): check its permissions.") from error

    @property
    def doubt(self) -> str | None:
        """What `problem` says, accepted or not."""
        ledger = self.ledger
        usable = ledger.kept + ledger.prompt_only
        if ledger.read and usable * 2 >= ledger.read:
            return None
        main = ", ".join(f"{reason} ({count:,})" for reason, count in ledger.main_reasons())
        of = f"{usable:,} of {ledger.read or ledger.raw_rows:,} rows could be used"
        advice = "Look at its quarantine, then import it again with another dialect or policy, or accept it as it is."
        return f"Only {of}; main reasons: {main}. {advice}"

    # Rows

    def index(self) -> pa.Table:
        """The slim columns of every kept and prompt-only row (`core.sources.stored.INDEX`), in order of `row`, memory-mapped."""
        return self._index.table()

    def texts(self) -> pa.ChunkedArray:
        """What a person reads in each row of the index, in the form that searches compare; memory-mapped."""
        return self._search.table().column("text")

    def written(self) -> pa.Table:
        """The JSON texts `messages` and `tools` (null for none) of each row of the index; memory-mapped."""
        return self._conversations.table().select(["messages", "tools"])

    def conversation(self, row: int) -> Conversation:
        """The conversation of a row of the index. Raises `IndexError` where there is none."""
        return conversation_of(self._conversations.row(row), self.name, self._index.row(row)["row_id"])

    def number_of(self, row_id: str) -> int | None:
        """The number in the index of the row with this id, None where there is none."""
        place = pc.index(self.index()["row_id"], text_scalar(row_id)).as_py()
        return None if place < 0 else int(place)

    def conversations(self, rows: Sequence[int]) -> Iterator[Conversation]:
        """The conversations of several rows, in the order asked for; a few hundred in memory. Raises `IndexError` as `conversation`."""
        return (stored.conversation for stored in self.as_stored(rows))

    def as_stored(self, rows: Sequence[int]) -> Iterator[Stored]:
        """The same as the JSON values they are stored as, at a tenth of the cost."""
        for start in range(0, len(rows), _AT_ONCE):
            part = rows[start : start + _AT_ONCE]
            names = self._index.texts(["row_id"], part)
            columns = self._conversations.texts(CONVERSATIONS.schema.names, part)
            for name, messages, tools, pending in zip(*names, *columns, strict=True):
                yield stored_of(messages, tools, pending, self.name, str(name or b"", "utf-8"))

    def stored(self, row: int) -> StoredRow:
        """One row with all that is known of it. Raises `IndexError` where there is none."""
        known = self._index.row(row)
        return StoredRow(
            conversation=conversation_of(self._conversations.row(row), self.name, known["row_id"]),
            raw=loads(self._raw.row(row)["raw"]),
            dialect=known["dialect"],
            repairs=tuple(known["repairs"]),
            status=known["status"],
            position=known["position"],
        )

    def page(
        self,
        *,
        search: str = "",
        where: Filters | None = None,
        sort: str = "row",
        descending: bool = False,
        offset: int = 0,
        limit: int = 50,
    ) -> Page:
        """Rows whose text contains `search` (in any case) and that pass all filters of `where`, sorted, one page of them.

        Each row has the index columns and `excerpt`, the beginning of its first user turn. Raises `BadQuery`.
        """
        numbers, total = matching_rows(
            self._table(search), search, where or {}, sort=sort, descending=descending, offset=offset, limit=limit
        )
        return Page([{**self._index.row(row), "excerpt": self._excerpt(row)} for row in numbers], total)

    def selected(
        self, *, search: str = "", where: Filters | None = None, sort: str = "row", descending: bool = False
    ) -> Iterator[dict[str, Any]]:
        """All rows that `page` would show over all its pages, as canonical JSON objects with `row_id`; one at a time in memory.

        Raises `BadQuery` at once. Imported again, each is the conversation it is here.
        """
        numbers = all_matching_rows(self._table(search), search, where or {}, sort=sort, descending=descending)
        return ({"row_id": found.row_id, **found.to_json()} for found in map(self.conversation, map(int, numbers)))

    def histogram(self, column: str, *, bins: int = 40, search: str = "", where: Filters | None = None) -> list[Bin]:
        """Equal bins over a number column ("turns", "chars", "tool_calls", …) of the matching rows. Raises `BadQuery`."""
        return histogram(self._table(search), column, bins, search, where or {})

    # Columns worked out when they are asked for

    @property
    def version(self) -> str:
        """What tells this import from any other of the name in this workspace."""
        return self._folder.name

    def computed(self, column: str, fill: Fill, dtype: npt.DTypeLike, width: int | None = None) -> npt.NDArray[Any]:
        """A column `[rows of the index]` (or `[rows, width]`), made by `fill` the first time and kept beside the rows."""
        shape = (len(self._index),) if width is None else (len(self._index), width)
        return computed(self._folder, column, shape, dtype, fill)

    def is_computed(self, column: str) -> bool:
        """Whether that column is there already."""
        return is_computed(self._folder, column)

    @property
    def computed_folder(self) -> Path:
        """Where files stand that go with this import when it is replaced or removed; may not exist yet."""
        return self._folder / COMPUTED

    # Quarantine

    def quarantine_reasons(self) -> dict[str, int]:
        """Reason -> quarantined rows, most frequent first."""
        return dict(self.ledger.main_reasons(None)) if self.ledger.reasons else {}

    def quarantine_page(self, reason: str | None = None, offset: int = 0, limit: int = 50) -> Page:
        """Quarantined rows in order: `position`, `reason`, `field`, `detail`, `excerpt`, `raw` (cut where it is huge)."""
        numbers, total = quarantined_numbers(self._quarantine.table(), reason, offset, limit)
        return Page([{**self._quarantine.row(number), "raw": loads(self._quarantine_raw.row(number)["raw"])} for number in numbers], total)

    # The mapped files

    @cached_property
    def _index(self) -> Parts:
        return self._parts(INDEX, self.ledger.kept + self.ledger.prompt_only)

    @cached_property
    def _conversations(self) -> Parts:
        return self._parts(CONVERSATIONS, len(self._index))

    @cached_property
    def _search(self) -> Parts:
        return self._parts(SEARCH, len(self._index))

    @cached_property
    def _raw(self) -> Parts:
        return self._parts(RAW, len(self._index), self._index.sizes)

    @cached_property
    def _quarantine(self) -> Parts:
        return self._parts(QUARANTINE, self.ledger.quarantined)

    @cached_property
    def _quarantine_raw(self) -> Parts:
        return self._parts(QUARANTINE_RAW, len(self._quarantine), self._quarantine.sizes)

    def _parts(self, group: Group, rows: int, sizes: Sequence[int] | None = None) -> Parts:
        parts = Parts(self._folder, group, sizes)
        if len(parts) != rows:
            raise DamagedLibrary(f"The rows of {self.name!r} are gone or not whole: it was imported again or removed; open it again.")
        return parts

    def _table(self, search: str) -> pa.Table:
        table = self._index.table()
        return table.append_column("text", self.texts()) if search else table

    def _excerpt(self, row: int) -> str:
        conversation = self.conversation(row)
        first = next((message for message in conversation.messages if message.role == "user"), conversation.messages[0])
        return first.content[:_EXCERPT].encode("utf-8", "replace").decode("utf-8")
