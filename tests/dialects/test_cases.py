"""The reference cases: every dialect gives exactly its wanted conversation, every broken kind its wanted handling."""

import json
from pathlib import Path
from typing import Any

import pytest

from core.dialects import Outcome, RawRow, convert, detect

Case = dict[str, Any]


def cases(path: Path) -> list[Case]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def outcomes(case: Case) -> list[Outcome]:
    raws = case["raw"] if isinstance(case["raw"], list) else [case["raw"]]
    return list(convert([RawRow(position, raw) for position, raw in enumerate(raws)]))


def canonical(outcome: Outcome) -> dict[str, Any] | None:
    return outcome.conversation.to_json() if outcome.conversation else None


def test_every_dialect_gives_its_wanted_conversation(shared: Path):
    for case in cases(shared / "cases" / "dialects.jsonl"):
        if case["name"] != "pretokenized":
            assert canonical(outcomes(case)[0]) == case["normalized"], case["id"]


def test_every_dialect_is_recognised_by_its_name(shared: Path):
    for case in cases(shared / "cases" / "dialects.jsonl"):
        assert outcomes(case)[0].dialect == case["name"], case["id"]
        raws = case["raw"] if isinstance(case["raw"], list) else [case["raw"]]
        assert detect([RawRow(position, raw) for position, raw in enumerate(raws)]).dialect == case["name"]


def test_every_wanted_conversation_is_canonical_itself(shared: Path):
    for case in cases(shared / "cases" / "dialects.jsonl"):
        if case["name"] != "pretokenized":
            again = outcomes({"raw": case["normalized"]})[0]
            assert (canonical(again), again.repairs) == (case["normalized"], ()), case["id"]


def test_token_ids_are_never_mixed_with_text(shared: Path):
    case = next(case for case in cases(shared / "cases" / "dialects.jsonl") if case["name"] == "pretokenized")
    assert [(outcome.status, outcome.reason) for outcome in outcomes(case)] == [("quarantined", "pretokenized")]


WANTED: dict[str, tuple[str, str]] = {
    "M01": ("quarantined", "empty_assistant"),
    "M03": ("kept", "leading_turn_dropped"),
    "M04": ("kept", "adjacent_assistants_merged"),
    "M06": ("kept", "arguments_from_json"),
    "M07": ("kept", "arguments_from_python"),
    "M09": ("quarantined", "bad_tool_arguments"),
    "M10": ("kept", "null_content_emptied"),
    "M12": ("kept", "call_ids_assigned"),
    "M14": ("quarantined", "no_user"),
    "M16": ("kept", "developer_as_system"),
    "M17": ("kept", ""),
    "M18": ("quarantined", "unknown_dialect"),
    "M20": ("quarantined", "unknown_dialect"),
    "M23": ("quarantined", "unbalanced_think"),
    "M24": ("kept", "call_ids_assigned"),
    "M26": ("kept", "product_role_as_assistant"),
    "M27": ("kept", "html_to_markdown"),
    "M29": ("kept", "blank_system_removed"),
}
"""By case: the status, and the reason or one of the repairs."""


def test_every_broken_kind_is_handled_as_wanted(shared: Path):
    for case in cases(shared / "cases" / "malformed.jsonl"):
        status, code = WANTED[case["id"]]
        outcome = outcomes(case)[0]
        assert outcome.status == status, case["id"]
        assert code in ((outcome.reason,) if status == "quarantined" else (*outcome.repairs, "")), case["id"]


def test_text_of_the_broken_kinds_comes_out_as_wanted(shared: Path):
    by_id = {case["id"]: case for case in cases(shared / "cases" / "malformed.jsonl")}

    def contents(case_id: str) -> list[str]:
        conversation = outcomes(by_id[case_id])[0].conversation
        assert conversation is not None
        return [message.content for message in conversation.messages]

    assert contents("M17")[0] == by_id["M17"]["raw"]["messages"][0]["content"]
    assert contents("M24")[-1] == by_id["M24"]["raw"]["messages"][-1]["content"]
    assert contents("M27") == ["Hi", "Hello"]
    assert contents("M03") == ["q", "a"]


@pytest.mark.parametrize("value", [None, 1, True, "text", [], {}, [1], {"a": {"b": []}}])
def test_a_value_without_any_known_shape_is_quarantined(value: Any):
    assert [outcome.status for outcome in convert([RawRow(7, value)])] == ["quarantined"]
