"""An import whose process was killed: the next one goes on behind its finished parts, and nobody can tell afterwards."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from core.dialects import ColumnMap, Policy
from core.sources import Source, import_source, parts
from core.watch import Cancelled, Progress, Unwatched
from core.workspace import Workspace
from tests.sources.conftest import talk, write_rows

BATCH, PART = 40, 150

KILLED = """
import os, signal, sys
from pathlib import Path
from core.sources import import_source, intake, parts
from core.watch import Unwatched
from core.workspace import Workspace

class Kills(Unwatched):
    def progress(self, progress):
        if progress.done >= int(sys.argv[3]):
            os.kill(os.getpid(), signal.SIGKILL)

parts.BATCH_ROWS, parts.PART_ROWS, intake._REPORT_EVERY = (int(number) for number in sys.argv[4:7])
import_source(Workspace(Path(sys.argv[1])), "talks", Path(sys.argv[2]), watcher=Kills())
"""


def mixed(number: int) -> Any:
    """Kept, prompt-only, broken and nameless rows; the last kind is read as the dialect that the first rows show."""
    match number % 7:
        case 3:
            return talk(f"question {number}", None)
        case 5:
            return '{"messages": [broken'
        case 6:
            return {"messages": []}
    return talk(f"question {number}", f"answer {number}")


class Hears(Unwatched):
    def __init__(self) -> None:
        self.rows: list[int] = []

    def progress(self, progress: Progress) -> None:
        self.rows.append(progress.done)


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "BATCH_ROWS", BATCH)
    monkeypatch.setattr(parts, "PART_ROWS", PART)


def kill_at(workspace: Workspace, path: Path, rows: int) -> None:
    """Import in a process of its own, which gets SIGKILL once so many rows were read."""
    root = Path(__file__).parents[2]
    found = os.pathsep.join(filter(None, [str(root), os.environ.get("PYTHONPATH")]))
    command = [sys.executable, "-c", KILLED, str(workspace.home), str(path), *map(str, (rows, BATCH, PART, 10))]
    done = subprocess.run(command, cwd=root, env={**os.environ, "PYTHONPATH": found}, capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr


def everything(source: Source) -> dict[str, Any]:
    """All that an import leaves, down to the bytes of its files."""
    folder = source._folder
    info = {key: value for key, value in source.info.items() if key != "imported_at"}
    files = {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*.arrow"))}
    return {
        "ledger": source.ledger,
        "statistics": source.statistics,
        "info": info,
        "files": files,
        "names": {path.name for path in folder.iterdir()},
    }


def drafts(workspace: Workspace) -> list[Path]:
    return sorted(workspace.source("talks").glob(".draft-*"))


@pytest.mark.parametrize("killed_at", [[390], [620, 1_100]])
def test_what_was_killed_is_gone_on_with_and_the_result_is_the_same(workspace: Workspace, tmp_path: Path, killed_at: list[int]) -> None:
    path = write_rows(tmp_path / "talks.jsonl", [mixed(number) for number in range(1_500)])
    for rows in killed_at:
        kill_at(workspace, path, rows)
        (draft,) = drafts(workspace)
    before = json.loads((draft / "checkpoint.json").read_bytes())["account"]["ledger"]["raw_rows"]
    assert 0 < before <= killed_at[-1]
    heard = Hears()
    source = import_source(workspace, "talks", path, watcher=heard)
    assert heard.rows[0] >= before
    assert drafts(workspace) == []
    assert everything(source) == everything(import_source(Workspace(tmp_path / "other"), "talks", path))
    assert source.ledger.raw_rows == 1_500
    positions = source.index()["position"].to_pylist() + [row["position"] for row in source.quarantine_page(limit=1_500).rows]
    assert sorted(positions) == list(range(1_500))


@pytest.mark.parametrize("change", ["file", "dialect", "policy", "mapping"])
def test_another_import_begins_anew(workspace: Workspace, tmp_path: Path, change: str) -> None:
    path = write_rows(tmp_path / "talks.jsonl", [mixed(number) for number in range(900)])
    kill_at(workspace, path, 600)
    options: dict[str, Any] = {
        "dialect": {"dialect": "openai_messages"},
        "policy": {"policy": Policy({"no_user": "keep"})},
        "mapping": {"columns": ColumnMap({"messages": "messages"})},
    }.get(change, {})
    if change == "dialect":
        options = {"dialect": import_source(Workspace(tmp_path / "look"), "talks", path).dialect}
    if change == "file":
        write_rows(path, [mixed(number) for number in range(1, 901)])
    source = import_source(workspace, "talks", path, **options)
    assert everything(source) == everything(import_source(Workspace(tmp_path / "other"), "talks", path, **options))
    assert drafts(workspace) == []


def test_a_cancelled_import_is_gone_on_with_too(workspace: Workspace, tmp_path: Path) -> None:
    class HasEnough(Unwatched):
        def __init__(self) -> None:
            self.enough = False

        def progress(self, progress: Progress) -> None:
            self.enough = progress.done >= 1_000

        def cancelled(self) -> bool:
            return self.enough

    path = write_rows(tmp_path / "talks.jsonl", [mixed(number) for number in range(1_900)])
    with pytest.raises(Cancelled):
        import_source(workspace, "talks", path, watcher=HasEnough())
    assert len(drafts(workspace)) == 1
    heard = Hears()
    source = import_source(workspace, "talks", path, watcher=heard)
    assert heard.rows[0] > 200
    assert everything(source) == everything(import_source(Workspace(tmp_path / "other"), "talks", path))


@pytest.mark.parametrize("harm", ["checkpoint", "part", "missing"])
def test_a_draft_that_does_not_read_back_is_not_gone_on_with(workspace: Workspace, tmp_path: Path, harm: str) -> None:
    path = write_rows(tmp_path / "talks.jsonl", [mixed(number) for number in range(900)])
    kill_at(workspace, path, 600)
    (draft,) = drafts(workspace)
    if harm == "checkpoint":
        (draft / "checkpoint.json").write_text("{")
    elif harm == "part":
        (draft / "index" / "part-00000.arrow").write_bytes(b"ARROW1\0\0cut")
    else:
        (draft / "quarantine" / "part-00000.arrow").unlink()
    source = import_source(workspace, "talks", path)
    assert everything(source) == everything(import_source(Workspace(tmp_path / "other"), "talks", path))


def test_message_trees_are_read_again_from_the_beginning(workspace: Workspace, tmp_path: Path) -> None:
    rows = []
    for tree in range(300):
        common = {
            "message_tree_id": f"t{tree}",
            "tree_state": "ready_for_export",
            "deleted": False,
            "lang": "en",
            "review_result": True,
            "rank": None,
        }
        rows.append({**common, "message_id": f"q{tree}", "parent_id": None, "role": "prompter", "text": f"Question {tree}?"})
        rows.append({**common, "message_id": f"a{tree}", "parent_id": f"q{tree}", "role": "assistant", "text": "Answer.", "rank": 0})
    path = write_rows(tmp_path / "talks.jsonl", rows)
    kill_at(workspace, path, 600)
    source = import_source(workspace, "talks", path)
    assert source.ledger.kept == 300
    assert everything(source) == everything(import_source(Workspace(tmp_path / "other"), "talks", path))
