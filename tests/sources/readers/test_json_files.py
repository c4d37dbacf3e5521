"""JSON and JSON Lines in every layout, whole and broken."""

import gzip
import json
from pathlib import Path

import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.sources import UnreadableSource, read_lines, read_rows
from core.sources.readers import streams

ROWS = [{"id": 1, "text": 'a "quoted" } ] word'}, {"id": 2, "parts": [{"x": [1, {"y": None}]}, "é𝄞"]}, {"id": 3, "big": 2**70, "real": 0.1}]


def values(path: Path) -> list:
    rows = list(read_rows(path))
    assert [row.position for row in rows] == list(range(len(rows)))
    assert all(row.problem is None for row in rows)
    return [row.value for row in rows]


def outcomes(path: Path) -> list:
    return [row.problem or row.value for row in read_rows(path)]


LAYOUTS = {
    "lines": lambda rows: "\n".join(json.dumps(row) for row in rows),
    "lines, raw letters, CRLF, blank lines": lambda rows: "\r\n\r\n".join(json.dumps(row, ensure_ascii=False) for row in rows) + "\r\n",
    "array on one line": json.dumps,
    "array, indented": lambda rows: json.dumps(rows, indent=2),
    "array, one row a line": lambda rows: "[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n",
    "array, first row beside the bracket": lambda rows: "[" + ",\n ".join(json.dumps(row) for row in rows) + "]",
    "objects over several lines": lambda rows: "\n".join(json.dumps(row, indent=4) for row in rows),
}


@pytest.mark.parametrize("name", ["rows.json", "rows.jsonl"])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("bom", ["", "\ufeff"])
def test_every_layout_gives_the_same_rows(tmp_path: Path, layout: str, name: str, bom: str) -> None:
    path = tmp_path / name
    path.write_text(bom + LAYOUTS[layout](ROWS), encoding="utf-8", newline="")
    assert values(path) == ROWS


def test_a_single_object_is_one_row(tmp_path: Path) -> None:
    for text in ('{"a": 1}', '{\n  "a": 1\n}'):
        (tmp_path / "one.json").write_text(text)
        assert values(tmp_path / "one.json") == [{"a": 1}]


def test_lines_that_are_lists_are_rows_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "lists.jsonl").write_text('[{"role": "user"}]\n[{"role": "user"}, {"role": "assistant"}]\n')
    assert [len(value) for value in values(tmp_path / "lists.jsonl")] == [1, 2]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(st.dictionaries(st.text(max_size=5), json_values, max_size=4), min_size=2, max_size=6), chunk=st.integers(1, 40))
@pytest.mark.parametrize("layout", [layout for layout in LAYOUTS if "raw letters" not in layout])
def test_any_rows_survive_any_layout_and_any_chunking(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, layout: str, rows: list, chunk: int
) -> None:
    monkeypatch.setattr(streams, "CHUNK", chunk)
    path = tmp_path / "rows.json"
    path.write_text(LAYOUTS[layout](rows))
    assert values(path) == rows


def test_lone_surrogates_are_read_as_they_are(tmp_path: Path) -> None:
    for text in ('{"a": "x\\ud800y"}\n{"a": "\\udfff"}', '[{"a": "x\\ud800y"}, {"a": "\\udfff"}]'):
        (tmp_path / "rows.jsonl").write_text(text)
        assert values(tmp_path / "rows.jsonl") == [{"a": "x\ud800y"}, {"a": "\udfff"}]


def test_not_a_number_is_read_so_that_conversion_can_count_it(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text('{"a": NaN}\n{"a": -Infinity}')
    assert [str(value["a"]) for value in values(tmp_path / "rows.jsonl")] == ["nan", "-inf"]


@pytest.mark.parametrize(
    ("bad", "problem", "says"),
    [
        (b'{"a": 1', "bad_json", "line 2"),
        (b"not json", "bad_json", "Expecting value"),
        (b"{'a': 1}", "bad_json", "double quotes"),
        (b'{"a": "\xff"}', "bad_encoding", "0xff at byte 8"),
        (b'\xef\xbb\xbf{"a": 2}', "bad_json", "byte order mark"),
        (b"[" * 100_000, "bad_json", "nested too deeply"),
        (b'{"a": "x\x00"}', "bad_json", "control character"),
        (b'{"a": ' + b"9" * 10_000 + b"}", "bad_json", "line 2"),
    ],
)
def test_a_bad_line_costs_itself(tmp_path: Path, bad: bytes, problem: str, says: str) -> None:
    (tmp_path / "rows.jsonl").write_bytes(b'{"a": 1}\n' + bad + b'\n{"a": 3}\n')
    first, broken, last = read_rows(tmp_path / "rows.jsonl")
    assert (first.value, last.value, last.position) == ({"a": 1}, {"a": 3}, 2)
    assert (broken.problem, broken.position) == (problem, 1)
    assert "rows.jsonl line 2" in str(broken.detail)
    assert says in str(broken.detail)
    assert len(str(broken.value)) <= 2_000


def test_a_first_line_that_is_bad_does_not_turn_lines_into_something_else(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text('{"a": oops}\n{"a": 2}\n{"a": 3}\n')
    assert outcomes(tmp_path / "rows.jsonl") == ["bad_json", {"a": 2}, {"a": 3}]


def test_a_file_of_only_bad_lines_is_read_line_by_line(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text("{'a': 1}\n{'a': 2}\n{'a': 3}\n")
    assert outcomes(tmp_path / "rows.jsonl") == ["bad_json"] * 3


def test_a_line_that_is_no_object_is_still_a_row(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text('{"a": 1}\nnull\n17\n"text"\n')
    assert values(tmp_path / "rows.jsonl") == [{"a": 1}, None, 17, "text"]


@pytest.mark.parametrize("cut", range(1, 40))
def test_rows_before_the_break_of_a_cut_array_are_kept_and_the_break_is_one_row(tmp_path: Path, cut: int) -> None:
    text = json.dumps([{"id": index, "text": "word " * 3} for index in range(4)])
    path = tmp_path / "rows.json"
    path.write_text(text[:-cut])
    found = outcomes(path)
    whole = [json.loads(part) for part in (json.dumps(row) for row in json.loads(text)) if part in text[:-cut]]
    assert found == [*whole, "bad_json" if found[-1] == "bad_json" else "unreadable"]


@pytest.mark.parametrize("layout", ["array on one line", "array, indented", "array, one row a line"])
@pytest.mark.parametrize("broken", ['"id": 2', '"id": 2,,', "'id': 2", '"id": "2', '"id": [2', '"id": oops'])
def test_a_broken_element_costs_itself(tmp_path: Path, layout: str, broken: str) -> None:
    rows = [{"id": index, "text": "word, [word] {word}"} for index in range(1, 5)]
    text = LAYOUTS[layout](rows)
    wrong = text.replace('"id": 2', broken if broken != '"id": 2' else '"id" 2')
    (tmp_path / "rows.json").write_text(wrong)
    found = outcomes(tmp_path / "rows.json")
    if layout == "array on one line" and broken in ('"id": "2', '"id": [2'):
        # Nothing says where the row ends when its own quotes or brackets are what is broken.
        assert found[:2] == [rows[0], "bad_json"]
    else:
        assert found == [rows[0], "bad_json", *rows[2:]]


def test_a_wrong_byte_inside_an_array_costs_its_row(tmp_path: Path) -> None:
    (tmp_path / "rows.json").write_bytes(b'[{"a": "x"},\n{"a": "\xff"},\n{"a": "z"}]')
    rows = list(read_rows(tmp_path / "rows.json"))
    assert [row.problem or row.value for row in rows] == [{"a": "x"}, "bad_encoding", {"a": "z"}]
    assert rows[1].detail == "rows.json line 2: byte 0xff is not UTF-8"


def test_text_around_rows_is_not_swallowed(tmp_path: Path) -> None:
    (tmp_path / "rows.json").write_text('[{"a": 1} oops, {"a": 2}}, {"a": 3}] trailing')
    assert outcomes(tmp_path / "rows.json") == [{"a": 1}, "bad_json", {"a": 2}, "bad_json", {"a": 3}, "bad_json"]


def packed(data: bytes, kind: str) -> bytes:
    return gzip.compress(data) if kind == "gz" else zstandard.ZstdCompressor().compress(data)


@pytest.mark.parametrize("kind", ["gz", "zst"])
@pytest.mark.parametrize("name", ["rows.jsonl", "rows.json"])
def test_compressed_files_are_read_across_their_members(tmp_path: Path, kind: str, name: str) -> None:
    path = tmp_path / f"{name}.{kind}"
    lines = [json.dumps(row).encode() + b"\n" for row in ROWS]
    path.write_bytes(packed(lines[0] + lines[1], kind) + packed(lines[2], kind))
    assert values(path) == ROWS


@pytest.mark.parametrize("kind", ["gz", "zst"])
def test_a_cut_compressed_file_keeps_what_came_before_the_break(tmp_path: Path, kind: str) -> None:
    rows = [{"id": index, "hash": f"{index * 2654435761 % 2**32:08x}" * 20} for index in range(20_000)]
    data = packed("".join(json.dumps(row) + "\n" for row in rows).encode(), kind)
    path = tmp_path / f"rows.jsonl.{kind}"
    path.write_bytes(data[: len(data) * 3 // 4])
    *kept, last = read_rows(path)
    good = [row.value for row in kept if row.problem is None]
    assert len(good) > 1_000
    assert good == rows[: len(good)]
    assert (last.problem, last.value) == ("unreadable", None)
    assert "ends early" in str(last.detail)
    assert len(kept) - len(good) <= 1


def test_a_line_without_an_end_does_not_fill_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "MAX_ROW", 5_000)
    monkeypatch.setattr(streams, "CHUNK", 1_000)
    (tmp_path / "rows.jsonl").write_text('{"a": 1}\n' + '{"a": "' + "x" * 50_000 + '"}\n{"a": 3}\n')
    assert outcomes(tmp_path / "rows.jsonl") == [{"a": 1}, "unreadable", {"a": 3}]


def test_standard_input_is_read_as_lines(tmp_path: Path) -> None:
    (tmp_path / "rows").write_text('\ufeff{"a": 1}\nbad\n')
    with (tmp_path / "rows").open("rb") as stream:
        assert [(row.value, row.problem) for row in read_lines(stream, "standard input")] == [({"a": 1}, None), ("bad", "bad_json")]


def test_a_file_of_blank_lines_holds_no_rows(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text("\n\n  \n")
    with pytest.raises(UnreadableSource, match="only blank lines"):
        read_rows(tmp_path / "rows.jsonl")


def test_an_empty_array_holds_no_rows(tmp_path: Path) -> None:
    (tmp_path / "rows.json").write_text("[]")
    with pytest.raises(UnreadableSource, match="holds no rows"):
        read_rows(tmp_path / "rows.json")


def test_prose_is_not_json(tmp_path: Path) -> None:
    (tmp_path / "rows.json").write_text("Dear reader,\nthis is a letter.\n")
    with pytest.raises(UnreadableSource, match="holds no JSON"):
        read_rows(tmp_path / "rows.json")
