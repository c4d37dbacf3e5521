"""Turns as an object of lists, the way column stores write a list of objects; and blank system texts."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.dialects import Outcome, RawRow, convert

TURNS = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]


def outcome(row: Any) -> Outcome:
    return next(convert([RawRow(0, row)]))


def columnar(turns: list[dict[str, Any]]) -> dict[str, list[Any]]:
    return {key: [turn.get(key) for turn in turns] for key in turns[0]}


@pytest.mark.parametrize("key", ["messages", "conversations", "conversation", "dialog"])
@given(texts=st.lists(st.text(st.characters(exclude_categories=["C"], exclude_characters="<["), min_size=1), min_size=2, max_size=6))
def test_an_object_of_lists_is_the_list_it_was_made_from(key: str, texts: list[str]):
    turns = [{"role": ("user", "assistant")[index % 2], "content": text} for index, text in enumerate(texts)]
    listed, columns = outcome({key: turns}), outcome({key: columnar(turns)})
    assert (columns.status, columns.reason, columns.dialect) == (listed.status, listed.reason, listed.dialect)
    assert columns.conversation == listed.conversation
    assert columns.repairs == ("columns_to_turns", *listed.repairs)


@pytest.mark.parametrize(
    "row",
    [
        {"conversations": {"from": ["human", "gpt"], "value": ["a", "b"]}},
        {"messages": '{"role": ["user", "assistant"], "content": ["a", "b"]}'},
        {"prompt": {"role": ["user"], "content": ["a"]}, "completion": "b"},
        {"chosen": columnar(TURNS), "rejected": columnar(TURNS)},
    ],
)
def test_columns_of_turns_are_read_wherever_turns_stand(row: dict[str, Any]):
    found = outcome(row)
    assert found.conversation is not None, found
    assert [(message.role, message.content) for message in found.conversation.messages] == [("user", "a"), ("assistant", "b")]
    assert "columns_to_turns" in found.repairs


def test_lists_of_unlike_length_are_no_turns():
    assert outcome({"messages": {"role": ["user", "assistant"], "content": ["a"]}}).status == "quarantined"


@pytest.mark.parametrize(
    "row",
    [
        {"system_prompt": "", "question": "a", "response": "b"},
        {"system": " ", "instruction": "a", "output": "b"},
        {"system": "", "chat": "USER: a\n\n\nASSISTANT: b <|endoftext|>"},
        {"system": "", "messages": TURNS},
        {"system": "", "conversations": [{"from": "human", "value": "a"}, {"from": "gpt", "value": "b"}]},
        {"conversation": [{"system": "", "input": "a", "output": "b"}]},
        {"messages": [{"role": "system", "content": None}, *TURNS]},
        {"system_prompt": "", "prompt": "a", "response": "b"},
    ],
)
def test_a_blank_system_text_that_goes_is_counted(row: dict[str, Any]):
    found = outcome(row)
    assert found.conversation is not None
    assert [message.role for message in found.conversation.messages] == ["user", "assistant"]
    assert "blank_system_removed" in found.repairs
