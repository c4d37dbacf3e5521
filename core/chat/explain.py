"""Why each token of a row is trained on or not, in words for people.

It reads the same drafts that training rows are made from, so what it says is what the dataset holds.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from core.chat.attribution import message_spans
from core.chat.choices import Dropped, Supervision
from core.chat.drafts import Draft, chat_of, draft_rows
from core.chat.encoding import UnencodableText
from core.chat.parts import Part
from core.chat.supervision import TrainingRow, mask_of, supervised_of
from core.chat.target import Target
from core.chat.template import TemplateRefused
from core.chat.trace import Span
from core.conversation import Conversation, JSONObject

_LONG = 20_000
"""Characters of text from which it pays to encode a conversation in pieces (about 5,000 tokens)."""
_TRAINED = {
    "sampled": "sampled by the target",
    "boundary": "past the generation prompt",
    "content": "between its header and its end",
}


@dataclass(frozen=True)
class ExplainedToken:
    """One token of a row. `message`: index of the message it came from, None for the template's own text. `role`: that
    message's role, or "template". `text` shows incomplete UTF-8 as U+FFFD; `bytes` are exact.
    """

    id: int
    text: str
    bytes: bytes
    trainable: bool
    message: int | None
    role: str
    why: str

    def to_json(self) -> JSONObject:
        """`{"id", "text", "bytes" (hex), "trainable", "message", "role", "why"}`."""
        return {
            "id": self.id,
            "text": self.text,
            "bytes": self.bytes.hex(),
            "trainable": self.trainable,
            "message": self.message,
            "role": self.role,
            "why": self.why,
        }


@dataclass(frozen=True)
class RenderedPart:
    """A stretch of a render. `message`: index of the message it was printed for, None for the template's own text; `name`: what to
    call that message ("user message 2"), or "template"; `role`: as in `ExplainedToken`.
    """

    text: str
    message: int | None
    role: str
    name: str


@dataclass(frozen=True)
class ExplainedRow:
    """A training row; its tokens are explained when they are asked for, since a long conversation may give a row per turn."""

    made: TrainingRow
    _draft: Draft
    _conversation: Conversation
    _target: Target
    _supervision: Supervision

    @cached_property
    def tokens(self) -> list[ExplainedToken]:
        """Every token of the row with the reason why it is trained on or not."""
        return _explained(self._draft, self._conversation, self._target, self._supervision)

    @cached_property
    def parts(self) -> list[RenderedPart]:
        """The whole render, before any cut, by message."""
        text = self._draft.text
        return _parts(self._conversation, text.text, text.spans, self._draft)


@dataclass(frozen=True)
class Explanation:
    """What becomes of one conversation: the rows of `supervise`, to be explained, and what it dropped."""

    rows: list[ExplainedRow]
    dropped: list[Dropped]


def explain_rows(conversation: Conversation, target: Target, supervision: Supervision) -> Explanation:
    """Everything that is to be seen of a conversation, from the same drafts that `supervise` makes its rows from."""
    quick = _quick(conversation, target)
    drafts, dropped = draft_rows(conversation, quick, supervision)
    made = supervised_of(conversation, drafts, dropped, supervision)
    kept = [draft for draft in drafts if mask_of(draft)[: supervision.seq_length].any()]
    rows = [ExplainedRow(row, draft, conversation, quick, supervision) for row, draft in zip(made.rows, kept, strict=True)]
    return Explanation(rows, made.dropped)


def _quick(conversation: Conversation, target: Target) -> Target:
    """The target with an encoder that encodes each piece of the conversation once, where that is long and gives the same tokens."""
    if sum(len(message.content) + len(message.reasoning_content or "") for message in conversation.messages) < _LONG:
        return target
    try:
        text = target.template.render(conversation)
        same = target.piecewise.encoder.encode(text) == target.encoder.encode(text)
    except (TemplateRefused, UnencodableText):
        return target
    return target.piecewise if same else target


def rendered_parts(conversation: Conversation, target: Target) -> list[RenderedPart]:
    """The plain render of a conversation by message, also of one that gives no row. Raises `TemplateRefused`."""
    spans = message_spans(target.template, chat_of(conversation), {})
    text = target.template.render(conversation)
    return _parts(conversation, text, spans, None)


def _parts(conversation: Conversation, text: str, spans: Sequence[Span], draft: Draft | None) -> list[RenderedPart]:
    names = message_names(conversation)
    parts = []
    for own, start, end in spans:
        message = own if own is None or draft is None else draft.original(own)
        role = "template" if message is None else conversation.messages[message].role
        parts.append(RenderedPart(text[start:end], message, role, "template" if message is None else names[message]))
    return parts


def explain(conversation: Conversation, target: Target, supervision: Supervision) -> list[list[ExplainedToken]]:
    """The tokens of every row that `supervise` keeps, in the same order and cut at the same limit."""
    drafts, _ = draft_rows(conversation, target, supervision)
    return [_explained(draft, conversation, target, supervision) for draft in drafts if mask_of(draft)[: supervision.seq_length].any()]


def _explained(draft: Draft, conversation: Conversation, target: Target, supervision: Supervision) -> list[ExplainedToken]:
    words = _Words(conversation, draft, supervision)
    spans, mask = draft.text.spans, mask_of(draft)
    starts = [span.start for span in spans]
    tokens: list[ExplainedToken] = []
    for place, (token_id, offset) in enumerate(zip(draft.text.ids, draft.text.offsets, strict=True)):
        if place == supervision.seq_length:
            break
        found = bisect_right(starts, offset[0]) - 1
        own = spans[found].message if found >= 0 else None
        message = None if own is None else draft.original(own)
        tokens.append(
            ExplainedToken(
                id=token_id,
                text=target.encoder.token(token_id),
                bytes=target.encoder.token_bytes(token_id),
                trainable=bool(mask[place]),
                message=message,
                role="template" if message is None else conversation.messages[message].role,
                why=words.why(place, message),
            )
        )
    return tokens


class _Words:
    """The sentence for each token of one row."""

    def __init__(self, conversation: Conversation, draft: Draft, supervision: Supervision) -> None:
        self._supervise, self._choices, self._messages = supervision.supervise, supervision, conversation.messages
        self._parts: dict[int, Part] = {part.message: part for part in draft.parts}
        self._names = message_names(conversation)
        self._roles: Sequence[str] = [message.role for message in conversation.messages]
        self._first_user = self._roles.index("user") if "user" in self._roles else len(self._roles)

    def why(self, place: int, message: int | None) -> str:
        """Why the token at `place`, of `message`, is trained on or not."""
        part = next((part for part in self._parts.values() if part.first <= place < part.last), None)
        if part is not None:
            return f"{self._names[part.message]}, {_TRAINED[self._supervise]}"
        if message is None:
            return "written by the template"
        name = self._names[message]
        if self._roles[message] != "assistant":
            return name
        if message not in self._parts:
            if message < self._first_user:
                return f"{name}, before the first user message: never trained on"
            return f"{name}, flagged by the data as not trained on" if self._flagged_off(message) else f"{name}, history in this row"
        return self._beside(place, self._parts[message], name)

    def _flagged_off(self, message: int) -> bool:
        return self._choices.turns == "flagged" and self._messages[message].train is False

    def _beside(self, place: int, part: Part, name: str) -> str:
        if part.boundary <= place < part.end:
            if place < part.first and not self._choices.reasoning:
                return f"reasoning of {name}, not trained on by choice"
            if place >= part.last and not self._choices.tool_calls and self._messages[part.message].tool_calls:
                return f"tool calls of {name}, not trained on by choice"
        if place >= part.last:
            return f"past the end of {name}" if self._supervise != "content" else f"end of {name}, not its content"
        return f"generation prompt of {name}" if self._supervise != "content" else f"header of {name}"


def message_names(conversation: Conversation) -> list[str]:
    """What to call each message: "system message", "user message 2", "assistant turn 1", "tool result 3"."""
    kinds = {"system": "system message", "user": "user message", "assistant": "assistant turn", "tool": "tool result"}
    seen: dict[str, int] = {}
    names = []
    for message in conversation.messages:
        seen[message.role] = seen.get(message.role, 0) + 1
        alone = message.role == "system" and seen["system"] == 1
        names.append(kinds[message.role] if alone else f"{kinds[message.role]} {seen[message.role]}")
    return names
