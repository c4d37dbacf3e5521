"""JSON files whose rows are not the top level: wrapped in an object, or one conversation alone."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.sources import read_rows
from core.sources.readers import streams
from tests.sources.conftest import talk

TALKS = [talk(f"question {number}", "An answer. " * 40) for number in range(60)]
PAIR = {"instruction": "a", "output": "b"}


def values(path: Path, value: Any, indent: int | None) -> list[Any]:
    path.write_text(json.dumps(value, indent=indent))
    rows = list(read_rows(path))
    assert [row.position for row in rows] == list(range(len(rows)))
    assert all(row.problem is None for row in rows)
    return [row.value for row in rows]


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("chunk", [7, 1 << 20])
def test_rows_in_a_list_of_an_object_are_its_rows(tmp_path: Path, indent: int | None, chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "CHUNK", chunk)
    about = {"version": "1", "tools": [{"name": "f"}], "features": [{"name": "messages"}]}
    assert values(tmp_path / "w.json", {**about, "data": TALKS, "meta": {"a": [1]}}, indent) == TALKS
    assert values(tmp_path / "w.json", {"train": TALKS[:3], "note": "x", "test": TALKS[3:5]}, indent) == TALKS[:5]
    assert values(tmp_path / "w.json", {"rows": [PAIR] * 4}, indent) == [PAIR] * 4
    assert values(tmp_path / "w.json", {"conversations": TALKS}, indent) == TALKS


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize(
    "row", [TALKS[0], {**TALKS[0], "tools": [{"name": "f", "parameters": {}}]}, {"conversation": [{"input": "a", "output": "b"}]}, PAIR]
)
def test_a_conversation_alone_in_its_file_is_one_row(tmp_path: Path, row: dict[str, Any], indent: int | None) -> None:
    assert values(tmp_path / "one.json", row, indent) == [row]


@pytest.mark.parametrize("name", ["one.json", "one.jsonl"])
@pytest.mark.parametrize("indent", [None, 1])
def test_a_list_of_turns_alone_in_its_file_is_one_row(tmp_path: Path, name: str, indent: int | None) -> None:
    turns = TALKS[0]["messages"]
    assert values(tmp_path / name, turns, indent) == [turns]
    assert values(tmp_path / name, [turns, turns], indent) == [turns, turns]


def test_message_rows_of_trees_stay_rows(tmp_path: Path) -> None:
    rows = [{"message_id": "1", "parent_id": None, "role": "prompter", "text": "a"}]
    assert values(tmp_path / "tree.json", rows * 2, None) == rows * 2


def test_a_broken_row_in_a_wrapped_list_costs_itself(tmp_path: Path) -> None:
    text = json.dumps({"data": TALKS[:4]}, indent=1).replace('"question 1"', '"question 1')
    (tmp_path / "w.json").write_text(text)
    assert [row.problem for row in read_rows(tmp_path / "w.json")] == [None, "bad_json", None, None]
    (tmp_path / "w.json").write_text(json.dumps({"data": TALKS[:4]})[:-40])
    assert [row.problem for row in read_rows(tmp_path / "w.json")][:4] == [None, None, None, "bad_json"]


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(value=st.recursive(st.none() | st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_any_other_object_is_one_row_as_it_stands(tmp_path: Path, value: Any) -> None:
    assert values(tmp_path / "any.json", {"only": value}, None) == [{"only": value}]
