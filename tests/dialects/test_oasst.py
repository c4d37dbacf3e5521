"""Trees of messages, in this project's own words: the best path, and every row accounted for."""

import json
from typing import Any

from core.dialects import Outcome, RawRow, convert


def row(name: Any, parent: Any, role: str, **more: Any) -> dict[str, Any]:
    return {"message_id": name, "parent_id": parent, "text": f"{name}", "role": role, "message_tree_id": "t", "rank": None, **more}


def outcomes(*rows: Any) -> list[Outcome]:
    return list(convert([RawRow(position, value) for position, value in enumerate(rows)]))


def path(found: Outcome) -> list[str]:
    assert found.conversation is not None, found
    return [message.content for message in found.conversation.messages]


def test_trees_become_their_best_path_wherever_their_rows_stand():
    rows = [
        row("b1", "b", "assistant", rank=0, deleted=True),
        row("a2", "a1", "prompter", rank=0),
        row("a", None, "prompter"),
        row("b2", "b", "assistant", rank=2),
        row("a1", "a", "assistant", rank=1),
        row("b", None, "prompter"),
        row("a3", "a1", "prompter", rank=1),
        row("a4", "a3", "assistant"),
        row("x", "gone", "assistant"),
        row("c", None, "prompter", tree_state="growing"),
    ]
    found = outcomes(*rows)
    assert [outcome.row for outcome in found] == list(range(len(rows)))
    assert [(outcome.status, outcome.reason) for outcome in found] == [
        ("not_chosen", "deleted"),
        ("not_chosen", "lower_rank"),
        ("kept", None),
        ("used", None),
        ("used", None),
        ("kept", None),
        ("used", None),
        ("used", None),
        ("quarantined", "orphan_message"),
        ("not_chosen", "not_ready"),
    ]
    assert path(found[2]) == ["a", "a1", "a3", "a4"]


def test_columns_of_text_as_a_csv_file_has_them_mean_the_same():
    found = outcomes(
        row("a", "", "prompter", deleted="False", review_result="True"),
        row("b", "a", "assistant", rank="0", deleted="True"),
        row("c", "a", "assistant", rank="2", review_result=""),
        row("d", "a", "assistant", rank="1", review_result="False"),
        row("e", "a", "assistant", rank="1.0"),
    )
    assert path(found[0]) == ["a", "e"]
    assert [(outcome.status, outcome.reason) for outcome in found[1:]] == [
        ("not_chosen", "deleted"),
        ("not_chosen", "lower_rank"),
        ("not_chosen", "review_failed"),
        ("used", None),
    ]


def test_ids_may_be_numbers_and_a_message_without_one_is_quarantined():
    found = outcomes(row(1, None, "prompter"), row(2, 1, "assistant"), row(None, None, "prompter"), row(3, None, "prompter"))
    assert [(outcome.status, outcome.reason) for outcome in found] == [
        ("kept", None),
        ("used", None),
        ("quarantined", "bad_message"),
        ("prompt_only", None),
    ]


def test_message_rows_that_are_json_text_are_read():
    found = outcomes(json.dumps(row("a", None, "prompter")), json.dumps(row("b", "a", "assistant")))
    assert (path(found[0]), found[1].status) == (["a", "b"], "used")


def test_all_rows_of_a_path_that_makes_no_conversation_are_quarantined():
    found = outcomes(row("a", None, "prompter"), row("b", "a", "assistant", text=None))
    assert [(outcome.status, outcome.reason) for outcome in found] == [("quarantined", "empty_assistant")] * 2
