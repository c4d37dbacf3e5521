"""Puts turns into the order that templates accept: system first, then a user, no empty, doubled or unanswered turn.

It knows roles and whether a turn is blank, not what is said in it. Every change is a repair by name.
"""

import re
from typing import Literal

from core.dialects.draft import Draft, Turn
from core.dialects.handling import Handling, Quarantined

Ending = Literal["kept", "prompt_only"]

_TEXT_ACTION = re.compile(r"\A\s*(?:DISCUSSION|THOUGHT)\b")


def in_order(draft: Draft, handling: Handling) -> Ending:
    """Repairs the order after the system message in place, and says whether there is something to learn or only a prompt.

    Raises `Quarantined` with `no_messages`, `no_user` or `empty_assistant`.
    """
    if not draft.turns:
        raise Quarantined("no_messages", "no turns")
    silent = any(turn.role == "assistant" and turn.blank for turn in draft.turns)
    turns = _without_blanks(draft.turns, handling)
    if not any(turn.role == "user" for turn in turns):
        handling.refuse("no_user", "roles: " + ", ".join(turn.role for turn in turns[:8]))
    else:
        turns = _from_first_user(turns, handling)
    turns = _merged(turns, handling)
    draft.turns = turns
    if not any(turn.role == "assistant" for turn in turns):
        if silent:
            raise Quarantined("empty_assistant", "no assistant turn has content")
        return "prompt_only"
    if turns[-1].role == "user" and not (draft.observes or _observes(turns)):
        if not handling.repair("trailing_user_dropped", turns[-1].content, turns[-1].field):
            return "prompt_only"
        draft.turns = turns[:-1]
    return "kept"


def _observes(turns: list[Turn]) -> bool:
    """Whether the last user turn answers an action written as text (SWE-agent: a discussion, then one fenced command)."""
    if len(turns) < 2 or turns[-1].role != "user" or turns[-2].role != "assistant":
        return False
    text = turns[-2].content
    return bool(_TEXT_ACTION.match(text)) and text.rstrip().endswith("```")


def systems_first(turns: list[Turn], handling: Handling) -> list[Turn]:
    """One system message at most, at the beginning, with text."""
    if all(turn.role != "system" for turn in turns):
        return turns
    systems: list[Turn] = []
    others: list[Turn] = []
    for turn in turns:
        if turn.role != "system":
            others.append(turn)
        elif not turn.content.strip() and handling.repair("blank_system_removed", field=turn.field):
            continue
        elif others and not handling.repair("late_system_moved", turn.content, turn.field):
            others.append(turn)
        else:
            systems.append(turn)
    if len(systems) > 1:
        distinct = list({turn.content: turn for turn in systems}.values())
        if handling.repair("systems_merged", field=systems[1].field):
            systems[0].content = "\n\n".join(turn.content for turn in distinct)
            del systems[1:]
    return systems + others


def _without_blanks(turns: list[Turn], handling: Handling) -> list[Turn]:
    return [
        turn
        for turn in turns
        if turn.role not in ("user", "assistant") or not turn.blank or not handling.repair("empty_turn_dropped", field=turn.field)
    ]


def _from_first_user(turns: list[Turn], handling: Handling) -> list[Turn]:
    systems = [turn for turn in turns if turn.role == "system"]
    first = next(index for index, turn in enumerate(turns) if turn.role == "user")
    before = [turn for turn in turns[:first] if turn.role != "system"]
    if not before or not handling.repair("leading_turn_dropped", before[0].content, before[0].field):
        return turns
    return [*(turn for turn in systems if turn in turns[:first]), *turns[first:]]


def _merged(turns: list[Turn], handling: Handling) -> list[Turn]:
    """Neighbours of one role joined, unless both assistants call tools; word for word repetition is dropped."""
    merged: list[Turn] = []
    for turn in turns:
        last = merged[-1] if merged else None
        if last is None or last.role != turn.role or turn.role not in ("user", "assistant") or (last.calls and turn.calls):
            merged.append(turn)
        elif _same(last, turn) and handling.repair("repeated_turn_dropped", turn.content, turn.field):
            continue
        elif handling.repair("adjacent_users_merged" if turn.role == "user" else "adjacent_assistants_merged", field=turn.field):
            join(last, turn)
        else:
            merged.append(turn)
    return merged


def join(turn: Turn, following: Turn) -> None:
    """Adds what the following turn says to the turn."""
    turn.take_flag(following)
    turn.content = "\n\n".join(text for text in (turn.content, following.content) if text)
    turn.reasoning = "\n\n".join(text for text in (turn.reasoning, following.reasoning) if text) or None
    turn.calls = turn.calls + following.calls
    turn.part = following.part


def _same(turn: Turn, following: Turn) -> bool:
    return turn.content == following.content and turn.reasoning == following.reasoning and not turn.calls and not following.calls
