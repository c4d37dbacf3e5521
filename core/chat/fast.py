"""The fast way from many conversations to training rows: whole batches rendered, encoded and masked at once.

It gives what `core.chat.supervise` gives, row by row, and asks it wherever it is not sure: for every kind of conversation before it
trusts itself, and for a sample afterwards. It does not know sources or files.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from core.chat.boundary import thinking_args
from core.chat.choices import Dropped, Supervision
from core.chat.drafts import chat_of, draft_rows
from core.chat.fast_encoding import FastEncoder
from core.chat.fast_plan import Plan, RowPlan, learn_plan
from core.chat.kinds import Kind, KindReader
from core.chat.supervision import Supervised, TrainingRow, supervise, supervised_of, unsupervised
from core.chat.target import Target
from core.chat.template import TemplateRefused
from core.conversation import Conversation

EVERY = 64
"""One conversation in so many that took the fast path is made again by the slow one (1.6 %)."""

_LESSONS = 3
"""Rows of one kind that may disagree with what was learned before the kind is left to the slow path."""


@dataclass
class FastReport:
    """How the work was done. `renderer`: "minijinja" or "jinja2"; `encoder`: "fastokens" or "hf"; `reasons`: why not the fast one.

    `fast`, `slow`: conversations by path; `checked`: those of the fast path that were made again; `kinds`: kinds of conversation
    that were learned.
    """

    renderer: str
    encoder: str
    reasons: list[str] = field(default_factory=list)
    fast: int = 0
    slow: int = 0
    checked: int = 0
    kinds: int = 0


@dataclass
class _Known:
    """What is known of a kind. `trusted`: a second row came out as the slow path makes it. `failures`: rows that did not fit."""

    plan: Plan | None = None
    trusted: bool = False
    failures: int = 0


_Waiting = tuple[int, _Known, Plan]
"""A conversation of the batch (its place), what is known of its kind, and the plan that its texts were rendered by."""


class FastPath:
    """Supervises batches for one target and one set of choices; make one per process and keep it."""

    def __init__(self, target: Target, supervision: Supervision, *, encoder: str = "auto") -> None:
        """Prove renderer and encoder on the probe set, once per target. `encoder`: "auto" or "hf" (never fastokens)."""
        self.target, self.supervision = target, supervision
        renderer = target.fast_renderer
        self._renderer = None if isinstance(renderer, str) else renderer
        self._encoder = target.fast_encoder if encoder == "auto" else target.encoder
        self._kinds = KindReader(target, supervision)
        self._known: dict[Kind, _Known] = {}
        self._is_marker = np.zeros(target.encoder.vocab_size + 1, np.bool_)
        self._is_marker[list(target.encoder.added)] = True
        self._stopped: str | None = None
        self._report = FastReport("", "", [] if self._renderer else [str(renderer)])

    @property
    def report(self) -> FastReport:
        """What was used so far, and why not the fast parts where they were not."""
        self._report.renderer = "jinja2" if self._renderer is None else "minijinja"
        encoder = self._encoder if isinstance(self._encoder, FastEncoder) else None
        self._report.encoder = "hf" if encoder is None else encoder.name
        self._report.kinds = sum(known.plan is not None for known in self._known.values())
        for reason in (encoder.reason if encoder else None, self._stopped):
            if reason and reason not in self._report.reasons:
                self._report.reasons.append(reason)
        return self._report

    def supervise_batch(self, conversations: Sequence[Conversation]) -> list[Supervised]:
        """What became of each conversation, in their order; equal to `supervise` on each of them.

        `input_ids` (int32) and `loss_mask` (bool) of the rows are views into two flat arrays of the batch. A few hundred
        conversations at a time are enough. Never raises for what a conversation holds.
        """
        if self._stopped is not None or not self._is_marker.any():
            self._report.slow += len(conversations)
            return [supervise(conversation, self.target, self.supervision) for conversation in conversations]
        made: list[Supervised | None] = []
        texts: list[str] = []
        waiting: list[_Waiting] = []
        for place, conversation in enumerate(conversations):
            kind = self._kinds.of(conversation)
            known = None if kind is None else self._known.setdefault(kind, _Known())
            rendered = None if known is None or known.plan is None else self._rendered(conversation, known.plan)
            if known is not None and known.plan is not None and rendered is not None:
                waiting.append((place, known, known.plan))
                texts += rendered
                made.append(None)
            else:
                made.append(self._slow(conversation, known))
        self._mask(conversations, texts, waiting, made)
        if self._stopped is not None:
            return [supervise(conversation, self.target, self.supervision) for conversation in conversations]
        return [one for one in made if one is not None]

    def _slow(self, conversation: Conversation, known: _Known | None) -> Supervised:
        self._report.slow += 1
        if known is None or known.failures >= _LESSONS:
            return supervise(conversation, self.target, self.supervision)
        drafts, dropped = draft_rows(conversation, self.target, self.supervision)
        plan = learn_plan(drafts, dropped, self.supervision, self._is_marker)
        if plan is None or plan != known.plan:
            known.failures += plan is None or known.plan is not None
            known.plan, known.trusted = plan, False
        return supervised_of(conversation, drafts, dropped, self.supervision)

    def _rendered(self, conversation: Conversation, plan: Plan) -> list[str] | None:
        messages, tools = chat_of(conversation)
        texts: list[str] = []
        for row in plan.rows:
            part, args = messages[: row.count], thinking_args(row.enable_thinking)
            text = None if self._renderer is None else self._renderer.render(part, tools, False, args)
            if text is None:
                try:
                    text = self.target.template.render((part, tools), **args)
                except TemplateRefused:
                    return None
            texts.append(text)
        return texts

    def _mask(
        self,
        conversations: Sequence[Conversation],
        texts: list[str],
        waiting: list[tuple[int, _Known, Plan]],
        made: list[Supervised | None],
    ) -> None:
        """Encode the texts and fill in what became of the waiting conversations."""
        if not texts:
            return
        ids, offsets = self._encoder.encode_batch_flat(texts)
        mask = np.zeros(len(ids), np.bool_)
        markers = np.flatnonzero(self._is_marker[ids])
        marked = np.searchsorted(markers, offsets).tolist()
        edges = offsets.tolist()
        text = 0
        for place, known, plan in waiting:
            conversation = conversations[place]
            rows: list[TrainingRow] = []
            dropped: list[Dropped] = list(plan.dropped)
            usable = True
            for row in plan.rows:
                start, end, inside = edges[text], edges[text + 1], markers[marked[text] : marked[text + 1]]
                text += 1
                usable = usable and self._row(conversation, row, ids[start:end], mask[start:end], inside - start, rows, dropped)
            if not usable:
                made[place] = self._slow(conversation, known)
                continue
            made[place] = fast = Supervised(rows, dropped)
            self._report.fast += 1
            if not known.trusted or self._report.fast % EVERY == 0:
                made[place] = self._checked(conversation, known, plan, fast)

    def _row(
        self,
        conversation: Conversation,
        row: RowPlan,
        ids: np.ndarray[tuple[int], np.dtype[np.int32]],
        mask: np.ndarray[tuple[int], np.dtype[np.bool_]],
        markers: np.ndarray[tuple[int], np.dtype[np.int64]],
        rows: list[TrainingRow],
        dropped: list[Dropped],
    ) -> bool:
        """Add one row, or why it is dropped; False where the slow path has to say."""
        limit, length = self.supervision.seq_length, len(ids)
        parts = row.parts_in(ids, markers)
        if parts is None or (length > limit and self.supervision.overlong == "keep_last_turns"):
            return False
        if length > limit and self.supervision.overlong == "drop":
            dropped.append(Dropped(row.turn, "too_long", f"{length:,} tokens, {limit:,} are the limit."))
            return True
        trained = [first for _, first, last in parts if first < last]
        if not trained or min(trained) >= limit:
            dropped.append(unsupervised(row.turn, min(trained) if trained else None, limit))
            return True
        for _, first, last in parts:
            mask[first:last] = True
        cut = next((message for message, first, last in parts if first < limit < last), None)
        rows.append(TrainingRow(conversation.row_id, row.turn, ids[:limit], mask[:limit], length > limit, row.rewritten, cut))
        return True

    def _checked(self, conversation: Conversation, known: _Known, plan: Plan, fast: Supervised) -> Supervised:
        slow = supervise(conversation, self.target, self.supervision)
        self._report.checked += 1
        if same(fast, slow):
            known.trusted = known.plan is plan
        elif known.trusted and known.plan is plan:
            self._stopped = f"the fast path gave another row than the slow one for {conversation.row_id or 'a conversation'}"
        else:
            known.plan, known.failures = None, _LESSONS
        return slow


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
