"""Columns that a person mapped by hand, for rows whose shape no signature shows: a dialect made to measure.

It renames the columns to those that dialects know and lets the usual ones read the row. It does not know where a mapping is kept.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from core.dialects.dialect import Dialect
from core.dialects.draft import Draft, RawRecord
from core.dialects.handling import Handling, Quarantined
from core.dialects.message_lists import read_list, tools_of_row, with_system
from core.dialects.registry import recognise
from core.errors import InputError

PARTS = ("messages", "prompt", "context", "response", "reasoning", "system", "tools")
"""What a column can be mapped to: all turns; or the question, what belongs to it, its answer and the thoughts before that;
beside either the system text and the tools."""

_KNOWN_AS = {
    "messages": "messages",
    "prompt": "instruction",
    "context": "input",
    "response": "output",
    "system": "system",
    "tools": "tools",
}
_NAME = "mapped"


class BadMapping(InputError):
    """A mapping that no row can be read by."""


@dataclass(frozen=True)
class ColumnMap:
    """Part -> column. A dot goes into a column that is an object: `data.question`."""

    columns: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for part, column in self.columns.items():
            if part not in PARTS:
                raise BadMapping(f"{part!r} is nothing that a column can be mapped to: choose of {', '.join(PARTS)}.")
            if not isinstance(column, str) or not column:
                raise BadMapping(f"No column is named for {part}: write {part}=COLUMN.")
        if not self.columns:
            return
        if "messages" in self.columns and (more := {"prompt", "context", "response", "reasoning"} & self.columns.keys()):
            raise BadMapping(
                f"The messages hold all turns: map either messages, or prompt and response, not also {', '.join(sorted(more))}."
            )
        if not {"messages", "prompt"} & self.columns.keys():
            raise BadMapping("No column is mapped to the turns: map messages, or prompt and response.")
        if "reasoning" in self.columns and "response" not in self.columns:
            raise BadMapping("Reasoning belongs to an answer: map the response too.")

    @classmethod
    def parse(cls, items: Iterable[str]) -> "ColumnMap":
        """From `part=column` texts, as a command line gives them. Raises `BadMapping`."""
        columns: dict[str, str] = {}
        for item in items:
            part, equals, column = item.partition("=")
            if not equals:
                raise BadMapping(f"{item!r} is no mapping: write for example prompt=question.")
            if columns.setdefault(part.strip(), column.strip()) != column.strip():
                raise BadMapping(f"{part.strip()} is mapped twice: a part has one column.")
        return cls(columns)

    @property
    def required(self) -> tuple[str, ...]:
        """The columns without which a row cannot be read."""
        return tuple(self.columns[part] for part in ("messages", "prompt") if part in self.columns)

    def fits(self, record: object) -> bool:
        """Whether the row has the required columns."""
        return isinstance(record, dict) and all(_look_up(record, column)[0] for column in self.required)

    def dialect(self) -> Dialect:
        """The dialect that reads rows by this mapping. Raises `BadMapping` for one that maps nothing."""
        if not self.columns:
            raise BadMapping("The mapping maps no column: map messages, or prompt and response.")
        words = ", ".join(f"{part} from {column}" for part, column in self.columns.items())
        roots = frozenset(column for column in self.required if "." not in column)
        return Dialect(_NAME, "Mapped by hand", words, lambda keys: roots <= keys, lambda row: self.fits(row.record), self._read)

    def _read(self, record: RawRecord, handling: Handling) -> Draft:
        renamed: dict[str, Any] = {}
        for part, column in self.columns.items():
            found, value = _look_up(record, column)
            if not found and column in self.required:
                raise Quarantined("dialect_mismatch", f"no column {column} among: " + ", ".join(map(str, list(record)[:12])), column)
            if part != "reasoning" and (found or part == "response"):
                renamed[_KNOWN_AS[part]] = value
        if not renamed.get("output", True):
            del renamed["output"]  # nobody answered yet: the row is a prompt
        try:
            draft = _converted(renamed, handling)
        except Quarantined as refusal:
            raise Quarantined(refusal.reason, refusal.detail, self._own_words(refusal.field)) from None
        for turn in draft.turns:
            turn.field = self._own_words(turn.field) or ""
        self._add_reasoning(draft, record)
        return draft

    def _add_reasoning(self, draft: Draft, record: RawRecord) -> None:
        thought = _look_up(record, self.columns["reasoning"])[1] if "reasoning" in self.columns else None
        if isinstance(thought, str) and thought.strip() and draft.turns and draft.turns[-1].role == "assistant":
            draft.turns[-1].reasoning = draft.turns[-1].reasoning or thought.strip()

    def _own_words(self, place: str | None) -> str | None:
        """A place in the renamed row, as the person knows it: `output[0].content` -> `answer[0].content`."""
        if place is None:
            return None
        for part, column in self.columns.items():
            known = _KNOWN_AS.get(part, part)
            if place == known or place.startswith((f"{known}.", f"{known}[")):
                return column + place[len(known) :]
        return place


def _converted(record: RawRecord, handling: Handling) -> Draft:
    """The draft of a row whose columns have the names that dialects know."""
    dialect = recognise(record)
    draft = dialect.convert(record, handling) if dialect is not None and not dialect.gathers else read_list(record, handling)
    # Dialects that have no such columns (plain lists of texts) leave out what was mapped on purpose.
    draft.turns = with_system(record, draft.turns, handling)
    if not draft.tools:
        tools = tools_of_row(record, handling)
        draft.tools, draft.padded = tools.tools, tools.padded
    return draft


def _look_up(record: Mapping[str, Any], column: str) -> tuple[bool, Any]:
    """Whether the row has the column, and what stands in it; the whole name first, then the path that its dots make."""
    if column in record:
        return True, record[column]
    value: Any = record
    for step in column.split("."):
        if not isinstance(value, Mapping) or step not in value:
            return False, None
        value = value[step]
    return True, value
