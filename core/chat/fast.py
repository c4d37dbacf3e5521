"""The fast way from many conversations to training rows: whole batches rendered, encoded and masked at once.

It gives what `core.chat.supervise` gives, row by row, and asks it wherever it is not sure: for every kind of conversation before it
trusts itself, and for a sample afterwards. It does not know sources or files.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from core.chat.boundary import thinking_args
from core.chat.choices import Dropped, Supervision
from core.chat.drafts import draft_rows
from core.chat.fast_encoding import FastEncoder, QuickEncoder
from core.chat.fast_rows import BatchRows
from core.chat.glue import Exact, glue_of, is_plain, prints_texts_as_they_stand
from core.chat.kinds import Kind, KindReader
from core.chat.learned import Composed, Learned
from core.chat.markers import Markers
from core.chat.standing import Shape
from core.chat.supervision import Supervised, supervise, supervised_of
from core.chat.target import Target
from core.chat.template import TemplateRefused
from core.conversation import Conversation, JSONObject, Stored

EVERY = 64
"""One of so many of the first `OFTEN` conversations that took the fast path is made again by the slow one, later one of `RARER` as many.

A conversation made again costs as much as forty made fast (4 ms)."""

OFTEN, RARER = 1024, 32

FIRST = 32
"""Kinds of conversation that were put together from what is known are checked on their first row, up to so many kinds."""

_KEPT = 4096
"""Plans that are kept; agents' traces are of a new kind each."""


@dataclass
class FastReport:
    """How the work was done. `renderer`: "minijinja" or "jinja2"; `encoder`: "fastokens" or "hf"; `reasons`: why not the fast one.

    `fast`, `slow`: conversations by path; `checked`: those of the fast path that were made again; `kinds`: standings of a message
    that were learned. `invalid_since`: set when a check failed: of all conversations given to this path, in their order, those from this
    number (from 0) up to the batch that failed may be wrong and must be made again; that batch and later ones are right.
    `mismatched`: how often that happened.
    """

    renderer: str
    encoder: str
    reasons: list[str] = field(default_factory=list)
    fast: int = 0
    slow: int = 0
    checked: int = 0
    kinds: int = 0
    invalid_since: int | None = None
    mismatched: int = 0


@dataclass
class _Waiting:
    """A conversation of the batch whose rows are rendered. `place`: where it stands in the batch."""

    place: int
    chat: Stored
    shape: Shape
    composed: Composed


class FastPath:
    """Supervises batches for one target and one set of choices; make one per process and keep it."""

    def __init__(self, target: Target, supervision: Supervision, *, encoder: str = "auto") -> None:
        """Prove renderer and encoder on the probe set, once per target. `encoder`: "auto" or "hf" (never fastokens)."""
        self.target, self.supervision = target, supervision
        renderer = target.fast_renderer
        self._renderer = None if isinstance(renderer, str) else renderer
        self._encoder = target.fast_encoder if encoder == "auto" else target.encoder
        self._quick = target.with_encoder(QuickEncoder(target.encoder, target.fast_encoder)) if encoder == "auto" else target
        self._kinds = KindReader(target, supervision)
        self._learned = Learned(supervision, Markers(target.encoder.added, target.encoder.vocab_size))
        as_they_stand = self._renderer is not None and prints_texts_as_they_stand(target.template, self._printed)
        self._exact = Exact.of(target.template) if as_they_stand else None
        self._shapes: dict[Kind, tuple[Shape, Composed | None]] = {}
        self._given = 0
        self._first_fast: int | None = None
        self._composed = 0
        self._believed = self._doubtful = False
        """Whether a chat was put together from its texts without being rendered, and whether one was then seen to come out otherwise."""
        self._stopped: str | None = None
        self._report = FastReport("", "", [] if self._renderer else [str(renderer)])

    @property
    def report(self) -> FastReport:
        """What was used so far, and why not the fast parts where they were not."""
        self._report.renderer = "jinja2" if self._renderer is None else "minijinja"
        encoder = self._encoder if isinstance(self._encoder, FastEncoder) else None
        self._report.encoder = "hf" if encoder is None else encoder.name
        self._report.kinds = len(self._learned.pieces)
        for reason in (encoder.reason if encoder else None, self._stopped):
            if reason and reason not in self._report.reasons:
                self._report.reasons.append(reason)
        return self._report

    def stop(self) -> None:
        """Leave everything to the slow path from here on."""
        self._stopped = self._stopped or "the fast path was not asked"

    def supervise_batch(self, conversations: Sequence[Conversation | Stored]) -> list[Supervised]:
        """What became of each conversation, in their order; equal to `supervise` on each of them.

        `input_ids` (int32) and `loss_mask` (bool) of the rows are views into two flat arrays of the batch. A few hundred
        conversations at a time are enough. Never raises for what a conversation holds. Look at `report.invalid_since` afterwards.
        """
        chats = [one if isinstance(one, Stored) else Stored.of(one) for one in conversations]
        made: list[Supervised | None] = []
        texts: list[str] = []
        waiting: list[_Waiting] = []
        precise = self._learned.precise
        for place, chat in enumerate(chats):
            kind = None if self._stopped else self._kinds.of(chat)
            shape, composed = (None, None) if kind is None else self._composed_for(kind, chat)
            rendered = None if composed is None else self._rendered(chat, composed)
            if shape is not None and composed is not None and rendered is not None:
                waiting.append(_Waiting(place, chat, shape, composed))
                texts += rendered
                made.append(None)
            else:
                made.append(self._slow(chat, shape))
        if texts:
            trusted = self._encoder.name if isinstance(self._encoder, FastEncoder) else None
            self._mask(texts, waiting, made)
            if isinstance(self._encoder, FastEncoder) and self._encoder.name != trusted:
                self._invalidate()
        closer = self._learned.precise is not precise
        if closer:
            self._shapes.clear()
        if closer or self._doubtful:
            self._invalidate()
        if closer or self._doubtful or self._stopped is not None:
            for one in waiting:
                made[one.place] = supervise(one.chat.conversation, self.target, self.supervision)
            self._doubtful = False
        self._given += len(chats)
        return [one for one in made if one is not None]

    def _composed_for(self, kind: Kind, chat: Stored) -> tuple[Shape, Composed | None]:
        found = self._shapes.get(kind)
        if found is not None and found[1] is not None:
            return found
        shape = found[0] if found is not None else self._shape(kind, chat.conversation)
        if len(self._shapes) >= _KEPT:
            self._shapes.clear()
        self._shapes[kind] = found = shape, self._learned.compose(shape)
        return found

    def _shape(self, kind: Kind, conversation: Conversation) -> Shape:
        return Shape(kind, conversation, self.target.template, self.supervision, self._learned.settings)

    def _slow(self, chat: Stored, shape: Shape | None) -> Supervised:
        self._report.slow += 1
        conversation = chat.conversation
        if shape is None:
            return supervise(conversation, self.target, self.supervision)
        drafts, dropped = draft_rows(conversation, self.target, self.supervision)
        if self._learned.learn(shape, drafts, dropped):
            self._shapes.clear()
        return supervised_of(conversation, drafts, dropped, self.supervision)

    def _rendered(self, chat: Stored, composed: Composed) -> list[str] | None:
        joined = self._joined(chat, composed)
        if joined is not None and composed.glue is not None and not composed.glue.due():
            self._believed = True
            return joined
        texts = self._render(chat, composed)
        if joined is not None and texts != joined:
            self._exact = None  # from here on every chat is rendered
            self._report.reasons.append("the template prints a text otherwise than it stands")
            self._doubtful = self._believed
        return texts

    def _joined(self, chat: Stored, composed: Composed) -> list[str] | None:
        """The texts of a plain chat put together without rendering, where the template prints every text as it stands."""
        if self._exact is None or composed.plan.accepted is not None or chat.tools:
            return None
        if not composed.glue_tried and is_plain(chat.messages):
            composed.glue_tried = True
            composed.glue = glue_of(chat.messages, composed.plan.renders, self._printed, self._exact)
        return None if composed.glue is None else composed.glue.joined(chat.messages)

    def _printed(self, messages: Sequence[JSONObject], count: int, setting: bool | None) -> str | None:
        """minijinja's render of a conversation without tools."""
        ready = None if self._renderer is None else self._renderer.ready(messages, None)
        return None if self._renderer is None or ready is None else self._renderer.printed(ready, count, False, thinking_args(setting))

    def _render(self, chat: Stored, composed: Composed) -> list[str] | None:
        plan = composed.plan
        messages, tools = chat.messages, chat.tools or None
        ready = None if self._renderer is None else self._renderer.ready(messages, tools)
        texts: list[str] = []
        for count, setting in plan.renders:
            args = thinking_args(setting)
            text = None if self._renderer is None or ready is None else self._renderer.printed(ready, count, False, args)
            if text is None:
                try:
                    text = self.target.template.render((messages[:count], tools), **args)
                except TemplateRefused:
                    return None
            texts.append(text)
        return texts[: len(plan.rows)]

    def _mask(self, texts: list[str], waiting: list[_Waiting], made: list[Supervised | None]) -> None:
        """Encode the texts and fill in what became of the waiting conversations."""
        plans = [plan for one in waiting for plan in one.composed.plan.rows]
        rows = BatchRows.read(self._encoder.encode_batch_flat(texts), plans, self._learned.markers, self.supervision.seq_length)
        text = 0
        for one in waiting:
            plan = one.composed.plan
            fast = rows.supervised(one.chat.row_id, text, plan.rows, [*plan.dropped], self.supervision)
            text += len(plan.rows)
            if fast is None:
                made[one.place] = self._slow(one.chat, one.shape)
                continue
            made[one.place] = fast
            self._report.fast += 1
            new = not one.composed.seen
            one.composed.seen = True
            self._composed += new
            if self._first_fast is None:
                self._first_fast = self._given + one.place
            if not one.composed.check_trust() or (new and self._composed <= FIRST):
                made[one.place] = self._checked(one, fast, self.target)
            elif self._report.fast % (EVERY if self._report.fast <= OFTEN else EVERY * RARER) == 0:
                made[one.place] = self._checked(one, fast, self._quick)

    def _checked(self, one: _Waiting, fast: Supervised, target: Target) -> Supervised:
        slow = supervise(one.chat.conversation, target, self.supervision)
        self._report.checked += 1
        if same(fast, slow):
            for lesson in one.composed.lessons:
                lesson.trusted = True
        elif one.composed.trusted:
            self._stopped = f"the fast path gave another row than the slow one for {one.chat.row_id or 'a conversation'}"
            self._invalidate()
        else:
            for lesson in one.composed.lessons:
                lesson.failures += not lesson.trusted
            self._shapes.clear()
        return slow

    def _invalidate(self) -> None:
        """Say that what was given before this batch may be wrong."""
        if self._first_fast is None or self._first_fast >= self._given:
            return
        self._report.mismatched += 1
        if self._report.invalid_since is None:
            self._report.invalid_since = self._first_fast


def same(one: Supervised, other: Supervised) -> bool:
    """Whether two results are equal to the token and the bit."""
    return (
        len(one.rows) == len(other.rows)
        and sorted(one.dropped, key=_drop_key) == sorted(other.dropped, key=_drop_key)
        and all(
            (a.row, a.turn, a.truncated, a.history_rewritten, a.cut_turn, a.shortened)
            == (b.row, b.turn, b.truncated, b.history_rewritten, b.cut_turn, b.shortened)
            and np.array_equal(a.input_ids, b.input_ids)
            and np.array_equal(a.loss_mask, b.loss_mask)
            for a, b in zip(one.rows, other.rows, strict=True)
        )
    )


def _drop_key(drop: Dropped) -> tuple[int, str, str]:
    return (-1 if drop.turn is None else drop.turn, drop.reason, drop.detail)
