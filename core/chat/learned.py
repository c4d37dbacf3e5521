"""What the fast path has learned of one target: what each standing of a message prints, and from that a plan for any conversation.

Everything in it was seen at least once in a row of the slow path; it is trusted when it was seen twice. It knows markers and edges (see
`core.chat.fast_plan`), not how rows are rendered or encoded.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from core.chat.boundary import Renders, choose_thinking
from core.chat.choices import Dropped, Supervision
from core.chat.drafts import Draft
from core.chat.encoding import UnencodableText
from core.chat.fast_plan import PartPlan, Plan, RowPlan, learn_part
from core.chat.glue import Glue
from core.chat.markers import Markers
from core.chat.parts import Text
from core.chat.standing import SeenSettings, Shape, Standing
from core.chat.template import TemplateRefused
from core.chat.trace import Span

LESSONS = 8
"""Rows that may contradict what one row showed before the thing is left to the slow path for good."""


@dataclass(frozen=True)
class Piece:
    """What a message prints: its markers (int32 bytes) and, for a trained turn, its edges counted from its first marker."""

    markers: bytes
    part: PartPlan | None


@dataclass
class Lesson:
    """A piece, or whether a message prints the same in two standings. `trusted`: seen twice. `spoilt`: it depends on more."""

    value: Piece | bool
    trusted: bool = False
    failures: int = 0

    @property
    def spoilt(self) -> bool:
        """Whether it contradicted itself too often."""
        return self.failures >= LESSONS


@dataclass
class Composed:
    """A plan put together from lessons. `seen`: whether it was used. `glue`: how its plain chats are put together, once that was tried."""

    plan: Plan
    lessons: list[Lesson]
    trusted: bool = False
    seen: bool = False
    glue: Glue | None = None
    glue_tried: bool = False

    def check_trust(self) -> bool:
        """Whether every lesson is trusted."""
        self.trusted = self.trusted or all(lesson.trusted for lesson in self.lessons)
        return self.trusted


@dataclass
class Learned:
    """For one target and one set of choices.

    `precise`: the template was seen to print a message in two ways that stood alike, so more of where it stands is looked at.
    """

    supervision: Supervision
    markers: Markers
    precise: bool = False
    settings: SeenSettings = field(default_factory=SeenSettings)
    pieces: dict[Standing, Lesson] = field(default_factory=dict)
    same: dict[tuple[Standing, Standing], Lesson] = field(default_factory=dict)

    def compose(self, shape: Shape) -> Composed | None:
        """The plan of such a conversation; None where something in it was not seen yet, or depends on more than its standing."""
        if not shape.turns:
            return None
        shape.precise = self.precise
        used: dict[int, Lesson] = {}
        layout = self.supervision.layout
        stable = dict.fromkeys(shape.turns, True) if layout == "turn" else self._stable(shape, used)
        if stable is None:
            return None
        rows: list[RowPlan] = []
        wanted: list[tuple[int | None, int, bool | None, dict[int, str], bool]]
        if layout == "conversation" or (layout == "auto" and all(stable.values())):
            marks = {turn: "stable" if kept else "rewritten" for turn, kept in stable.items()}
            wanted = [(None, shape.count, shape.whole, marks, not all(stable.values()))]
        else:
            wanted = [(turn, turn + 1, shape.settings[turn], {turn: "own"}, False) for turn in shape.turns]
        for one in wanted:
            row = self._row(shape, *one, used)
            if row is None:
                return None
            rows.append(row)
        accepted = None if rows[-1].count == shape.count else (shape.count, shape.whole)
        return Composed(Plan(tuple(rows), tuple(shape.dropped), accepted), list(used.values()))

    def learn(self, shape: Shape, drafts: Sequence[Draft], dropped: Sequence[Dropped]) -> bool:
        """Take from a conversation of that shape what the slow path made of it; whether shapes have to be made anew for it."""
        if not drafts or any(drop.reason not in ("before_first_user", "flagged_off") for drop in dropped):
            return False
        if any(draft.removed for draft in drafts) or not shape.turns:
            return False
        try:
            if self._see_settings(shape, drafts[-1].text.renders):
                return True
            self._learn_rows(shape, drafts)
        except (TemplateRefused, UnencodableText):
            pass  # some turn stands in the row, but not by itself (before the first user message): left to the slow path
        return False

    def _see_settings(self, shape: Shape, renders: Renders) -> bool:
        changed = False
        for turn, expected in shape.expected.items():
            if expected is not None:
                found = choose_thinking(renders, turn, self.supervision.thinking)
                changed |= self.settings.see(shape.kinds[turn], found is expected)
        return changed

    def _learn_rows(self, shape: Shape, drafts: Sequence[Draft]) -> None:
        shape.precise = self.precise
        stable: dict[int, bool] | None = None
        if self.supervision.layout != "turn":
            whole = drafts[0].text if drafts[0].turn is None else Text(drafts[0].text.renders, shape.count, shape.whole)
            stable = self._learn_sameness(shape, whole)
            if stable is None:
                return
        for draft in drafts:
            self._learn_row(shape, draft, stable or {})

    def _look_closer(self) -> None:
        """A message printed otherwise though it stood alike: forget everything, and learn again by closer looks."""
        if not self.precise:
            self.precise = True
            self.pieces.clear()
            self.same.clear()

    def _stable(self, shape: Shape, used: dict[int, Lesson]) -> dict[int, bool] | None:
        found: dict[int, bool] = {}
        known: dict[tuple[int, bool, bool | None], Lesson | None] = {}
        for turn in shape.turns:
            found[turn] = True
            setting, user = shape.settings[turn], shape.last_user[turn]
            for place in shape.unlike(turn):
                key = (place, place > user, setting)
                if place == turn or key not in known:
                    pair = (shape.standing(place, turn + 1, setting), shape.standing(place, shape.count, shape.whole))
                    known[key] = lesson = _ALIKE if pair[0] == pair[1] else self.same.get(pair)
                else:
                    lesson = known[key]
                if lesson is None or lesson.spoilt:
                    return None
                used[id(lesson)] = lesson
                if not lesson.value:
                    found[turn] = False
                    break
        return found

    def _row(
        self,
        shape: Shape,
        turn: int | None,
        count: int,
        setting: bool | None,
        marks: dict[int, str],
        rewritten: bool,
        used: dict[int, Lesson],
    ) -> RowPlan | None:
        markers: list[bytes] = []
        parts: list[PartPlan] = []
        number = 0
        for place in range(count):
            lesson = self.pieces.get(shape.standing(place, count, setting, marks.get(place, "")))
            if lesson is None or lesson.spoilt or not isinstance(lesson.value, Piece):
                return None
            used[id(lesson)] = lesson
            piece = lesson.value
            if piece.part is not None:
                parts.append(piece.part.moved(place, number))
            markers.append(piece.markers)
            number += len(piece.markers) // 4
        if any(not 0 <= edge.marker < number for part in parts for edge in part.edges):
            return None
        return RowPlan(turn, count, setting, rewritten, b"".join(markers), tuple(parts))

    def _learn_row(self, shape: Shape, draft: Draft, stable: dict[int, bool]) -> None:
        text = draft.text
        starts = _starts(text.spans, text.count, len(text.text))
        if starts is None:
            return
        ids = np.array(text.ids, np.int32)
        markers = self.markers.places(ids)
        offsets = text.offsets
        edges = np.searchsorted([offsets[place][0] for place in markers.tolist()], [*starts, len(text.text)]).tolist()
        parts: dict[int, PartPlan] = {}
        for part in draft.parts:
            settings = shape.settings[part.message], shape.expected[part.message]
            planned = learn_part(part, draft, self.supervision, ids, markers, settings)
            if planned is None:
                return
            parts[part.message] = planned.moved(-part.message, -edges[part.message])
        for place in range(text.count):
            mark = "" if place not in parts else "own" if draft.turn is not None else "stable" if stable[place] else "rewritten"
            standing = shape.standing(place, text.count, text.enable_thinking, mark)
            piece = Piece(ids[markers[edges[place] : edges[place + 1]]].tobytes(), parts.get(place))
            self.pieces[standing] = _after(self.pieces.get(standing), piece)

    def _learn_sameness(self, shape: Shape, whole: Text) -> dict[int, bool] | None:
        """Which turns stand in the whole as the server would see them; learns what of it they print otherwise. None where it cannot."""
        stable: dict[int, bool] = {}
        pieces: list[str] | None = None
        for turn in shape.turns:
            setting = shape.settings[turn]
            own = whole.renders.text(turn + 1, False, setting)
            stable[turn] = whole.text.startswith(own)
            ids = whole.renders.ids(turn + 1, False, setting)
            if (whole.ids[: len(ids)] == ids) is not stable[turn]:
                return None
            if stable[turn]:
                found: Iterator[tuple[int, bool]] = ((place, True) for place in shape.unlike(turn))
            else:
                pieces = pieces or _pieces(whole)
                mine = _pieces(Text(whole.renders, turn + 1, setting))
                if pieces is None or mine is None:
                    return None
                found = _compared(mine, pieces)
            unlike = set(shape.unlike(turn))
            for place, alike in found:
                pair = (shape.standing(place, turn + 1, setting), shape.standing(place, shape.count, shape.whole))
                if place in unlike and pair[0] != pair[1]:
                    self.same[pair] = _after(self.same.get(pair), alike)
                elif not alike:
                    self._look_closer()
                    return None
        return stable


_ALIKE = Lesson(True, trusted=True)


def _after(known: Lesson | None, value: Piece | bool) -> Lesson:
    """The lesson once another row has shown `value`; what is trusted stays, what a single row has shown is replaced."""
    if known is None:
        return Lesson(value)
    if known.value == value:
        known.trusted = True
        return known
    return known if known.trusted or known.spoilt else Lesson(value, failures=known.failures + 1)


def _starts(spans: Sequence[Span], count: int, length: int) -> list[int] | None:
    """Where the text of each message begins, what stands before it counted with the message before; None where they are not in order."""
    found: dict[int, int] = {}
    for span in spans:
        if span.message is not None:
            found.setdefault(span.message, span.start)
    starts = [length] * count
    for place in range(count - 1, 0, -1):
        starts[place] = found.get(place, starts[place + 1] if place + 1 < count else length)
    starts[0] = 0
    return starts if starts == sorted(starts) else None


def _pieces(text: Text) -> list[str] | None:
    starts = _starts(text.spans, text.count, len(text.text))
    if starts is None:
        return None
    return [text.text[start:end] for start, end in zip(starts, [*starts[1:], len(text.text)], strict=True)]


def _compared(own: Sequence[str], whole: Sequence[str]) -> Iterator[tuple[int, bool]]:
    """Message by message whether both print the same, up to the first that does not; the turn itself need only begin the other."""
    for place, text in enumerate(own):
        alike = whole[place].startswith(text) if place + 1 == len(own) else whole[place] == text
        yield place, alike
        if not alike:
            return
