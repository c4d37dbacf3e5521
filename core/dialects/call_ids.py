"""Which result belongs to which call: every call gets an id of its own, every result the id of its call.

By id where ids say so, else by name, else by position within the group of calls. It does not know arguments or results.
"""

from dataclasses import dataclass

from core.dialects.draft import Call, Turn
from core.dialects.handling import Handling


@dataclass(slots=True, eq=False)
class _Open:
    """A call that waits for its result, with the id that its row gave it."""

    call: Call
    raw_id: str | None


def link_calls(turns: list[Turn], handling: Handling) -> list[Turn]:
    """Gives ids in place and returns the turns, without results that the policy drops.

    Raises `Quarantined` with `orphan_tool_result` or `dangling_call_id`.
    """
    if all(not turn.calls and turn.role != "tool" for turn in turns):
        return turns
    taken = {call.id for turn in turns for call in turn.calls if call.id}
    used: set[str] = set()
    waiting: list[_Open] = []
    late: dict[str, _Open] = {}
    linked: list[Turn] = []
    index = count = 0
    while index < len(turns):
        turn = turns[index]
        if turn.role != "tool":
            if turn.calls:
                opened, count = _name_calls(turn, count, taken, used, handling)
                if not index or not turns[index - 1].calls:
                    late.update((item.raw_id, item) for item in waiting if item.raw_id is not None)
                    waiting = []
                waiting += opened
            linked.append(turn)
            index += 1
            continue
        run = [turn]
        while index + len(run) < len(turns) and turns[index + len(run)].role == "tool":
            run.append(turns[index + len(run)])
        linked += _link_run(run, waiting, late, handling)
        index += len(run)
    return linked


def _name_calls(turn: Turn, count: int, taken: set[str], used: set[str], handling: Handling) -> tuple[list[_Open], int]:
    opened: list[_Open] = []
    for call in turn.calls:
        raw_id = call.id
        if raw_id is None or raw_id in used:
            if raw_id is not None:
                handling.repair("duplicate_call_id_renamed", raw_id, turn.field)
            elif not call.native:
                handling.repair("call_ids_assigned", field=turn.field)
            call.id = _free(count, taken)
            taken.add(call.id)
        assert call.id is not None
        used.add(call.id)
        opened.append(_Open(call, raw_id))
        count += 1
    return opened, count


def _free(number: int, taken: set[str]) -> str:
    while f"call_{number}" in taken:
        number += 1
    return f"call_{number}"


def _link_run(run: list[Turn], waiting: list[_Open], late: dict[str, _Open], handling: Handling) -> list[Turn]:
    """Results that stand together are linked together, so that those with ids do not lose their call to those without.

    `waiting` are the calls of the last group, `late` unanswered ones of earlier groups, which only an id can reach.
    """
    answers: dict[int, _Open] = {}
    for index, turn in enumerate(run):
        if turn.call_id is not None:
            _take(answers, index, waiting, [item for item in waiting if item.raw_id == turn.call_id])
            if index not in answers and turn.call_id in late:
                answers[index] = late.pop(turn.call_id)
    for index, turn in enumerate(run):
        if index not in answers and turn.name is not None:
            named = [item for item in waiting if item.call.name == turn.name]
            _take(answers, index, waiting, named if len(named) == 1 or turn.call_id is None else [])
    rest = [index for index in range(len(run)) if index not in answers]
    ambiguous = len(rest) != len(waiting) and any(run[index].call_id is not None for index in rest)
    for index in rest:
        turn = run[index]
        if not waiting:
            handling.refuse("orphan_tool_result", turn.content, turn.field)
        elif turn.call_id is not None and ambiguous:
            handling.refuse("dangling_call_id", turn.call_id, turn.field)
        else:
            _take(answers, index, waiting, waiting)
    for index, item in answers.items():
        turn = run[index]
        if turn.call_id is None and not turn.native:
            handling.repair("call_ids_assigned", field=turn.field)
        elif turn.call_id is not None and turn.call_id != item.raw_id:
            handling.repair("dangling_call_id_relinked", turn.call_id, turn.field)
        turn.call_id = item.call.id
    return [turn for index, turn in enumerate(run) if index in answers]


def _take(answers: dict[int, _Open], index: int, waiting: list[_Open], fitting: list[_Open]) -> None:
    if fitting:
        answers[index] = fitting[0]
        waiting.remove(fitting[0])
