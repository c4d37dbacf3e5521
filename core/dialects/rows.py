"""What goes into a conversion and what comes out: raw rows and their outcomes, one for each.

It knows neither readers nor dialects.
"""

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from core.conversation import Conversation, JSONObject

Status: TypeAlias = Literal["kept", "prompt_only", "quarantined", "used", "not_chosen"]
"""`kept`: a conversation to learn from. `prompt_only`: one that still wants an answer. `quarantined`: unusable, with a reason.
Where several raw rows make one conversation: `used` ones stand in another row's, `not_chosen` ones in none, with the reason."""


@dataclass(frozen=True, slots=True)
class RawRow:
    """One row as a reader gave it. `position` counts from 0 in the source; `problem` is the reader's reason where it could not read it."""

    position: int
    value: Any
    problem: str | None = None
    detail: str | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one raw row. `repairs` are codes in the order of need; `field` and `detail` say where and what was found."""

    row: int
    status: Status
    conversation: Conversation | None
    dialect: str | None
    repairs: tuple[str, ...]
    reason: str | None
    field: str | None
    detail: str | None
    raw: Any

    def to_json(self) -> JSONObject:
        """The outcome without the raw row."""
        return {
            "row": self.row,
            "status": self.status,
            "conversation": self.conversation.to_json() if self.conversation else None,
            "dialect": self.dialect,
            "repairs": list(self.repairs),
            "reason": self.reason,
            "field": self.field,
            "detail": self.detail,
        }
