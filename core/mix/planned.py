"""What a plan says: integer counts per source, with what was asked and what comes out side by side. It does not know how they are found."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from core.mix.recipe import Unit


@dataclass(frozen=True)
class Shares:
    """A source's part of the whole, 0 to 1: what the weights ask for, and what the rows give."""

    requested: float
    realised: float


@dataclass(frozen=True)
class PlannedSource:
    """One source's part of the plan. Rows are conversations (held-out ones too); token figures are None where nobody measured any."""

    name: str
    domain: str
    available: int
    """Usable rows: kept, and past the recipe's filters."""
    rows: int
    epochs: float
    share_requested: float
    """In the unit of the plan's shares."""
    share_realised: float
    tokens: int | None
    """Tokens of the training rows; held-out conversations have none."""
    trainable_tokens: int | None
    shortfall: int
    """Rows the weights ask for beyond what the source and its caps give."""
    limit: str | None
    """What binds, in words, where there is a shortfall."""
    weight: float = 0.0
    unit: Unit = "rows"
    cap: int = 0
    """The most rows the source may give: `max_epochs` times its usable rows, at most `max_rows`."""
    shares: Mapping[Unit, Shares | None] = field(default_factory=dict)
    """Requested and realised share in each unit; None while a source of the mix has no figures."""
    exact: bool = False
    """Whether the token figures were counted row by row."""
    tokens_error: float | None = None
    """Relative error of `tokens` at 95 %: 0 where they are exact."""
    trainable_error: float | None = None
    shortfall_tokens: int | None = None
    """Tokens in the rows that are short."""
    shortfall_trainable_tokens: int | None = None
    removed: Mapping[str, int] = field(default_factory=dict)
    """Rule -> kept rows that are not usable because of it."""


@dataclass(frozen=True)
class Plan:
    """Integer counts per source, sorted by name; `total` is their sum, `budget` what was asked (None: as much as the weights allow)."""

    sources: tuple[PlannedSource, ...]
    total: int
    budget: int | None
    budget_unit: Unit = "rows"
    share_unit: Unit = "rows"
    """What `share_requested` and `share_realised` are shares of."""

    def source(self, name: str) -> PlannedSource:
        """The part of one source; raises KeyError."""
        for source in self.sources:
            if source.name == name:
                return source
        raise KeyError(name)

    @property
    def tokens(self) -> int | None:
        """Tokens of all training rows; None until every source has figures."""
        return _sum([source.tokens for source in self.sources])

    @property
    def trainable_tokens(self) -> int | None:
        """Tokens that are trained on; None until every source has figures."""
        return _sum([source.trainable_tokens for source in self.sources])

    @property
    def tokens_error(self) -> float | None:
        """Relative error of `tokens` at 95 %; the sources' errors are independent of each other."""
        return _error([(source.tokens, source.tokens_error) for source in self.sources])

    @property
    def trainable_error(self) -> float | None:
        """Relative error of `trainable_tokens` at 95 %."""
        return _error([(source.trainable_tokens, source.trainable_error) for source in self.sources])

    def domains(self) -> dict[str, dict[str, float | int | None]]:
        """Domain -> `{"rows", "tokens", "trainable_tokens", "share"}` of its sources together, in alphabetical order."""
        found: dict[str, dict[str, float | int | None]] = {}
        for domain in sorted({source.domain for source in self.sources}):
            parts = [source for source in self.sources if source.domain == domain]
            found[domain] = {
                "rows": sum(part.rows for part in parts),
                "tokens": _sum([part.tokens for part in parts]),
                "trainable_tokens": _sum([part.trainable_tokens for part in parts]),
                "share": sum(part.share_realised for part in parts),
            }
        return found

    def to_json(self) -> dict[str, Any]:
        """`{"sources": [...], "total", "budget", "tokens", "trainable_tokens", …}`; token figures are null until every source has one."""
        return {
            "sources": [asdict(source) for source in self.sources],
            "total": self.total,
            "budget": self.budget,
            "budget_unit": self.budget_unit,
            "share_unit": self.share_unit,
            "tokens": self.tokens,
            "trainable_tokens": self.trainable_tokens,
            "tokens_error": self.tokens_error,
            "trainable_error": self.trainable_error,
            "domains": self.domains(),
        }


def _sum(figures: list[int | None]) -> int | None:
    known = [figure for figure in figures if figure is not None]
    return sum(known) if len(known) == len(figures) else None


def _error(figures: list[tuple[int | None, float | None]]) -> float | None:
    if any(amount is None or error is None for amount, error in figures):
        return None
    total = sum(amount or 0 for amount, _ in figures)
    return math.sqrt(sum(((amount or 0) * (error or 0)) ** 2 for amount, error in figures)) / total if total else 0.0
