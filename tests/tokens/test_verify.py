import json
import shutil

import pytest

from core.tokens import Manifest, NotADataset, tokenize, verify
from core.workspace import Workspace


def test_a_flipped_byte_in_any_file_is_found(two_sources, recipe, tmp_path):
    out = tmp_path / "set"
    tokenize(two_sources, recipe, out)
    assert verify(out).ok
    names = sorted(path.name for path in out.iterdir())
    assert {"manifest.json", "manifest.sha256", "state.json", "dataset_info.json", "token_freq.pt", "heldout.parquet"} < set(names)
    for name in names:
        content = (out / name).read_bytes()
        for place in sorted({0, len(content) // 3, len(content) // 2, len(content) - 1}):
            flipped = bytearray(content)
            flipped[place] ^= 0x04
            (out / name).write_bytes(flipped)
            report = verify(out)
            assert not report.ok, (name, place)
            assert report.problems
        (out / name).write_bytes(content)
    assert verify(out).ok


def test_a_missing_and_a_cut_file_are_found(two_sources, recipe, tmp_path):
    out = tmp_path / "set"
    tokenize(two_sources, recipe, out)
    for name in [path.name for path in out.iterdir() if path.name != "manifest.json"]:
        copy = tmp_path / "copy"
        shutil.copytree(out, copy)
        content = (copy / name).read_bytes()
        (copy / name).write_bytes(content[: len(content) // 2])
        assert not verify(copy).ok, name
        (copy / name).unlink()
        assert not verify(copy).ok, name
        shutil.rmtree(copy)


def test_rows_are_made_again_where_the_library_is_there(two_sources, recipe, tmp_path, add_source, conversation_row):
    out = tmp_path / "set"
    tokenize(two_sources, recipe, out)
    checks = {check.name: check for check in verify(out, workspace=two_sources).checks}
    assert checks["rows made again"].ok is True
    assert "rows of 32 conversations" in checks["rows made again"].detail
    add_source("facts", [conversation_row(("user", "new"), ("assistant", "rows"))])
    report = verify(out, workspace=two_sources)
    assert report.ok
    assert report.to_json()["checks"][-1]["ok"] is None


def test_a_workspace_that_was_moved_still_proves_its_datasets(two_sources, recipe, tmp_path):
    tokenize(two_sources, recipe, tmp_path / "set")
    assert str(tmp_path) not in json.dumps(Manifest.load(tmp_path / "set").sources)
    moved = Workspace(two_sources.home.rename(tmp_path / "elsewhere"))
    checks = {check.name: check for check in verify(tmp_path / "set", workspace=moved).checks}
    assert checks["rows made again"].ok is True


def test_a_folder_that_is_no_dataset_is_an_input_error(tmp_path):
    with pytest.raises(NotADataset, match="no manifest"):
        verify(tmp_path)
