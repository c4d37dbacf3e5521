"""Questions and answers in columns, whatever type the columns have."""

import json
from typing import Any

import pytest

from core.dialects import RawRow, convert

ASKED = [{"role": "user", "content": "a"}]
SAID = [{"role": "assistant", "content": "b"}]


@pytest.mark.parametrize(
    "row",
    [
        {"prompt": json.dumps(ASKED), "completion": "b"},
        {"input": json.dumps(ASKED), "output": "b"},
        {"prompt": ASKED, "chosen": SAID, "rejected": SAID},
        {"prompt": json.dumps(ASKED), "chosen": json.dumps(SAID), "rejected": "[]"},
        {"chosen": json.dumps(ASKED + SAID), "rejected": "[]"},
        {"conversations": [{"from": "human", "value": "a"}], "chosen": {"from": "gpt", "value": "b"}, "rejected": {}},
        {"messages": [json.dumps(turn) for turn in ASKED + SAID]},
        {"conversation": [{"input": "a", "output": "b"}]},
    ],
)
def test_turns_are_found_in_columns_of_lists_and_of_their_json_text(row: Any):
    found = next(convert([RawRow(0, row)]))
    assert found.conversation is not None, found
    assert [(message.role, message.content) for message in found.conversation.messages] == [("user", "a"), ("assistant", "b")]


@pytest.mark.parametrize("history", [[["x", "y"]], [{"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}]])
def test_a_history_stands_before_the_question(history: Any):
    found = next(convert([RawRow(0, {"instruction": "a", "input": "", "output": "b", "history": history})]))
    assert found.conversation is not None, found
    assert [message.content for message in found.conversation.messages] == ["x", "y", "a", "b"]


def test_the_system_text_of_a_question_and_answer_turn_is_kept():
    found = next(convert([RawRow(0, {"conversation": [{"system": "s", "input": "a", "output": "b"}]})]))
    assert found.conversation is not None, found
    assert [message.role for message in found.conversation.messages] == ["system", "user", "assistant"]


def test_a_problem_with_only_its_gold_answer_is_a_prompt():
    assert next(convert([RawRow(0, {"problem": "a", "answer": "4"})])).status == "prompt_only"
