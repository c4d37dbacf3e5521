import json

import numpy as np
import pytest

from core.sources import Library, import_source


@pytest.fixture
def source(workspace, tmp_path):
    path = tmp_path / "rows.jsonl"
    rows = [{"messages": [{"role": "user", "content": f"q{n}"}, {"role": "assistant", "content": "a"}]} for n in range(5)]
    path.write_text("\n".join(map(json.dumps, rows)))
    return import_source(workspace, "five", path)


def test_a_column_is_worked_out_once_and_kept_beside_the_rows(source, workspace):
    calls = []

    def fill(out):
        calls.append(1)
        out[:] = np.arange(5) * 2

    assert not source.is_computed("twice-1")
    assert source.computed("twice-1", fill, np.int64).tolist() == [0, 2, 4, 6, 8]
    assert source.is_computed("twice-1")
    again = Library(workspace).source("five")
    assert again.computed("twice-1", fill, np.int64).tolist() == [0, 2, 4, 6, 8]
    assert len(calls) == 1


def test_another_shape_is_worked_out_anew_and_a_failed_one_leaves_nothing(source):
    def broken(out):
        raise RuntimeError

    with pytest.raises(RuntimeError):
        source.computed("pairs", broken, np.uint32, width=2)
    assert list(source.computed_folder.iterdir()) == []
    assert source.computed("pairs", lambda out: out.fill(3), np.uint32, width=2).shape == (5, 2)
    assert source.computed("pairs", lambda out: out.fill(4), np.uint32, width=3).tolist() == [[4] * 3] * 5


def test_a_column_goes_with_the_import(source, workspace, tmp_path):
    source.computed("ones", lambda out: out.fill(1), np.int8)
    again = import_source(workspace, "five", tmp_path / "rows.jsonl")
    assert not again.is_computed("ones")
    assert again.version != source.version


def test_the_written_rows_are_the_json_of_the_conversations(source):
    written = source.written()
    assert json.loads(written["messages"][2].as_py()) == [message.to_json() for message in source.conversation(2).messages]
    assert written["tools"].null_count == 5
