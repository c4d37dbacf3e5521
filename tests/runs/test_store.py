"""Runs as files and real processes."""

import errno
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from core.errors import system_refusal
from core.runs import Busy, Run, RunError, RunMissing, RunStore
from core.runs.process import ProcessId, group_members
from core.runs.worker import RunContext
from core.watch import Progress

ENTRY = "tests.runs.work:run"


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    return RunStore(tmp_path / "runs")


def begin(store: RunStore, kind: str, owns: tuple[str, ...] = (), **spec: object) -> Run:
    return store.start(kind, dict(spec), entry=ENTRY, title=f"{kind} something", owns=owns)


def wait_for(condition: Callable[[], bool], seconds: float = 30.0) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "waited in vain"
        time.sleep(0.02)


def ended(store: RunStore, run: Run) -> Run:
    wait_for(lambda: not store.get(run.id).active)
    return store.get(run.id)


def test_a_started_run_returns_its_result_curve_and_log_from_another_process(store: RunStore) -> None:
    run = ended(store, begin(store, "count", to=5))
    assert run.state == "done"
    assert run.result is not None and run.result["sum"] == 15
    assert run.result["pid"] != os.getpid()
    assert [point["n"] for point in run.metrics()] == [0, 1, 2, 3, 4, 5]
    assert run.progress is not None and run.progress["done"] == 5 and run.progress["counts"] == {"even": 2}
    assert "counting" in run.log()


def test_a_store_opened_later_sees_the_same_running_run(store: RunStore) -> None:
    run = begin(store, "count", to=2000, pause=0.02)
    wait_for(lambda: (RunStore(store.folder).get(run.id).progress or {}).get("done", 0) > 0)
    again = RunStore(store.folder).get(run.id)
    assert again.state == "running" and again.progress is not None and again.progress["seconds_left"] != 0
    store.cancel(run.id, wait=True)


def test_a_run_outlives_the_process_that_started_it(store: RunStore) -> None:
    code = (
        "from pathlib import Path; from core.runs import RunStore;"
        f"print(RunStore(Path({str(store.folder)!r})).start('count', {{'to': 30, 'pause': 0.02}}, entry={ENTRY!r}, title='t').id)"
    )
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2])
    run = ended(store, store.get(printed.stdout.strip()))
    assert run.state == "done" and run.result is not None and run.result["sum"] == 465


def test_starting_the_same_work_twice_gives_the_same_run(store: RunStore) -> None:
    first = begin(store, "count", to=3000, pause=0.02)
    assert begin(store, "count", to=3000, pause=0.02).id == first.id
    store.cancel(first.id, wait=True)
    assert begin(store, "count", to=1).id != first.id


def test_a_second_run_on_the_same_folder_is_refused_while_the_first_works(store: RunStore, tmp_path: Path) -> None:
    first = begin(store, "count", owns=(str(tmp_path / "out"),), to=3000, pause=0.02)
    with pytest.raises(Busy, match=first.id):
        begin(store, "count", owns=(str(tmp_path / "x" / ".." / "out"),), to=7)
    store.cancel(first.id, wait=True)
    assert ended(store, begin(store, "count", owns=(str(tmp_path / "out"),), to=7)).state == "done"


def test_cancel_ends_work_at_its_next_safe_point(store: RunStore) -> None:
    run = begin(store, "count", to=3000, pause=0.02)
    wait_for(lambda: store.get(run.id).progress is not None)
    store.cancel(run.id)
    assert store.get(run.id).state in ("cancelling", "cancelled")
    assert ended(store, run).state == "cancelled"


def test_cancel_kills_work_that_does_not_listen_and_its_children(store: RunStore) -> None:
    run = begin(store, "stubborn")
    wait_for(lambda: store.get(run.id).progress is not None)
    process = store.get(run.id).process
    assert process is not None
    wait_for(lambda: len(group_members(process)) == 2)
    members = group_members(process)
    store.cancel(run.id, wait=True, grace=0.2)
    assert store.get(run.id).state == "cancelled"
    assert not [pid for pid in members if psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE]


def test_a_killed_run_is_lost_and_can_be_tried_again(store: RunStore) -> None:
    run = ended(store, begin(store, "die"))
    assert run.state == "lost" and run.error is not None and "Try it again" in run.error
    assert store.retry(run.id).id != run.id


def test_a_reused_pid_is_not_taken_for_the_run(store: RunStore) -> None:
    run = ended(store, begin(store, "die"))
    (run.folder / "process.json").write_text(json.dumps({"pid": os.getpid(), "started": "an earlier boot:1", "group": os.getpid()}))
    assert store.get(run.id).state == "lost"
    stranger = ProcessId(os.getpid(), "an earlier boot:1", os.getpgid(0))
    assert os.getpid() not in group_members(stranger)


def test_an_error_for_people_keeps_its_sentence_and_exit_code(store: RunStore) -> None:
    run = ended(store, begin(store, "refuse"))
    assert run.state == "failed" and run.error == "The file is empty: give one with rows."
    with pytest.raises(RunError, match="file is empty") as caught:
        store.execute("refuse", {}, entry=ENTRY, title="t")
    assert caught.value.exit_code == 2


def test_an_unforeseen_error_is_named_and_its_traceback_is_in_the_log(store: RunStore) -> None:
    run = ended(store, begin(store, "crash"))
    assert run.state == "failed" and run.error == "Unexpected ZeroDivisionError: integer division or modulo by zero"
    assert "Traceback" in run.log()


def test_a_path_that_cannot_be_written_is_the_callers_to_mend(store: RunStore) -> None:
    with pytest.raises(RunError, match="/proc/nothing/here") as caught:
        store.execute("disk", {}, entry=ENTRY, title="t")
    assert caught.value.exit_code == 2


def test_the_same_work_runs_in_this_process_for_the_command_line(store: RunStore) -> None:
    run = store.execute("count", {"to": 3}, entry=ENTRY, title="t")
    assert run.result == {"sum": 6, "pid": os.getpid()}
    assert store.list()[0].id == run.id


def test_runs_are_listed_newest_first_and_deleted_when_they_have_ended(store: RunStore) -> None:
    first = ended(store, begin(store, "count", to=1))
    second = begin(store, "count", to=3000, pause=0.02)
    assert [run.id for run in store.list()] == [second.id, first.id]
    with pytest.raises(Busy):
        store.delete(second.id)
    store.cancel(second.id, wait=True)
    store.delete(second.id)
    assert [run.id for run in store.list()] == [first.id]


@pytest.mark.parametrize("name", ["", "..", "nothing", "../runs", ".lock"])
def test_an_unknown_or_hostile_id_is_no_run(store: RunStore, name: str) -> None:
    begin(store, "count", to=0)
    with pytest.raises(RunMissing):
        store.get(name)


def test_figures_of_each_source_stand_in_the_progress_on_disk(tmp_path: Path) -> None:
    RunContext(tmp_path).progress(Progress("tokenize", 1, 2, "conversations", {"rows": 1}, {"facts": {"kept": 1, "dropped: too_long": 0}}))
    progress = json.loads((tmp_path / "progress.json").read_text())
    assert progress["counts"] == {"rows": 1}
    assert progress["sources"] == {"facts": {"kept": 1, "dropped: too_long": 0}}


@pytest.mark.parametrize("kind", ["refuse", "crash", "disk"])
def test_a_failure_in_the_command_itself_goes_to_the_runs_log_and_leaves_the_terminal_one_sentence(
    store: RunStore, kind: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(RunError) as failed:
        store.execute(kind, {}, entry=ENTRY, title=kind)
    said = capfd.readouterr()
    assert said.err == "" and said.out == ""
    log = store.list()[0].log()
    assert ("Traceback" in log) is (kind != "refuse")
    assert str(failed.value) in log or kind != "refuse"


def test_a_full_disk_leaves_no_halves_behind_and_is_not_the_callers_fault(store: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left") as refused:
        begin(store, "count", to=1)
    assert not [path for path in store.folder.rglob("*") if path.name != ".lock"]
    said, code = system_refusal(refused.value)
    assert code == 1 and "free space" in said and system_refusal(PermissionError(errno.EACCES, "Permission denied", "x"))[1] == 2
