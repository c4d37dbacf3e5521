"""Fetched and uploaded files: kept while a source needs them, gone when nobody does."""

from pathlib import Path

import pytest

from core.dialects import ColumnMap, Policy
from core.jobs import again_item
from core.sources import Source, import_source, kept_files, remove_unneeded
from core.sources.downloads import DownloadsInUse, reading
from core.workspace import Workspace
from tests.sources.conftest import talk, write_rows


def test_only_what_no_source_was_made_from_is_removed(workspace: Workspace) -> None:
    needed = write_rows(workspace.home / "uploads" / "1" / "a.jsonl", [talk("a")])
    unneeded = write_rows(workspace.home / "uploads" / "2" / "b.jsonl", [talk("b")])
    old = write_rows(workspace.downloads / "people--talks" / "0123" / "c.jsonl", [talk("c")])
    import_source(workspace, "a", needed)
    assert [(kept.folder.name, kept.sources) for kept in kept_files(workspace)] == [("0123", ()), ("1", ("a",)), ("2", ())]
    assert {kept.folder.name for kept in remove_unneeded(workspace)} == {"0123", "2"}
    assert needed.exists()
    assert not unneeded.exists()
    assert not old.parent.parent.exists()


def test_nothing_is_removed_while_an_import_reads(workspace: Workspace) -> None:
    with reading(workspace), pytest.raises(DownloadsInUse):
        remove_unneeded(workspace)


def test_an_import_again_remembers_how_the_source_was_read(workspace: Workspace, tmp_path: Path) -> None:
    rows = [{"q": "a", "a": "b"}, {"q": "", "a": "b"}]
    path = write_rows(tmp_path / "x.jsonl", rows)
    import_source(workspace, "x", path, columns=ColumnMap({"prompt": "q", "response": "a"}), policy=Policy({"nul_removed": "quarantine"}))
    item = again_item(workspace, "x", {"no_user": "keep"})
    assert (item.origin, item.columns) == (path, {"prompt": "q", "response": "a"})
    assert item.policy == {"nul_removed": "quarantine", "no_user": "keep"}
    assert again_item(workspace, "x", dialect="alpaca").columns == {}
    assert again_item(workspace, "x", {"nul_removed": "repair"}).policy == {}, "a switch set back to its default is no switch"
    assert Source.open(workspace, "x").ledger.quarantined == 1


def test_an_empty_file_of_a_folder_is_said(workspace: Workspace, tmp_path: Path) -> None:
    write_rows(tmp_path / "set" / "a.jsonl", [talk("a")])
    (tmp_path / "set" / "b.jsonl").write_text("")
    assert "b.jsonl" in import_source(workspace, "set", tmp_path / "set").warnings[-1]
