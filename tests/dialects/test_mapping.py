"""Columns mapped by hand."""

from typing import Any

import pytest

from core.dialects import BadMapping, ColumnMap, Outcome, RawRow, convert


def read(columns: list[str], *rows: Any) -> list[Outcome]:
    return list(convert([RawRow(position, row) for position, row in enumerate(rows)], ColumnMap.parse(columns).dialect()))


def messages(outcome: Outcome) -> list[tuple[str, str]]:
    assert outcome.conversation is not None
    return [(message.role, message.content) for message in outcome.conversation.messages]


def test_columns_of_any_name_make_a_conversation() -> None:
    row = {"frage": "Q?", "antwort": "A.", "rolle": "Be kind.", "gedanken": "hm", "dazu": "context", "rest": 1}
    (outcome,) = read(["prompt=frage", "response=antwort", "system=rolle", "reasoning=gedanken", "context=dazu"], row)
    assert messages(outcome) == [("system", "Be kind."), ("user", "Q?\n\ncontext"), ("assistant", "A.")]
    assert outcome.conversation is not None
    assert outcome.conversation.messages[2].reasoning_content == "hm"
    assert (outcome.dialect, outcome.raw, outcome.status) == ("mapped", row, "kept")


@pytest.mark.parametrize(
    "turns",
    [
        [{"from": "human", "value": "hi"}, {"from": "gpt", "value": "ho"}],
        [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}],
        '[{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}]',
        ["hi", "ho"],
    ],
)
def test_a_column_of_turns_is_read_whatever_they_look_like(turns: Any) -> None:
    (outcome,) = read(["messages=data.dialog", "tools=fns"], {"data": {"dialog": turns}, "fns": '[{"name": "f", "parameters": {}}]'})
    assert messages(outcome) == [("user", "hi"), ("assistant", "ho")]
    assert outcome.conversation is not None
    assert [tool["function"]["name"] for tool in outcome.conversation.tools] == ["f"]


def test_rows_without_an_answer_are_prompts() -> None:
    rows = [{"q": "one"}, {"q": "two", "a": ""}, {"q": "three", "a": None}]
    assert [outcome.status for outcome in read(["prompt=q", "response=a"], *rows)] == ["prompt_only"] * 3
    assert [outcome.status for outcome in read(["prompt=q"], *rows)] == ["prompt_only"] * 3


def test_what_is_wrong_is_said_in_the_users_own_columns() -> None:
    wrong = read(["prompt=q", "response=a"], {"x": 1}, {"q": "one", "a": {"b": 1}}, "text", {"q": True, "a": "x"})
    assert [(outcome.status, outcome.reason, outcome.field) for outcome in wrong] == [
        ("quarantined", "dialect_mismatch", None),
        ("quarantined", "bad_content", "a"),
        ("quarantined", "not_an_object", None),
        ("quarantined", "bad_content", "q"),
    ]
    (role,) = read(["messages=m"], {"m": [{"role": "alien", "content": "x"}]})
    assert (role.reason, role.field, role.detail) == ("unknown_role", "m[0].role", "alien")


@pytest.mark.parametrize(
    ("items", "message"),
    [
        (["question=q"], "nothing that a column can be mapped to"),
        (["prompt"], "is no mapping"),
        (["prompt="], "No column is named"),
        (["response=a"], "map messages, or prompt and response"),
        (["messages=m", "prompt=q"], "map either messages"),
        (["prompt=q", "reasoning=r"], "belongs to an answer"),
        (["prompt=q", "prompt=z"], "mapped twice"),
    ],
)
def test_a_mapping_that_reads_no_row_is_refused(items: list[str], message: str) -> None:
    with pytest.raises(BadMapping, match=message):
        ColumnMap.parse(items)


def test_a_row_that_the_mapping_cannot_read_never_raises() -> None:
    odd = [None, 1, [], {}, {"q": {}}, {"q": []}, {"q": [[]]}, {"q": "x", "a": [1]}, {"q": "\ud800", "a": "b"}]
    outcomes = read(["prompt=q", "response=a"], *odd)
    assert [outcome.row for outcome in outcomes] == list(range(len(odd)))
    assert outcomes[-1].status == "kept"
