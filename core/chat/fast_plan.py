"""Where the trained turns of a row lie in its tokens, in terms of added tokens (markers) and distances from them.

Learned from rows that the slow path made: every edge is a marker and a distance from it, with the tokens between, so that on another
row each edge proves itself or the row is left to the slow path. It knows tokens, not text.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from core.chat.boundary import BoundaryUnstable, Renders, measure_turn
from core.chat.choices import Dropped, Supervision
from core.chat.drafts import Draft
from core.chat.encoding import UnencodableText
from core.chat.parts import Part
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

    def moved(self, markers: int) -> "Edge":
        """The same edge in a row with so many markers before."""
        return Edge(self.marker + markers, self.shift, self.ids)


@dataclass(frozen=True)
class PartPlan:
    """The edges of one trained turn. `proofs`: further edges that must be found. `other_than`: what must not stand at the boundary."""

    message: int
    first: Edge
    last: Edge
    boundary: Edge | None
    proofs: tuple[Edge, ...]
    other_than: bytes | None

    def moved(self, message: int, markers: int) -> "PartPlan":
        """The same turn as message `message` (less what it was) of a row with so many markers before."""
        boundary = None if self.boundary is None else self.boundary.moved(markers)
        proofs = tuple(proof.moved(markers) for proof in self.proofs)
        return PartPlan(self.message + message, self.first.moved(markers), self.last.moved(markers), boundary, proofs, self.other_than)

    @property
    def edges(self) -> tuple[Edge, ...]:
        """All of them."""
        return (self.first, self.last, *([] if self.boundary is None else [self.boundary]), *self.proofs)


@dataclass(frozen=True)
class RowPlan:
    """One row: the render of the first `count` messages under `enable_thinking`, whose added tokens are `markers` (int32 bytes)."""

    turn: int | None
    count: int
    enable_thinking: bool | None
    rewritten: bool
    markers: bytes
    parts: tuple[PartPlan, ...]

    @cached_property
    def checks(self) -> NDArray[np.int64]:
        """[3, tokens]: of every token that must stand in the row as it was learned the marker it is seen from, its distance, its id."""
        seen = [(number, 0, token) for number, token in enumerate(_tokens(self.markers))]
        for edge in (edge for part in self.parts for edge in part.edges):
            seen += [(edge.marker, min(edge.shift, 0) + place, token) for place, token in enumerate(_tokens(edge.ids))]
        return np.array(seen, np.int64).reshape(-1, 3).T

    @cached_property
    def trained(self) -> NDArray[np.int64]:
        """[8, parts]: of every trained turn its message, marker and shift of first, last and boundary, and `other_than` or -1."""
        turns = [
            (
                part.message,
                *(value for edge in (part.first, part.last, part.boundary or part.first) for value in (edge.marker, edge.shift)),
                -1 if part.other_than is None else _tokens(part.other_than)[0],
            )
            for part in self.parts
        ]
        return np.array(turns, np.int64).reshape(-1, 8).T


@dataclass(frozen=True)
class Plan:
    """All rows of a conversation, and what is dropped of it. `accepted`: whether the whole must be rendered besides, to be accepted."""

    rows: tuple[RowPlan, ...]
    dropped: tuple[Dropped, ...]
    accepted: tuple[int, bool | None] | None = None

    @cached_property
    def renders(self) -> tuple[tuple[int, bool | None], ...]:
        """How many messages under which thinking setting are rendered, in this order: every row's, then what must be accepted."""
        return *((row.count, row.enable_thinking) for row in self.rows), *([] if self.accepted is None else [self.accepted])


def _tokens(ids: bytes) -> list[int]:
    found: list[int] = np.frombuffer(ids, np.int32).tolist()
    return found


def learn_part(
    part: Part, draft: Draft, supervision: Supervision, ids: Ids, markers: Places, settings: tuple[bool | None, bool | None]
) -> PartPlan | None:
    """The edges of a turn, its markers counted from the row's first; None where they depend on more than the turn's kind.

    `ids` int32 and `markers` int64: the row's tokens and where its markers stand; `settings`: the thinking setting that turns of its kind
    take, and the one that comes first where its prompt fits.
    """
    renders, (setting, preferred) = draft.text.renders, settings
    try:
        turn = measure_turn(renders, part.message, supervision.thinking)
        prompt_text = renders.text(part.message, True, turn.enable_thinking)
        history = renders.ids(part.message, False, turn.enable_thinking)
    except (BoundaryUnstable, TemplateRefused, UnencodableText):
        return None
    if turn.enable_thinking is not setting:
        return None
    if turn.boundary < len(turn.prompt_ids) and turn.text.startswith(prompt_text):
        return None  # the tokenizer merges across the boundary: this depends on the words
    if turn.prompt_ids[: len(history)] != history:
        return None
    prompt = turn.prompt_ids[len(history) :]
    shared = next(size for size in range(len(prompt), -1, -1) if draft.text.ids[part.boundary - size : part.boundary] == prompt[:size])
    other_than = np.int32(prompt[shared]).tobytes() if shared < len(prompt) else None
    if setting is not preferred:
        # This prompt counts only as long as the preferred one does not fit: what that one goes on with must not stand there.
        rejected = _ids_of_prompt(renders, part.message, preferred)
        if rejected[: len(turn.prompt_ids)] == turn.prompt_ids and other_than is None and len(rejected) > len(turn.prompt_ids):
            other_than = np.int32(rejected[len(turn.prompt_ids)]).tobytes()
    first = _before(part.first, ids, markers)
    last = _nearest(part.last, ids, markers)
    boundary = None if part.boundary == part.first else _before(part.boundary, ids, markers)
    if first is None or last is None or (boundary is None and part.boundary != part.first):
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


def _ids_of_prompt(renders: Renders, message: int, setting: bool | None) -> list[int]:
    """The prompt's tokens, none where the template refuses that setting."""
    try:
        return renders.ids(message, True, setting)
    except TemplateRefused:
        return []


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
