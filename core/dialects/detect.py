"""Which dialect a source is, judged by its first rows, with a score, the reason and what else is mixed in.

It knows how to count recognised rows, nothing of how they are converted.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from core.conversation import JSONObject
from core.dialects.dialect import TURN_LISTS, Outline
from core.dialects.messages import ROLE_KEYS, are_turns
from core.dialects.opening import NotARecord, record_of
from core.dialects.registry import DIALECTS, recognise
from core.dialects.roles import meaning
from core.dialects.rows import RawRow

ENOUGH_ROWS = 200
"""How many rows to look at before believing a detection."""

UNKNOWN = "unknown"


@dataclass(frozen=True)
class Detection:
    """`score` is the share of readable rows that show the dialect's signature, from 0 to 1; `mixture` counts rows by dialect."""

    dialect: str | None
    score: float
    reason: str
    mixture: dict[str, int]

    def to_json(self) -> JSONObject:
        """`{"dialect", "score", "reason", "mixture"}`."""
        return {"dialect": self.dialect, "score": self.score, "reason": self.reason, "mixture": self.mixture}


def detect(rows: Sequence[RawRow]) -> Detection:
    """What the rows are; give it `ENOUGH_ROWS` or more where there are so many."""
    counts: Counter[str] = Counter()
    unreadable = 0
    for row in rows:
        if row.problem is not None:
            unreadable += 1
            continue
        try:
            found = recognise(record_of(row.value))
        except (NotARecord, RecursionError):
            found = None
        counts[found.name if found else UNKNOWN] += 1
    mixture = dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
    best = next((name for name in mixture if name != UNKNOWN), None)
    read = sum(counts.values())
    if best is None:
        return Detection(None, 0.0, f"None of {read} rows has the shape of a known dialect ({unreadable} could not be read).", mixture)
    reason = f"{counts[best]} of {read} rows have {DIALECTS[best].signature}."
    return Detection(best, round(counts[best] / read, 4), reason, mixture)


def is_conversation(value: list[Any]) -> bool:
    """Whether a list is the turns of one conversation rather than several rows: roles that are known, and no message's own id."""
    return are_turns(value) and all(
        any(isinstance(name := item.get(key), str) and meaning(name) for key in ROLE_KEYS) and "message_id" not in item for item in value
    )


def looks_like_row(value: Any, under: str) -> bool:
    """Whether the first item of the list `under` some key is a row, rather than a turn or a tool of the row around it."""
    if isinstance(value, list):
        return is_conversation(value)
    if not isinstance(value, dict) or is_conversation([value]):
        return False
    if under in TURN_LISTS:
        return Outline(value).turns_key is not None
    try:
        return recognise(record_of(value)) is not None
    except (NotARecord, RecursionError):
        return False
