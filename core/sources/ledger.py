"""The account of an import: where every raw row went, in numbers that must add up."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from core.dialects import Outcome
from core.errors import MixdownError


class LedgerBroken(MixdownError):
    """The sums do not hold: a row was lost or counted twice, which is an error of Mixdown's, never of the data."""


@dataclass
class Ledger:
    """Counts of rows. `read = kept + prompt_only + quarantined` and `raw_rows = read + used + not_chosen`, always.

    `used` and `not_chosen` are only there for sources with several raw rows per conversation (OpenAssistant's messages).
    `repaired` counts the rows (kept or prompt-only) that each repair touched; `reasons` counts the quarantined rows.
    """

    raw_rows: int = 0
    read: int = 0
    kept: int = 0
    prompt_only: int = 0
    quarantined: int = 0
    used: int = 0
    not_chosen: int = 0
    repaired: dict[str, int] = field(default_factory=dict)
    reasons: dict[str, int] = field(default_factory=dict)
    not_chosen_reasons: dict[str, int] = field(default_factory=dict)

    def add(self, outcome: Outcome) -> None:
        """Count what became of one raw row (`raw_rows` is counted by whoever reads them, independently)."""
        match outcome.status:
            case "kept":
                self.kept += 1
            case "prompt_only":
                self.prompt_only += 1
            case "quarantined":
                self.quarantined += 1
                _count(self.reasons, outcome.reason or "unknown")
            case "used":
                self.used += 1
            case "not_chosen":
                self.not_chosen += 1
                _count(self.not_chosen_reasons, outcome.reason or "unknown")
        if outcome.status in ("kept", "prompt_only"):
            for code in dict.fromkeys(outcome.repairs):
                _count(self.repaired, code)
        if outcome.status not in ("used", "not_chosen"):
            self.read += 1

    def check(self) -> None:
        """Raise `LedgerBroken` if any row is unaccounted for."""
        for name, count, parts, total in self._sums():
            if count != total:
                raise LedgerBroken(f"The ledger does not add up: {name} is {count:,}, {parts} is {total:,}; please report this.")

    def adds_up(self) -> bool:
        """Whether every row that was read is accounted for (not so while some are gathered)."""
        return all(count == total for _, count, _, total in self._sums())

    def _sums(self) -> tuple[tuple[str, int, str, int], ...]:
        return (
            ("read", self.read, "kept + prompt-only + quarantined", self.kept + self.prompt_only + self.quarantined),
            ("raw rows", self.raw_rows, "read + used + not chosen", self.read + self.used + self.not_chosen),
            ("quarantined", self.quarantined, "the reasons", sum(self.reasons.values())),
            ("not chosen", self.not_chosen, "its reasons", sum(self.not_chosen_reasons.values())),
        )

    def main_reasons(self, limit: int | None = 3) -> list[tuple[str, int]]:
        """The most frequent reasons for which rows were quarantined (not chosen, where none was), with their counts."""
        counts = self.reasons or self.not_chosen_reasons
        return sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:limit]

    def to_json(self) -> dict[str, Any]:
        """The counts as a JSON object, codes in alphabetical order."""
        value = asdict(self)
        for name in ("repaired", "reasons", "not_chosen_reasons"):
            value[name] = dict(sorted(value[name].items()))
        return value

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "Ledger":
        """The inverse of `to_json`."""
        return cls(**value)


def _count(counts: dict[str, int], code: str) -> None:
    counts[code] = counts.get(code, 0) + 1
