"""Figures about the conversations of a source, summed while they are imported."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any


@dataclass
class Statistics:
    """Sums over the kept and prompt-only rows; shares and means are 0 for a source without any."""

    rows: int = 0
    turns: int = 0
    characters: int = 0
    with_tools: int = 0
    with_reasoning: int = 0
    tool_calls: int = 0

    def add(self, record: Mapping[str, Any]) -> None:
        """Count one stored row by its index columns."""
        self.rows += 1
        self.turns += record["turns"]
        self.characters += record["chars"]
        self.with_tools += record["has_tools"]
        self.with_reasoning += record["has_reasoning"]
        self.tool_calls += record["tool_calls"]

    @property
    def mean_turns(self) -> float:
        """Messages per row, system messages not counted."""
        return self.turns / self.rows if self.rows else 0.0

    @property
    def tools_share(self) -> float:
        """Share of rows that offer tools, 0 to 1."""
        return self.with_tools / self.rows if self.rows else 0.0

    @property
    def reasoning_share(self) -> float:
        """Share of rows in which an assistant turn has reasoning, 0 to 1."""
        return self.with_reasoning / self.rows if self.rows else 0.0

    def to_json(self) -> dict[str, int]:
        """The sums as a JSON object."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, int]) -> "Statistics":
        """The inverse of `to_json`."""
        return cls(**value)
