"""Real processes that end where they should not."""

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from core.mix import dump_recipe
from core.tokens import tokenize, verify
from core.tokens.staging import WriteFailed, partial_folder

ROOT = Path(__file__).resolve().parents[2]

DYING = """
import os, signal, sys
from pathlib import Path
from core.mix import load_recipe
from core.tokens import tokenize
from core.watch import Unwatched
from core.workspace import Workspace

class Dying(Unwatched):
    def progress(self, progress):
        if progress.phase == sys.argv[4] and progress.done >= int(sys.argv[5]):
            os.kill(os.getpid(), int(sys.argv[6]))

if __name__ == "__main__":
    tokenize(Workspace(Path(sys.argv[1])), load_recipe(Path(sys.argv[2])), Path(sys.argv[3]), workers=int(sys.argv[7]), watcher=Dying())
"""


def content(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize(
    ("phase", "done", "kill", "workers"),
    [
        ("tokenize", 130, signal.SIGKILL, 1),
        ("tokenize", 130, signal.SIGKILL, 2),
        ("verify", 1, signal.SIGKILL, 1),
        ("tokenize", 200, signal.SIGTERM, 1),
    ],
)
def test_a_kill_leaves_nothing_under_the_name_and_the_next_run_finishes(two_sources, recipe, tmp_path, phase, done, kill, workers):
    dump_recipe(recipe, tmp_path / "recipe.toml")
    (tmp_path / "dying.py").write_text(DYING)
    out = tmp_path / "set"
    arguments = [two_sources.home, tmp_path / "recipe.toml", out, phase, done, int(kill), workers]
    command = [sys.executable, str(tmp_path / "dying.py"), *map(str, arguments)]
    ended = subprocess.run(command, check=False, cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True)
    assert ended.returncode == -kill, ended.stderr.decode()
    assert not out.exists()
    assert partial_folder(out).is_dir()
    report = tokenize(two_sources, recipe, out, resume=True)
    assert report.resumed_units > 0
    assert verify(out).ok
    assert not partial_folder(out).exists()
    tokenize(two_sources, recipe, tmp_path / "clean")
    assert content(out) == content(tmp_path / "clean")


def test_a_full_disk_is_one_sentence_and_resuming_goes_on(two_sources, recipe, tmp_path, monkeypatch):
    synced = os.fsync
    calls = []

    def full(handle):
        calls.append(handle)
        if len(calls) > 5:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        synced(handle)

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(WriteFailed, match="is full; free some space"):
        tokenize(two_sources, recipe, tmp_path / "set")
    assert not (tmp_path / "set").exists()
    monkeypatch.undo()
    assert tokenize(two_sources, recipe, tmp_path / "set", resume=True).resumed_units > 0


def test_a_source_imported_again_under_way_ends_the_run(two_sources, add_source, conversation_row, recipe, tmp_path):
    from core.tokens.pipeline import SourceChanged
    from core.watch import Unwatched

    class Importing(Unwatched):
        done = False

        def progress(self, progress):
            if progress.phase == "tokenize" and not self.done:
                self.done = True
                add_source("facts", [conversation_row(("user", f"new {n}"), ("assistant", "rows")) for n in range(200)])

    with pytest.raises(SourceChanged, match="facts was imported again"):
        tokenize(two_sources, recipe, tmp_path / "set", watcher=Importing())
    assert not (tmp_path / "set").exists()
