"""Every repair and every reason there is: a row that needs it, and each switch that it has.

A code without a row here fails the first test, so none can be added without one.
"""

from typing import Any

import pytest

from core.dialects import CODES, Policy, RawRow, convert
from core.sources.ledger import Ledger

ASKED = {"role": "user", "content": "Which way?"}
SAID = {"role": "assistant", "content": "North."}
TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {"x": {"type": "integer"}}}}}


def talk(*turns: Any, **columns: Any) -> dict[str, Any]:
    return {"messages": list(turns), **columns}


def calls(*given: Any, results: tuple[str | None, ...] = ("1",)) -> dict[str, Any]:
    """A question, calls as they are given, a result for each id, an answer."""
    tools = [{"role": "tool", "content": "ok", **({"tool_call_id": name} if name is not None else {})} for name in results]
    return talk(ASKED, {"role": "assistant", "content": "", "tool_calls": list(given)}, *tools, SAID, tools=[TOOL])


def call(arguments: Any, name: str | None = "1") -> dict[str, Any]:
    return {**({"id": name} if name else {}), "type": "function", "function": {"name": "f", "arguments": arguments}}


def said(content: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content}


def oasst(name: str, parent: str | None, role: str, **more: Any) -> dict[str, Any]:
    known = {"text": f"text of {name}", "lang": "en", "deleted": False, "review_result": True, "rank": 0, "tree_state": "ready_for_export"}
    return {"message_id": name, "parent_id": parent, "role": role, "message_tree_id": "t", **known, **more}


DEEP: Any = "x"
for _ in range(3_000):
    DEEP = [DEEP]

PADDED = {
    "type": "function",
    "function": {"name": "f", "parameters": {"type": "object", "properties": {"x": {"type": "string"}, "y": None}}},
}
PYTHON = {"type": "function", "function": {"name": "f", "parameters": {"type": "dict", "properties": {"x": {"type": "float"}}}}}
PAGE = '<div class="markdown prose"><p>Go <strong>north</strong> first.</p><pre><code>ls</code></pre></div>'

ROWS: dict[str, list[Any]] = {
    "lone_surrogate_replaced": [talk(ASKED, said("No\ud800rth."))],
    "nul_removed": [talk(ASKED, said("No\0rth."))],
    "bom_removed": [talk(ASKED, said("\ufeffNorth."))],
    "non_finite_number_nulled": [calls(call({"x": float("nan")}))],
    "html_to_markdown": [
        {"conversations": [{"from": "human", "value": "Which way?"}, {"from": "gpt", "value": PAGE}], "id": "a_0"},
    ],
    "null_content_emptied": [talk(ASKED, {"role": "user", "content": None}, SAID)],
    "number_content_written": [talk(ASKED, said(42))],
    "content_parts_joined": [talk(ASKED, said([{"type": "text", "text": "North"}, {"type": "text", "text": "."}]))],
    "tool_result_serialised": [
        talk(
            ASKED,
            {"role": "assistant", "content": "", "tool_calls": [call({"x": 1})]},
            {"role": "tool", "content": {"a": 1}, "tool_call_id": "1"},
            SAID,
            tools=[TOOL],
        )
    ],
    "reasoning_merged": [talk(ASKED, {**said("<think>Left?</think>North."), "reasoning_content": "Right?"})],
    "row_decoded": ['{"instruction": "Which way?", "output": "North."}'],
    "row_unwrapped": [{"row_idx": 3, "row": talk(ASKED, SAID)}],
    "columns_to_turns": [{"messages": {"role": ["user", "assistant"], "content": ["Which way?", "North."]}}],
    "mixed_keys": [talk({"from": "human", "value": "Which way?"}, SAID)],
    "developer_as_system": [talk({"role": "developer", "content": "Be brief."}, ASKED, SAID)],
    "product_role_as_assistant": [{"conversations": [{"from": "human", "value": "a"}, {"from": "bing", "value": "b"}]}],
    "preference_chosen_only": [{"chosen": [ASKED, SAID], "rejected": [ASKED, said("South.")]}],
    "first_choice_taken": [{"input": [ASKED], "output": ["North.", "South."]}],
    "gold_answer_left_out": [{"question": "1 + 1?", "answer": "<<1+1=2>> #### 2"}],
    "empty_turn_dropped": [talk(ASKED, said(""), ASKED | {"content": "So?"}, SAID)],
    "repeated_turn_dropped": [talk(ASKED, ASKED, SAID)],
    "adjacent_users_merged": [talk(ASKED, {"role": "user", "content": "Well?"}, SAID)],
    "adjacent_assistants_merged": [talk(ASKED, SAID, said("Or east."))],
    "leading_turn_dropped": [talk(said("Hello."), ASKED, SAID)],
    "trailing_user_dropped": [talk(ASKED, SAID, {"role": "user", "content": "And then?"})],
    "blank_system_removed": [talk({"role": "system", "content": " "}, ASKED, SAID)],
    "systems_merged": [talk({"role": "system", "content": "One."}, {"role": "system", "content": "Two."}, ASKED, SAID)],
    "late_system_moved": [talk(ASKED, SAID, {"role": "system", "content": "Be brief."}, ASKED, SAID)],
    "arguments_from_json": [calls(call('{"x": 1}'))],
    "arguments_from_python": [calls(call("{'x': True}"))],
    "arguments_decoded_twice": [calls(call('"{\\"x\\": 1}"'))],
    "missing_arguments_emptied": [calls(call("null"))],
    "tool_calls_decoded": [
        talk(
            ASKED,
            {"role": "assistant", "content": "", "tool_calls": '[{"id": "1", "function": {"name": "f", "arguments": {"x": 1}}}]'},
            tools=[TOOL],
        )
    ],
    "flat_tool_call_wrapped": [calls({"id": "1", "name": "f", "arguments": {"x": 1}})],
    "repeated_call_text_dropped": [
        talk(
            ASKED,
            {"role": "assistant", "content": '<tool_call>{"name": "f", "arguments": {"x": 1}}</tool_call>', "tool_calls": [call({"x": 1})]},
            tools=[TOOL],
        )
    ],
    "call_ids_assigned": [calls(call({"x": 1}, None), results=(None,))],
    "duplicate_call_id_renamed": [calls(call({"x": 1}), call({"x": 2}), results=("1", "1"))],
    "dangling_call_id_relinked": [calls(call({"x": 1}), results=("other",))],
    "tools_decoded_twice": [
        talk(ASKED, SAID, tools='"[{\\"type\\": \\"function\\", \\"function\\": {\\"name\\": \\"f\\", \\"parameters\\": {}}}]"')
    ],
    "null_padding_removed": [talk(ASKED, SAID, tools=[PADDED])],
    "schema_types_renamed": [talk(ASKED, SAID, tools=[PYTHON])],
    "not_an_object": [7],
    "cells_cut": [{"row_idx": 3, "row": talk(ASKED, SAID), "truncated_cells": ["messages"]}],
    "unknown_dialect": [{"colour": "blue"}],
    "too_deeply_nested": [calls(call({"x": DEEP}))],
    "pretokenized": [{"input_ids": [1, 2], "loss_mask": [0, 1]}],
    "no_messages": [{"messages": []}],
    "bad_messages": [{"messages": "nothing"}],
    "bad_message": [talk(ASKED, "North.")],
    "missing_role": [talk(ASKED, {"content": "North."})],
    "unknown_role": [talk(ASKED, SAID, {"role": "alien", "content": "beep"})],
    "bad_content": [talk(ASKED, said(True))],
    "non_text_content": [
        talk({"role": "user", "content": [{"type": "text", "text": "See"}, {"type": "image_url", "image_url": {"url": "a"}}]}, SAID)
    ],
    "no_user": [talk(SAID)],
    "empty_assistant": [talk(ASKED, said(""))],
    "unbalanced_think": [talk(ASKED, said("<think>Left or right?"))],
    "bad_tool_arguments": [calls(call('{"x": '))],
    "bad_tool_calls": [talk(ASKED, {"role": "assistant", "content": "", "tool_calls": [{"id": "1"}]})],
    "bad_call_text": [talk(ASKED, said('<tool_call>{"name": "f", "arguments": </tool_call>'), tools=[TOOL])],
    "orphan_tool_result": [talk(ASKED, {"role": "tool", "content": "ok"}, SAID)],
    "dangling_call_id": [calls(call({"x": 1}), call({"x": 2}, "2"), results=("9",))],
    "bad_tools": [talk(ASKED, SAID, tools="[{")],
    "unknown_template_text": [{"text": "<|start|>user<|message|>Which way?"}],
    "orphan_message": [oasst("b", "gone", "assistant")],
    "duplicate_message": [oasst("a", None, "prompter"), oasst("b", "a", "assistant"), oasst("b", "a", "assistant")],
}
"""Code -> raw rows of which one needs it."""

ELSEWHERE = {"bad_json", "bad_encoding", "unreadable", "unforeseen", "dialect_mismatch"}
"""What readers say of a row, what nobody foresees, and what only a dialect that was asked for refuses: other tests have them."""


def outcomes(code: str, action: str | None) -> Any:
    policy = Policy({code: action}) if action else Policy()  # type: ignore[dict-item]
    return list(convert((RawRow(number, row) for number, row in enumerate(ROWS[code])), policy=policy))


def test_every_code_has_a_row_that_needs_it() -> None:
    assert set(ROWS) | ELSEWHERE == set(CODES)


@pytest.mark.parametrize(("code", "action"), [(code, action) for code in ROWS for action in CODES[code].actions])
def test_every_switch_does_what_it_says_and_is_counted(code: str, action: str) -> None:
    found = outcomes(code, action)
    ledger = Ledger(raw_rows=len(ROWS[code]))
    for outcome in found:
        ledger.add(outcome)
    ledger.check()
    repaired = any(code in outcome.repairs for outcome in found)
    assert (ledger.reasons.get(code, 0) == 1) == (action == "quarantine"), found
    assert repaired == (action == "repair"), found
    if action == "repair" and any(outcome.conversation for outcome in found):
        assert ledger.repaired[code] == 1


@pytest.mark.parametrize("code", ROWS)
def test_what_is_done_without_a_policy_is_the_default_of_the_code(code: str) -> None:
    assert [outcome.to_json() for outcome in outcomes(code, None)] == [outcome.to_json() for outcome in outcomes(code, CODES[code].default)]
