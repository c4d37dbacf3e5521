"""Training batches: some conversations of similar length, some anchors in each, and what the drafter should say there.

A batch depends on the seed, the step, and on where the rounds of its conversations ended when they were last drafted: so most anchors stand
where rounds begin in decoding, which is behind what is hard to draft, and not anywhere in the text. It knows neither models nor losses.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from core.drafter.dataset import TokenizedRows
from core.drafter.hidden_states import HiddenStates

WINDOW = 32
"""Batches sorted by length together: wide enough that rows of a batch differ by a few per cent, narrow enough to stay mixed."""

PART = 4
"""Conversations that are worked on together; fixed, so that the result does not depend on how many parts run side by side."""


@dataclass(frozen=True)
class Batch:
    """Blocks to draft. A conversation with fewer anchors than asked repeats them with no slot valid."""

    rows: tuple[int, ...]
    """[conversations], which rows of the dataset"""
    features: Tensor
    """[conversations, context, taps * hidden] bfloat16, as far as the last anchor needs it; zeros after a row's end"""
    anchors: Tensor
    """[conversations, anchors] int64, positions of the committed tokens"""
    committed: Tensor
    """[conversations, anchors] int64, the tokens there"""
    choices: Tensor
    """[conversations, anchors, slots - 1] int64, what drafted slots 1, 2, ... should say: the target's own choice, or the data's token"""
    valid: Tensor
    """[conversations, anchors, slots - 1] bool: supervised, and so is everything since the anchor, all of it the target's own choice (not
    asked where slots should say the data's tokens)"""
    finals: Tensor | None = None
    """[valid slots, hidden] bfloat16, the target's states before its final norm that the slots' tokens are said from, where asked for"""
    places: tuple[int, ...] = ()
    """[conversations], their numbers in the step, which all of its parts share"""

    def to(self, device: torch.device) -> "Batch":
        """The batch on a device."""
        if device == self.anchors.device:
            return self
        return replace(
            self,
            features=self.features.to(device),
            anchors=self.anchors.to(device),
            committed=self.committed.to(device),
            choices=self.choices.to(device),
            valid=self.valid.to(device),
            finals=None if self.finals is None else self.finals.to(device),
        )


class AnchorBatches:
    """Draws batches from some rows of a dataset."""

    def __init__(
        self,
        rows: TokenizedRows,
        states: HiddenStates,
        chosen: Sequence[int],
        *,
        conversations: int,
        anchors: int,
        block_size: int,
        seed: int,
        anywhere: float = 1.0,
        tokens: bool = False,
        finals: bool = False,
    ) -> None:
        """With `tokens` slots should say the data's tokens, with `finals` batches hold the states that the target speaks from.

        `anywhere`: the share of anchors (0 to 1) that are drawn anew each time; the others go on where `follow` says.
        """
        self._anywhere = anywhere
        self.following = torch.full((len(rows), anchors), -1, dtype=torch.int32)
        """[rows, anchors], places in each row behind what was accepted when it was drafted last; -1 where that is not known"""
        self._rows = rows
        self._tokens, self._finals = tokens, finals
        self._states = states
        self._conversations = conversations
        self._anchors = anchors
        self._slots = block_size - 1
        self._seed = seed
        self._run = rows.supervised_run
        # Where the text leaves what the target would say, its choices after that answer a text that no draft can know of.
        self._followed = np.zeros(rows.tokens, np.bool_)
        self._followed[:-1] = rows.ids[1:] == states.choices[:-1]
        # An anchor is a supervised token with a supervised one after it and at least one token of context before it.
        possible = self._run >= 2
        possible[rows.offsets[:-1][np.diff(rows.offsets) > 0]] = False
        self._places = np.flatnonzero(possible)
        self._bounds = np.searchsorted(self._places, rows.offsets)
        self.usable = np.array([row for row in chosen if self._bounds[row + 1] > self._bounds[row]], np.int64)
        """Those of the chosen rows that have an anchor."""
        self._lengths = np.diff(rows.offsets)
        self.per_epoch = -(-len(self.usable) // conversations)

    def step(self, number: int, rank: int = 0, ranks: int = 1) -> list[Batch]:
        """The batch of a step, counted from 0, in parts of `PART` conversations of about equal weight; of them those of one process."""
        rows = self._rows_of(number)
        parts = -(-len(rows) // PART)
        return [
            replace(
                self._draw(rows[part::parts], np.random.default_rng((self._seed, 1, number, part)), self._anywhere),
                places=tuple(range(part, len(rows), parts)),
            )
            for part in range(rank, parts, ranks)
        ]

    def follow(self, number: int, behind: Tensor) -> None:
        """Learn where the rounds of a step ended, before the next one: `behind` int [conversations, anchors], as `following`."""
        rows = self._rows_of(number)
        self.following[torch.from_numpy(rows)] = behind[: len(rows)].to(torch.int32)

    def _rows_of(self, number: int) -> NDArray[np.int64]:
        epoch, place = divmod(number, self.per_epoch)
        return self._epoch(epoch)[place]

    def in_order(self) -> Iterator[Batch]:
        """All rows once in parts, with the same anchors every time."""
        rows = self.usable[np.argsort(self._lengths[self.usable], kind="stable")]
        for place, start in enumerate(range(0, len(rows), PART)):
            yield self._draw(rows[start : start + PART], np.random.default_rng((self._seed, 2, place)), 1.0)

    def _epoch(self, epoch: int) -> list[NDArray[np.int64]]:
        """All rows once in random batches of similar length, in random order."""
        if getattr(self, "_drawn", (-1, []))[0] != epoch:
            rng = np.random.default_rng((self._seed, 0, epoch))
            order = rng.permutation(self.usable)
            width = self._conversations * WINDOW
            windows = [order[start : start + width] for start in range(0, len(order), width)]
            batches = [batch for window in windows for batch in self._split(window[np.argsort(self._lengths[window], kind="stable")])]
            self._drawn = (epoch, [batches[place] for place in rng.permutation(len(batches))])
        return self._drawn[1]

    def _split(self, rows: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """Consecutive batches; the last may be smaller."""
        return [rows[start : start + self._conversations] for start in range(0, len(rows), self._conversations)]

    def _draw(self, rows: NDArray[np.int64], rng: np.random.Generator, anywhere: float) -> Batch:
        """Anchors for the rows: one from each of `anchors` equal parts of a row's possible places, or where rounds go on."""
        first, count = self._bounds[rows], self._bounds[rows + 1] - self._bounds[rows]
        parts = (np.arange(self._anchors) + rng.random((len(rows), self._anchors))) / self._anchors
        picked = np.minimum((parts * count[:, None]).astype(np.int64), count[:, None] - 1)
        flat = self._places[first[:, None] + picked]
        if anywhere < 1:
            flat = np.sort(np.where(rng.random(flat.shape) < anywhere, flat, self._followed_up(rows, flat)), axis=1)
        repeated = np.zeros(flat.shape, np.bool_)
        repeated[:, 1:] = flat[:, 1:] == flat[:, :-1]
        slots = np.arange(1, self._slots + 1)
        valid = (slots < self._run[flat][..., None]) & ~repeated[..., None]
        # What the target would say for slot i comes from the token before it, at anchor + i - 1.
        said = np.minimum(flat[..., None] + slots - 1, self._rows.tokens - 1)
        if self._tokens:
            choices = self._rows.ids[np.minimum(said + 1, self._rows.tokens - 1)]
        else:
            choices = self._states.choices[said]
            valid[..., 1:] &= np.logical_and.accumulate(self._followed[said[..., :-1]], axis=-1)
        anchors = flat - self._rows.offsets[rows][:, None]
        features, finals = self._read(rows, anchors, valid)
        return Batch(
            rows=tuple(rows.tolist()),
            features=features,
            anchors=torch.from_numpy(anchors),
            committed=torch.from_numpy(self._rows.ids[flat].astype(np.int64)),
            choices=torch.from_numpy(choices.astype(np.int64)),
            valid=torch.from_numpy(valid),
            finals=finals,
        )

    def _followed_up(self, rows: NDArray[np.int64], drawn: NDArray[np.int64]) -> NDArray[np.int64]:
        """Flat places [rows, anchors] where the rounds of each row go on: those drawn where that is not known or already taken.

        A round that ended with the last possible place goes on at the row's first one.
        """
        behind = self.following[torch.from_numpy(rows)].numpy().astype(np.int64)
        number = np.searchsorted(self._places, self._rows.offsets[rows][:, None] + behind)
        first, end = self._bounds[rows][:, None], self._bounds[rows + 1][:, None]
        found = self._places[np.where(number < end, number, first)]
        found = np.where(behind < 0, -1 - np.arange(self._anchors), found)  # each its own, so that it takes no place
        order = np.argsort(found, axis=1, kind="stable")
        ordered = np.take_along_axis(found, order, 1)
        taken = np.zeros(found.shape, np.bool_)
        np.put_along_axis(taken, order[:, 1:], ordered[:, 1:] == ordered[:, :-1], 1)
        return np.where((behind < 0) | taken, drawn, found)

    def _read(self, rows: NDArray[np.int64], anchors: NDArray[np.int64], valid: NDArray[np.bool_]) -> tuple[Tensor, Tensor | None]:
        """`Batch.features` and `Batch.finals` of anchors at their places in their rows."""
        reach = anchors.max(1)
        if not self._finals:
            return self._states.features(rows.tolist(), reach.tolist()), None
        hidden, taps = self._states.hidden_size, len(self._states.taps)
        states = self._states.beginnings(rows.tolist(), np.minimum(reach + self._slots, self._lengths[rows]).tolist())
        row, block, slot = np.nonzero(valid)
        finals = states[torch.from_numpy(row), torch.from_numpy(anchors[row, block] + slot), -hidden:]
        return states[:, : int(reach.max()), : taps * hidden], finals
