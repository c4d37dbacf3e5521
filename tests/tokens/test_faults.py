"""Real processes that end where they should not."""

import errno
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from core.errors import MixdownError
from core.mix import dump_recipe
from core.tokens import Manifest, pipeline, tokenize, verify
from core.tokens.pipeline import SourceChanged, VerificationFailed
from core.tokens.staging import OutputBusy, WriteFailed, exchange, partial_folder
from core.watch import Unwatched

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


CUT_OFF = """
import os, signal, sys
from pathlib import Path
import core.tokens.pipeline as pipeline
import core.tokens.staging as staging
from core.mix import load_recipe
from core.workspace import Workspace

where = sys.argv[4]

def cut(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)

if where == "between the renames":
    replace, calls = Path.replace, []
    def replacing(path, to):
        if path.name == ".set.partial":
            cut()
        return replace(path, to)
    Path.replace = replacing
elif where == "after the name":
    staging._sync = lambda folder: cut() if folder.name != ".set.partial" else None
elif where in ("write_card", "write_dropped", "describe"):
    import core.tokens.assemble as assemble
    setattr(assemble, where, cut)
else:
    setattr(pipeline, where, cut)

if __name__ == "__main__":
    overwrite = sys.argv[5] == "overwrite"
    pipeline.tokenize(Workspace(Path(sys.argv[1])), load_recipe(Path(sys.argv[2])), Path(sys.argv[3]), overwrite=overwrite)
"""

PLACES = (
    "units_of",
    "run_tasks",
    "assemble",
    "describe",
    "write_dropped",
    "write_card",
    "verify",
    "remove_marks",
    "publish",
    "between the renames",
    "after the name",
)


def killed(two_sources, recipe, tmp_path, where, how):
    dump_recipe(recipe, tmp_path / "recipe.toml")
    (tmp_path / "cut_off.py").write_text(CUT_OFF)
    arguments = [two_sources.home, tmp_path / "recipe.toml", tmp_path / "set", where, how]
    command = [sys.executable, str(tmp_path / "cut_off.py"), *map(str, arguments)]
    ended = subprocess.run(command, check=False, cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True)
    assert ended.returncode == -signal.SIGKILL, ended.stderr.decode()


@pytest.mark.parametrize("where", PLACES)
def test_a_kill_at_any_step_leaves_nothing_or_all_under_the_name(two_sources, recipe, tmp_path, where):
    killed(two_sources, recipe, tmp_path, where, "new")
    out = tmp_path / "set"
    if where == "after the name":
        assert verify(out).ok
        assert not partial_folder(out).exists()
        return
    assert not out.exists()
    tokenize(two_sources, recipe, out, resume=True)
    tokenize(two_sources, recipe, tmp_path / "clean")
    assert content(out) == content(tmp_path / "clean")
    assert sorted(path.name for path in tmp_path.iterdir() if "set" in path.name) == ["set"]


def can_exchange(folder):
    one, other = folder / "one", folder / "other"
    one.mkdir()
    other.mkdir()
    (one / "mark").touch()
    return exchange(one, other) and (other / "mark").exists()


def test_an_overwrite_works_where_names_cannot_be_swapped(two_sources, recipe, tmp_path, monkeypatch):
    out = tmp_path / "set"
    tokenize(two_sources, recipe, out)
    monkeypatch.setattr("core.tokens.staging.exchange", lambda one, other: False)
    tokenize(two_sources, recipe.model_copy(update={"seed": 9}), out, overwrite=True)
    assert verify(out).ok
    assert Manifest.load(out).recipe["seed"] == 9
    assert sorted(path.name for path in tmp_path.iterdir() if "set" in path.name) == ["set"]


@pytest.mark.parametrize("where", ["run_tasks", "verify", "publish", "between the renames", "after the name"])
def test_a_kill_during_an_overwrite_leaves_the_old_or_the_new_one_whole(two_sources, recipe, tmp_path, where):
    out = tmp_path / "set"
    if where == "between the renames" and not can_exchange(tmp_path):
        pytest.skip("this disk cannot swap two names in one step")
    tokenize(two_sources, recipe, out)
    old = content(out)
    killed(two_sources, recipe.model_copy(update={"seed": 9}), tmp_path, where, "overwrite")
    assert verify(out).ok
    assert (content(out) == old) == (where not in ("between the renames", "after the name"))
    tokenize(two_sources, recipe, out, overwrite=True)
    assert content(out) == old
    assert sorted(path.name for path in tmp_path.iterdir() if "set" in path.name) == ["set"]


WAITING = """
import sys
from pathlib import Path
from core.mix import load_recipe
from core.tokens import tokenize
from core.watch import Unwatched
from core.workspace import Workspace

class Waiting(Unwatched):
    waited = False
    def progress(self, progress):
        if progress.phase == "tokenize" and not self.waited:
            self.waited = True
            print("working", flush=True)
            sys.stdin.readline()

if __name__ == "__main__":
    tokenize(Workspace(Path(sys.argv[1])), load_recipe(Path(sys.argv[2])), Path(sys.argv[3]), watcher=Waiting())
"""


def test_a_second_process_on_the_same_output_is_refused_and_the_first_one_finishes(two_sources, recipe, tmp_path):
    dump_recipe(recipe, tmp_path / "recipe.toml")
    (tmp_path / "waiting.py").write_text(WAITING)
    out = tmp_path / "set"
    command = [sys.executable, str(tmp_path / "waiting.py"), *map(str, (two_sources.home, tmp_path / "recipe.toml", out))]
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT, env=env, text=True) as first:
        assert first.stdout.readline() == "working\n"
        for options in ({}, {"overwrite": True}, {"resume": True}):
            with pytest.raises(OutputBusy, match="Another run is writing"):
                tokenize(two_sources, recipe, out, **options)
        first.communicate("go on\n", timeout=120)
    assert first.returncode == 0
    assert verify(out).ok
    tokenize(two_sources, recipe, tmp_path / "clean")
    assert content(out) == content(tmp_path / "clean")


def test_terminating_the_command_ends_it_clearly_and_it_resumes(two_sources, recipe, tmp_path):
    dump_recipe(recipe, tmp_path / "recipe.toml")
    (tmp_path / "slow.py").write_text(
        "import os, signal, sys\n"
        "import core.tokens.units as units\n"
        "from core.cli import main\n"
        "real = units.run_unit\n"
        "import core.tokens.marks as marks\n"
        "def run(unit, bench, pulse):\n"
        "    if unit.number == 1: os.kill(os.getpid(), signal.SIGTERM)\n"
        "    return real(unit, bench, pulse)\n"
        "marks.run_unit = run\n"
        "sys.exit(main())\n"
    )
    out = tmp_path / "set"
    arguments = ["tokenize", tmp_path / "recipe.toml", "--out", out, "--home", two_sources.home]
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, str(tmp_path / "slow.py"), *map(str, arguments)]
    ended = subprocess.run(command, check=False, cwd=ROOT, env=env, capture_output=True, text=True)
    assert ended.returncode == 1
    assert "cancelled" in ended.stderr and "Traceback" not in ended.stderr
    assert not out.exists()
    assert tokenize(two_sources, recipe, out, resume=True).resumed_units > 0
    assert verify(out).ok


def test_what_does_not_verify_never_takes_the_name_and_the_old_one_stays(two_sources, recipe, tmp_path, monkeypatch):
    out = tmp_path / "set"
    tokenize(two_sources, recipe, out)
    old = content(out)
    written = pipeline.assemble

    def damaged(folder, *arguments, **options):
        manifest = written(folder, *arguments, **options)
        shard = bytearray((folder / manifest.shards[0]).read_bytes())
        shard[len(shard) // 2] ^= 1
        (folder / manifest.shards[0]).write_bytes(shard)
        return manifest

    monkeypatch.setattr(pipeline, "assemble", damaged)
    with pytest.raises(VerificationFailed, match="Check the disk and try again"):
        tokenize(two_sources, recipe.model_copy(update={"seed": 3}), out, overwrite=True)
    assert content(out) == old
    assert not partial_folder(out).exists()


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


def test_a_source_removed_under_way_ends_the_run_in_one_sentence(two_sources, recipe, tmp_path):
    class Removing(Unwatched):
        done = False

        def progress(self, progress):
            if progress.phase == "tokenize" and not self.done:
                self.done = True
                shutil.rmtree(two_sources.home / "sources" / "facts")

    with pytest.raises(MixdownError, match="facts"):
        tokenize(two_sources, recipe, tmp_path / "set", watcher=Removing())
    assert not (tmp_path / "set").exists()


def test_a_source_imported_again_under_way_ends_the_run(two_sources, add_source, conversation_row, recipe, tmp_path):
    class Importing(Unwatched):
        done = False

        def progress(self, progress):
            if progress.phase == "tokenize" and not self.done:
                self.done = True
                add_source("facts", [conversation_row(("user", f"new {n}"), ("assistant", "rows")) for n in range(200)])

    with pytest.raises(SourceChanged, match="facts was imported again"):
        tokenize(two_sources, recipe, tmp_path / "set", watcher=Importing())
    assert not (tmp_path / "set").exists()
