"""JSON files whose rows are not the top level: wrapped in an object, or one conversation alone."""

import json
from pathlib import Path
from typing import Any

import pandas
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.dialects import Policy, convert
from core.sources import UnreadableSource, read_rows
from core.sources.readers import json_columns, streams
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


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("chunk", [7, 1 << 20])
def test_an_object_of_rows_under_their_ids_gives_them_with_the_ids(
    tmp_path: Path, indent: int | None, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "CHUNK", chunk)
    keyed = {f'a "{number}"': row for number, row in enumerate(TALKS)}
    wanted = [{"id": key, **row} for key, row in keyed.items()]
    assert values(tmp_path / "k.json", keyed, indent) == wanted
    assert values(tmp_path / "k.json", {"x": {"id": 7, **TALKS[0]}}, indent) == [{"id": 7, **TALKS[0]}]
    assert values(tmp_path / "k.json", {"x": PAIR, "y": PAIR}, indent) == [{"id": "x", **PAIR}, {"id": "y", **PAIR}]
    chosen = {"chosen": TALKS[0]["messages"], "rejected": TALKS[1]["messages"]}
    assert values(tmp_path / "k.json", chosen, indent) == [chosen]


@pytest.mark.parametrize("indent", [None, 1])
def test_a_broken_row_under_its_id_costs_itself_and_a_cut_object_is_told(tmp_path: Path, indent: int | None) -> None:
    keyed = {str(number): row for number, row in enumerate(TALKS[:6])}
    text = json.dumps(keyed, indent=indent).replace('"question 3"', "question")
    path = tmp_path / "k.json"
    path.write_text(text)
    found = list(read_rows(path))
    assert [(row.position, row.problem) for row in found] == [(number, "bad_json" if number == 3 else None) for number in range(6)]
    path.write_text(text[: text.index('"5"')])
    assert [row.problem for row in read_rows(path)] == [None, None, None, "bad_json", None, "unreadable"]


@pytest.mark.parametrize("indent", [None, 2])
def test_columns_become_rows_in_every_form_that_pandas_writes(tmp_path: Path, indent: int | None) -> None:
    frame = pandas.DataFrame({"messages": [row["messages"] for row in TALKS[:9]], "source": list("abcdefghi")})
    rows = frame.to_dict(orient="records")
    for orient in ("columns", "split", "records", "table", "index"):
        found = values(tmp_path / f"{orient}.json", json.loads(frame.to_json(orient=orient)), indent)
        assert [{key: row[key] for key in ("messages", "source")} for row in found] == rows, orient
    assert values(tmp_path / "lists.json", frame.to_dict(orient="list"), indent) == rows
    pairs = [{"prompt": f"p{number}", "response": f"r{number}"} for number in range(3)]
    assert values(tmp_path / "pairs.json", {key: [pair[key] for pair in pairs] for key in ("prompt", "response")}, indent) == pairs
    same_length = {"messages": TALKS[0]["messages"], "tools": [{"name": "f"}, {"name": "g"}]}
    assert values(tmp_path / "one.json", same_length, indent) == [same_length]


def test_columns_too_large_to_be_turned_are_refused_with_the_way_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_columns, "MOST", 1_000)
    path = tmp_path / "wide.json"
    pandas.DataFrame({"messages": [row["messages"] for row in TALKS]}).to_json(path)
    with pytest.raises(UnreadableSource, match="row by row"):
        read_rows(path)


def test_rows_of_a_datasets_server_are_taken_out_of_their_envelope(tmp_path: Path) -> None:
    envelopes = [{"row_idx": number, "row": row, "truncated_cells": []} for number, row in enumerate(TALKS)]
    envelopes[2]["truncated_cells"] = ["messages"]
    answer = {"features": [{"feature_idx": 0, "name": "messages"}], "rows": envelopes, "num_rows_total": 60, "partial": False}
    assert values(tmp_path / "rows.json", answer, None) == envelopes
    outcomes = list(convert(read_rows(tmp_path / "rows.json")))
    assert [(outcome.status, outcome.reason) for outcome in outcomes[:4]] == [
        ("kept", None),
        ("kept", None),
        ("quarantined", "cells_cut"),
        ("kept", None),
    ]
    assert outcomes[0].repairs == ("row_unwrapped",)
    kept = list(convert(read_rows(tmp_path / "rows.json"), policy=Policy({"cells_cut": "keep"})))
    assert kept[2].status == "kept"
