"""What becomes of a source's rows before anything is tokenized: how long they are, how much is trained on, what is lost and why.

It looks at all rows or at an evenly spread sample, through the fast path; it writes nothing.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from core.chat.choices import REASONS, Dropped
from core.chat.fast import FastPath
from core.chat.probe import probe
from core.chat.remedies import remedy_for
from core.chat.settled import settled
from core.chat.target import Target
from core.conversation import Conversation, JSONObject

if TYPE_CHECKING:
    from core.sources import Source

EXAMPLES = 5
"""Row numbers per reason in `Forecast.to_json`."""


@dataclass(frozen=True)
class Loss:
    """One reason for which rows are not trained on, or not in whole. `rows`: their numbers in the source, each once, in order.

    `whole`: how many of them give no training row at all; `turns`: how many rows and single turns were dropped. `detail`: what was said
    of the first, a template's own words where it refuses. `remedy`: what would save them, or most of them.
    """

    reason: str
    rows: tuple[int, ...]
    whole: int
    turns: int
    detail: str
    remedy: str

    @property
    def meaning(self) -> str:
        """The reason in plain words; for a refusal the template's own."""
        code = self.reason.partition(":")[0]
        return f"the template refuses it: {self.detail}" if code == "refused" else REASONS.get(code, code)


@dataclass(frozen=True)
class Forecast:
    """What becomes of the rows of one source. `kept`: rows that a mix can take; `rows`: those that were looked at.

    `lengths` in tokens and `shares` (trainable of all tokens, 0 to 1) per training row; `cut`: numbers of the rows with a training row
    that the limit cuts; `losses`: the most frequent first.
    """

    source: str
    kept: int
    rows: int
    lengths: tuple[int, ...]
    shares: tuple[float, ...]
    cut: tuple[int, ...]
    losses: tuple[Loss, ...]

    @property
    def exact(self) -> bool:
        """Whether every row was looked at."""
        return self.rows == self.kept

    @property
    def lost(self) -> int:
        """How many of the rows looked at give no training row at all."""
        return sum(loss.whole for loss in self.losses)

    def to_json(self) -> JSONObject:
        """`{"name", "rows", "looked_at", "exact", "lost", "cut", "losses": [{..., "rows": count, "examples": [row]}]}`."""
        losses = []
        for loss in self.losses:
            figures: JSONObject = {"rows": len(loss.rows), "meaning": loss.meaning, "examples": list(loss.rows[:EXAMPLES])}
            losses.append(asdict(loss) | figures)
        return {
            "name": self.source,
            "rows": self.kept,
            "looked_at": self.rows,
            "exact": self.exact,
            "lost": self.lost,
            "cut": len(self.cut),
            "training_rows": len(self.lengths),
            "losses": losses,
        }


def forecast(source: "Source", path: FastPath, sample: int | None = None) -> Forecast:
    """What the target and choices of `path` make of the source's kept rows: of all, or of `sample` ones spread evenly over it."""
    kept = _kept(source)
    chosen = kept if sample is None or sample >= len(kept) else [kept[place * len(kept) // sample] for place in range(sample)]
    found = _Findings(path.target)
    pairs = ((row, conversation) for row, conversation in zip(chosen, source.conversations(chosen), strict=True))
    lengths: list[int] = []
    shares: list[float] = []
    cut: list[int] = []
    for row, made in settled(path, pairs):
        if made is None:
            continue
        lengths += [len(training.input_ids) for training in made.rows]
        shares += [float(training.loss_mask.mean()) for training in made.rows]
        if any(training.truncated for training in made.rows):
            cut.append(row)
        if made.dropped:
            found.add(row, made.dropped, source.conversation(row), whole=not made.rows)
    return Forecast(source.name, len(kept), len(chosen), tuple(lengths), tuple(shares), tuple(cut), found.losses())


def _kept(source: "Source") -> list[int]:
    """The numbers of the rows that a mix can take: those with an answer."""
    index = source.index()
    kept = np.asarray(index.column("status").to_pylist()) == "kept"
    return [int(row) for row in np.asarray(index.column("row").to_pylist())[kept]]


class _Findings:
    """Collects what is lost, by reason."""

    def __init__(self, target: Target) -> None:
        self._report = cache(lambda: probe(target))
        self._rows: dict[str, dict[int, None]] = {}
        self._whole: dict[str, int] = {}
        self._turns: dict[str, int] = {}
        self._details: dict[str, str] = {}
        self._remedies: dict[str, dict[str, int]] = {}

    def add(self, row: int, dropped: Sequence[Dropped], conversation: Conversation, *, whole: bool) -> None:
        for drop in dropped:
            reason = drop.reason
            self._rows.setdefault(reason, {})[row] = None
            self._turns[reason] = self._turns.get(reason, 0) + 1
            self._details.setdefault(reason, drop.detail)
            remedies = self._remedies.setdefault(reason, {})
            remedy = remedy_for(drop, conversation, self._report)
            remedies[remedy] = remedies.get(remedy, 0) + 1
        if whole:  # counted once, under what was said last: earlier drops are of single turns
            self._whole[dropped[-1].reason] = self._whole.get(dropped[-1].reason, 0) + 1

    def losses(self) -> tuple[Loss, ...]:
        made = [
            Loss(
                reason=reason,
                rows=tuple(rows),
                whole=self._whole.get(reason, 0),
                turns=self._turns[reason],
                detail=self._details[reason],
                remedy=max(self._remedies[reason], key=lambda remedy: self._remedies[reason][remedy]),
            )
            for reason, rows in self._rows.items()
        ]
        return tuple(sorted(made, key=lambda loss: (-len(loss.rows), loss.reason)))
