"""Lays the assistant turns of one conversation out as rows of tokens, each turn with the range that is trained on.

It knows the layouts and when a row is too long. It does not know arrays or files.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from core.chat.attribution import MessagesAndTools, span_of
from core.chat.boundary import BoundaryUnstable, Renders, Turn, choose_thinking, common_ids, measure_turn, thinking_args
from core.chat.choices import Dropped, Supervision, Turns
from core.chat.encoding import UnencodableText
from core.chat.parts import NotSeparable, Part, Text, is_prefix, part_of
from core.chat.target import Target
from core.chat.template import TemplateRefused
from core.conversation import Conversation, messages_json


@dataclass(frozen=True)
class Draft:
    """A row before truncation. `turn`: the message index of its only trained turn, None where the row is the whole conversation.

    `rewritten`: the row shows some turn with a history other than the server's (the template rewrites history). `removed`: messages
    that were left out from index `lead` on so that the row fits; `turn` and the parts count all messages, the text's spans do not.
    """

    turn: int | None
    text: Text
    parts: tuple[Part, ...]
    rewritten: bool = False
    lead: int = 0
    removed: int = 0

    def original(self, message: int) -> int:
        """The index in the whole conversation of a message of the text."""
        return message if message < self.lead else message + self.removed


def chat_of(conversation: Conversation) -> MessagesAndTools:
    """The conversation as template input."""
    return messages_json(conversation.messages), list(conversation.tools) or None


def renders_of(conversation: Conversation, target: Target, supervision: Supervision) -> Renders | Dropped:
    """What renders the conversation, or why it must not be rendered: its text would become special tokens."""
    chat = chat_of(conversation)
    try:
        forgery = target.forgeries.literal(chat)
        if forgery is None:
            return Renders(chat, target)
        literals = target.forgeries.marked(chat) if supervision.special_tokens == "as_text" else None
    except UnencodableText as error:
        return _dropped(None, error)
    if literals is None:
        return Dropped(None, "special_token_in_content", str(forgery))
    return Renders(chat, target, literals)


def trained_turns(conversation: Conversation, turns: Turns = "after_user") -> tuple[list[int], list[Dropped]]:
    """Message indices of the assistant turns to train on, and those that the choice leaves out and a person might look for."""
    roles = [message.role for message in conversation.messages]
    first_user = roles.index("user") if "user" in roles else len(roles)
    answers = [place for place, role in enumerate(roles) if role == "assistant"]
    if turns == "all":
        return answers, []
    dropped = [Dropped(place, "before_first_user", "There is no user message before this turn.") for place in answers if place < first_user]
    chosen = [place for place in answers if place > first_user]
    if turns == "last":
        return chosen[-1:], dropped
    if turns == "flagged":
        off = [place for place in chosen if conversation.messages[place].train is False]
        dropped += [Dropped(place, "flagged_off", "The data flag this turn as not to be trained on.") for place in off]
        chosen = [place for place in chosen if place not in off]
    return chosen, dropped


def draft_rows(conversation: Conversation, target: Target, supervision: Supervision) -> tuple[list[Draft], list[Dropped]]:
    """The rows of a conversation and what was dropped from it, in the order of the turns. Raises nothing for bad rows."""
    drafts, dropped = _draft_rows(conversation, target, supervision)
    if supervision.overlong == "truncate":
        return drafts, dropped
    kept: list[Draft] = []
    for draft in drafts:
        length = len(draft.text.ids)
        if length <= supervision.seq_length:
            kept.append(draft)
        elif supervision.overlong == "drop":
            dropped.append(Dropped(draft.turn, "too_long", f"{length:,} tokens, {supervision.seq_length:,} are the limit."))
        else:
            kept.append(_shortened(draft, conversation, target, supervision))
    return kept, dropped


def _draft_rows(conversation: Conversation, target: Target, supervision: Supervision) -> tuple[list[Draft], list[Dropped]]:
    renders = renders_of(conversation, target, supervision)
    if isinstance(renders, Dropped):
        return [], [renders]
    turns, dropped = trained_turns(conversation, supervision.turns)
    if not turns:
        return [], [*dropped, Dropped(None, "no_assistant_turn", "There is no assistant turn to train on.")]
    try:
        whole = Text(renders, len(conversation.messages), choose_thinking(renders, turns[-1], supervision.thinking))
        forgery = target.forgeries.composed((renders.messages, renders.tools), whole.ids, thinking_args(whole.enable_thinking))
    except (TemplateRefused, UnencodableText) as error:
        return [], [*dropped, _dropped(None, error)]
    if forgery is not None:
        return [], [*dropped, Dropped(None, "special_token_in_content", str(forgery))]
    measured, failed = _measured(renders, turns, supervision)
    stable = not failed and all(is_prefix(turn.ids, whole.ids) for turn in measured.values())
    if supervision.layout == "conversation" or (supervision.layout == "auto" and stable):
        draft, unplaced = _conversation_row(renders, whole, turns, measured, supervision)
        return [draft] if draft.parts or not unplaced else [], [*dropped, *unplaced]
    drafts = []
    for turn in measured.values():
        text = Text(renders, turn.message + 1, turn.enable_thinking)
        try:
            part = part_of(text, turn.message, turn.boundary, len(text.ids), target, supervision)
        except (NotSeparable, UnencodableText) as error:
            failed.append(_dropped(turn.message, error))
            continue
        drafts.append(Draft(turn.message, text, (part,)))
    return drafts, [*dropped, *sorted(failed, key=lambda drop: drop.turn or 0)]


def _shortened(draft: Draft, conversation: Conversation, target: Target, supervision: Supervision) -> Draft:
    """The row without as many of its earliest exchanges as it takes to fit; the last exchange stays and is cut where it is too long."""
    roles = [message.role for message in conversation.messages]
    lead = next((place for place, role in enumerate(roles) if role != "system"), len(roles))
    count = len(roles) if draft.turn is None else draft.turn + 1
    last = draft.parts[-1].message if draft.parts else 0
    starts = [place for place in range(lead + 1, last) if roles[place] == "user" and roles[place - 1] != "user"]
    choices = replace(supervision, layout="conversation" if draft.turn is None else "turn", overlong="truncate")
    best = draft
    for start in starts:
        removed = start - lead
        rest = replace(conversation, messages=conversation.messages[:lead] + conversation.messages[start:count])
        wanted = None if draft.turn is None else draft.turn - removed
        found = next((made for made in _draft_rows(rest, target, choices)[0] if made.turn == wanted), None)
        if found is None:
            continue
        parts = tuple(replace(part, message=part.message + removed) for part in found.parts)
        best = replace(found, turn=draft.turn, parts=parts, lead=lead, removed=removed)
        if len(best.text.ids) <= supervision.seq_length:
            break
    return best


def _measured(renders: Renders, turns: Sequence[int], supervision: Supervision) -> tuple[dict[int, Turn], list[Dropped]]:
    measured: dict[int, Turn] = {}
    failed: list[Dropped] = []
    for place in turns:
        try:
            measured[place] = measure_turn(renders, place, supervision.thinking)
        except (TemplateRefused, BoundaryUnstable, UnencodableText) as error:
            failed.append(_dropped(place, error))
    return measured, failed


def _conversation_row(
    renders: Renders, whole: Text, turns: Sequence[int], measured: dict[int, Turn], supervision: Supervision
) -> tuple[Draft, list[Dropped]]:
    """The whole render with every turn's range. A turn that stands there as the server would see it keeps its own boundary."""
    target = renders.target
    parts: list[Part] = []
    unplaced: list[Dropped] = []
    rewritten = False
    for place in turns:
        turn = measured.get(place)
        if turn is not None and is_prefix(turn.ids, whole.ids):
            boundary, end = turn.boundary, len(turn.ids)
        else:
            rewritten = True
            span = span_of(whole.spans, place)
            if span is None:
                unplaced.append(Dropped(place, "boundary_unstable", "The template prints this turn nowhere that can be told apart."))
                continue
            boundary, end = _rewritten_range(renders, whole, place, span, turn)
        try:
            parts.append(part_of(whole, place, boundary, end, target, supervision))
        except (NotSeparable, UnencodableText) as error:
            unplaced.append(_dropped(place, error))
    return Draft(None, whole, tuple(parts), rewritten), unplaced


def _rewritten_range(renders: Renders, whole: Text, place: int, span: tuple[int, int], turn: Turn | None) -> tuple[int, int]:
    """Tokens of a turn that the whole render prints otherwise: from where it leaves the generation prompt to the turn's end."""
    first, end = whole.token_from(span[0]), whole.token_from(span[1])
    prompt: list[int] = []
    if turn is not None:
        history = renders.ids(place, False, turn.enable_thinking)
        prompt = turn.prompt_ids[len(history) :] if is_prefix(history, turn.prompt_ids) else []
    return first + common_ids(prompt, whole.ids[first:end]), end


def _dropped(turn: int | None, error: TemplateRefused | BoundaryUnstable | NotSeparable | UnencodableText) -> Dropped:
    if isinstance(error, TemplateRefused):
        return Dropped(turn, f"refused:{error.code}", error.message)
    reasons = {BoundaryUnstable: "boundary_unstable", NotSeparable: "not_separable", UnencodableText: "unencodable_text"}
    return Dropped(turn, reasons[type(error)], str(error))
