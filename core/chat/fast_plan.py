"""What the fast path knows of one kind of conversation: which texts to render, and where in their tokens the trained turns lie.

Learned from rows that the slow path made: every edge is an added token (a marker) and a distance from it, with the tokens between,
so that on another row of that kind each edge proves itself or the row is left to the slow path. It knows tokens, not text.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.chat.boundary import BoundaryUnstable, measure_turn
from core.chat.choices import Dropped, Supervision
from core.chat.drafts import Draft, Part
from core.chat.encoding import UnencodableText
from core.chat.template import TemplateRefused

Ids = NDArray[np.int32]
Places = NDArray[np.int64]

_LONGEST_EDGE = 48
"""Tokens between a marker and an edge that the template can be believed to have written."""


@dataclass(frozen=True)
class Edge:
    """A place in a row: `shift` tokens past marker number `marker`; `ids` (int32 bytes) stand between the two."""

    marker: int
    shift: int
    ids: bytes

    def find(self, ids: Ids, markers: Sequence[int]) -> int | None:
        """The place in `ids` (one row) whose markers stand at `markers`; None where other tokens stand beside the marker."""
        place = markers[self.marker]
        edge = place + self.shift
        between = ids[place:edge] if self.shift >= 0 else ids[max(edge, 0) : place]
        return edge if between.tobytes() == self.ids else None


@dataclass(frozen=True)
class PartPlan:
    """The edges of one trained turn. `proofs`: further edges that must be found. `other_than`: what must not stand at the boundary."""

    message: int
    first: Edge
    last: Edge
    boundary: Edge
    proofs: tuple[Edge, ...]
    other_than: int | None


@dataclass(frozen=True)
class RowPlan:
    """One row: the render of the first `count` messages under `enable_thinking`, whose added tokens are `markers` (int32 bytes)."""

    turn: int | None
    count: int
    enable_thinking: bool | None
    rewritten: bool
    markers: bytes
    parts: tuple[PartPlan, ...]

    def parts_in(self, ids: Ids, markers: Places) -> list[tuple[int, int, int]] | None:
        """(message, first, last) of each trained turn in the row's tokens; None where something is not as it was learned."""
        if ids[markers].tobytes() != self.markers:
            return None
        places = markers.tolist()
        found: list[tuple[int, int, int]] = []
        for part in self.parts:
            first, last = part.first.find(ids, places), part.last.find(ids, places)
            boundary = first if part.boundary is part.first else part.boundary.find(ids, places)
            if first is None or last is None or boundary is None or last > len(ids):
                return None
            if part.other_than is not None and boundary < len(ids) and ids[boundary] == part.other_than:
                return None
            if any(proof.find(ids, places) is None for proof in part.proofs):
                return None
            found.append((part.message, min(first, last), last))
        return found


@dataclass(frozen=True)
class Plan:
    """All rows of a kind of conversation, and what is dropped of each."""

    rows: tuple[RowPlan, ...]
    dropped: tuple[Dropped, ...]


def learn_plan(drafts: Sequence[Draft], dropped: Sequence[Dropped], supervision: Supervision, is_marker: NDArray[np.bool_]) -> Plan | None:
    """The plan of the kind that these drafts show; None where they depend on more than the kind. `is_marker`: bool `[vocabulary]`."""
    if not drafts or any(drop.reason not in ("before_first_user", "flagged_off") for drop in dropped):
        return None
    if any(draft.removed for draft in drafts):
        return None
    rows = [_row(draft, supervision, is_marker) for draft in drafts]
    whole = [row for row in rows if row is not None]
    return Plan(tuple(whole), tuple(dropped)) if len(whole) == len(rows) else None


def _row(draft: Draft, supervision: Supervision, is_marker: NDArray[np.bool_]) -> RowPlan | None:
    ids = np.array(draft.text.ids, np.int32)
    markers = np.flatnonzero(is_marker[ids])
    parts: list[PartPlan] = []
    for part in draft.parts:
        planned = _part(part, draft, supervision, ids, markers)
        if planned is None:
            return None
        parts.append(planned)
    return RowPlan(draft.turn, draft.text.count, draft.text.enable_thinking, draft.rewritten, ids[markers].tobytes(), tuple(parts))


def _part(part: Part, draft: Draft, supervision: Supervision, ids: Ids, markers: Places) -> PartPlan | None:
    renders = draft.text.renders
    other_than: int | None = None
    try:
        turn = measure_turn(renders, part.message, supervision.thinking)
        prompt_text = renders.text(part.message, True, turn.enable_thinking)
        history = renders.ids(part.message, False, turn.enable_thinking)
    except (BoundaryUnstable, TemplateRefused, UnencodableText):
        return None
    template = renders.target.template
    if template.takes_thinking and "enable_thinking" not in template.args and supervision.thinking == "auto":
        reasons = bool(str(renders.messages[part.message].get("reasoning_content") or "").strip())
        if turn.enable_thinking is not reasons:
            return None
    if turn.boundary < len(turn.prompt_ids) and turn.text.startswith(prompt_text):
        return None  # the tokenizer merges across the boundary: this depends on the words
    if turn.prompt_ids[: len(history)] != history:
        return None
    prompt = turn.prompt_ids[len(history) :]
    shared = next(size for size in range(len(prompt), -1, -1) if draft.text.ids[part.boundary - size : part.boundary] == prompt[:size])
    if shared < len(prompt):
        other_than = prompt[shared]
    first = _before(part.first, ids, markers)
    last = _nearest(part.last, ids, markers)
    boundary = first if part.boundary == part.first else _before(part.boundary, ids, markers)
    if first is None or last is None or boundary is None:
        return None
    proofs: list[Edge] = []
    following = markers[np.searchsorted(markers, part.end) :]
    if draft.turn is None and part.end < len(ids):
        # The turn's own render must be a prefix of the row's: the next marker stands right behind it.
        if not len(following) or following[0] != part.end:
            return None
        closing = int(np.searchsorted(markers, part.end)) - 1
        proofs.append(Edge(closing + 1, int(markers[closing]) - part.end, ids[markers[closing] : part.end].tobytes()))
        if part.end - markers[closing] > _LONGEST_EDGE:
            return None
    return PartPlan(part.message, first, last, boundary, tuple(proofs), other_than)


def _before(place: int, ids: Ids, markers: Places) -> Edge | None:
    """The edge as seen from the marker before it."""
    number = int(np.searchsorted(markers, place)) - 1
    if number < 0 or place - markers[number] > _LONGEST_EDGE:
        return None
    return Edge(number, place - int(markers[number]), ids[markers[number] : place].tobytes())


def _nearest(place: int, ids: Ids, markers: Places) -> Edge | None:
    """The edge as seen from the marker that is nearest to it."""
    before = _before(place, ids, markers)
    number = int(np.searchsorted(markers, place))
    if number == len(markers):
        return before
    shift = place - int(markers[number])
    after = Edge(number, shift, ids[place : markers[number]].tobytes())
    if before is None or -shift < before.shift:
        return after if -shift <= _LONGEST_EDGE else before
    return before
