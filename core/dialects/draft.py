"""A conversation in the making: turns as a dialect read them, before order, ids and characters are put right.

It is mutable on purpose and never leaves the package.
"""

from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from core.conversation import JSONObject, Role, Tool

Part: TypeAlias = Literal["reasoning", "call", "answer"]


@dataclass(slots=True, eq=False)
class Call:
    """One call. `id` None: it has none yet; `native`: its dialect never gives ids, so that giving one is no repair."""

    name: str
    arguments: JSONObject
    id: str | None = None
    native: bool = True


@dataclass(slots=True, eq=False)
class Turn:
    """One turn. `part` marks an assistant turn that is only a piece of one (its role said so); `field` is where it stood."""

    role: Role
    content: str = ""
    reasoning: str | None = None
    calls: list[Call] = field(default_factory=list)
    call_id: str | None = None
    name: str | None = None
    part: Part | None = None
    field: str = ""
    native: bool = True
    train: bool | None = None
    """What the data say about training on it, None for nothing."""

    @property
    def blank(self) -> bool:
        """Whether nothing was said in it."""
        return not self.calls and not self.reasoning and not self.content.strip()

    def take_flag(self, other: "Turn") -> None:
        """Be trained on no more than the turn that was joined to this one."""
        if other.train is not None and self.train is not False:
            self.train = other.train


@dataclass(slots=True)
class Draft:
    """Turns, the tools they may call, and what only the dialect knows about how it may end."""

    turns: list[Turn]
    tools: list[Tool] = field(default_factory=list)
    pending: tuple[str, ...] = ()
    observes: bool = False
    """A trajectory whose observations are user turns: its last one stays."""
    padded: bool = False
    """Whether a column store added nulls to the tools, and so probably to the arguments."""
    brackets: bool = False
    """Whether an assistant's whole turn may be `[Name(key=value)]`."""
    page: bool = False
    """Whether the values may be saved web pages."""


RawRecord: TypeAlias = dict[str, Any]
"""A raw row: named fields of any JSON value."""
