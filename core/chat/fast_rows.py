"""The rows of a batch read from their tokens at once: where their trained turns lie, and which row proves that it is as its plan says.

It knows plans and tokens. It does not know conversations, or how rows are rendered and encoded.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.chat.choices import Dropped, Supervision
from core.chat.encoding import EncodedBatch
from core.chat.fast_plan import RowPlan
from core.chat.markers import Markers
from core.chat.supervision import Supervised, TrainingRow, unsupervised


@dataclass(frozen=True)
class BatchRows:
    """Rows in two flat arrays, `ids` int32 and `mask` bool, both `[tokens]`; the lists have a value for each row."""

    ids: NDArray[np.int32]
    mask: NDArray[np.bool_]
    edges: list[int]
    """where each row begins, and the end of the last one"""
    proven: list[bool]
    """whether every token that the plan says stands in it"""
    first: list[int]
    """the first trained token, counted from the row's beginning; -1 where there is none"""
    cut: dict[int, int]
    """number of a row that is too long: message index of the trained turn in which the limit lies"""

    @classmethod
    def read(cls, batch: EncodedBatch, plans: Sequence[RowPlan], markers: Markers, limit: int) -> "BatchRows":
        """The texts of `batch` as rows of these plans, `limit` tokens of each at most."""
        ids, edges = batch
        tokens, rows = len(ids), len(plans)
        found = markers.places(ids)
        before = np.searchsorted(found, edges)
        marked, known = np.append(found, tokens), np.append(ids, -1)  # the last ones stand for all that are missing
        wrong = np.diff(before) != [len(plan.markers) // ids.itemsize for plan in plans]

        def places(row: NDArray[np.int64], marker: NDArray[np.int64], shift: NDArray[np.int64]) -> NDArray[np.int64]:
            there: NDArray[np.int64] = marked[np.minimum(before[row] + marker, len(found))]
            return there + shift

        row, (marker, shift, token) = _joined([plan.checks for plan in plans])
        at = places(row, marker, shift)
        wrong[row[known[np.where((at >= 0) & (at < tokens), at, tokens)] != token]] = True

        row, (message, *sides, other_than) = _joined([plan.trained for plan in plans])
        start, last, boundary = (places(row, marker, shift) for marker, shift in zip(sides[::2], sides[1::2], strict=True))
        end = edges[row + 1]
        unlike = (boundary < end) & (known[np.clip(boundary, 0, tokens)] == other_than)
        wrong[row[(last > end) | unlike]] = True

        sure = ~wrong[row]
        row, message, start, last = row[sure], message[sure], np.minimum(start, last)[sure], last[sure]
        first = np.full(rows, tokens, np.int64)
        np.minimum.at(first, row[start < last], start[start < last])
        limits = edges[row] + limit
        cut = (start < limits) & (limits < last)
        return cls(
            ids=ids,
            mask=_covered(start, last, tokens),
            edges=edges.tolist(),
            proven=(~wrong).tolist(),
            first=np.where(first < tokens, first - edges[:-1], -1).tolist(),
            cut=dict(zip(row[cut][::-1].tolist(), message[cut][::-1].tolist(), strict=True)),
        )

    def supervised(
        self, row_id: str, number: int, plans: Sequence[RowPlan], dropped: list[Dropped], choices: Supervision
    ) -> Supervised | None:
        """What becomes of a conversation whose rows are those from `number` on; None where the slow path has to say.

        Rows that are not kept are added to `dropped`.
        """
        limit = choices.seq_length
        rows: list[TrainingRow] = []
        for place, plan in enumerate(plans, number):
            start, end, first = self.edges[place], self.edges[place + 1], self.first[place]
            length = end - start
            long = length > limit
            if not self.proven[place] or (long and choices.overlong == "keep_last_turns"):
                return None
            if long and choices.overlong == "drop":
                dropped.append(Dropped(plan.turn, "too_long", f"{length:,} tokens, {limit:,} are the limit."))
                continue
            if not 0 <= first < limit:
                dropped.append(unsupervised(plan.turn, None if first < 0 else first, limit))
                continue
            if long:
                end = start + limit
            rows.append(
                TrainingRow(row_id, plan.turn, self.ids[start:end], self.mask[start:end], long, plan.rewritten, self.cut.get(place))
            )
        return Supervised(rows, dropped)


def _joined(tables: Sequence[NDArray[np.int64]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Tables [columns, rows of one plan] beside each other, and the number of the table that each value comes from."""
    number = np.repeat(np.arange(len(tables)), [table.shape[1] for table in tables])
    return number, np.concatenate(tables, axis=1)


def _covered(starts: NDArray[np.int64], ends: NDArray[np.int64], length: int) -> NDArray[np.bool_]:
    """Bool `[length]`: whether a place lies in one of the spans `[start, end)`."""
    change = np.zeros(length + 1, np.int32)
    np.add.at(change, starts, 1)
    np.add.at(change, ends, -1)
    covered: NDArray[np.bool_] = change[:length].cumsum(dtype=np.int32) > 0
    return covered
