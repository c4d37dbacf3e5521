"""Where units of work run: in this process, or in several of their own. It knows tasks and processes, not what a task computes."""

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.synchronize import Event
from typing import Any, TypeVar

from core.errors import MixdownError
from core.watch import Cancelled, Watcher, stop_if_cancelled

Context = TypeVar("Context")
Task = TypeVar("Task")

Run = Callable[[Task, Context, Callable[[int], None]], None]
"""Does one task, calling the pulse with how much is through since the last call."""

FORKS = sys.platform == "linux"
"""Whether workers begin as copies of this process, with all that it has loaded and proven."""

_LOOK_SECONDS = 0.5
"""How long a stop or a step of the progress may take to be seen."""


class WorkerDied(MixdownError):
    """A worker process ended in the middle of its work (out of memory, or killed)."""


def run_tasks(
    tasks: Sequence[Task],
    run: Run[Task, Context],
    open_context: Callable[[], Context],
    *,
    workers: int,
    watcher: Watcher,
    progress: Callable[[int, Task | None], None],
) -> None:
    """Do every task, each in any process and order; `progress` hears what passed since, and which task is done.

    With one worker all runs here. Else, on Linux, the context is opened here and shared with forked processes, which then cost next to
    nothing to start; elsewhere `run`, `open_context` and the tasks are sent to new processes and must be picklable.
    Raises the first error of a task, `Cancelled`, or `WorkerDied`; no process is left in any case.
    """
    if workers <= 1 or len(tasks) <= 1:
        _run_here(tasks, run, open_context, watcher, progress)
        return
    processes = multiprocessing.get_context("fork" if FORKS else "spawn")
    stop, passed = processes.Event(), processes.Value("q", 0)
    context = open_context() if FORKS else open_context
    arguments = (run, context, stop, passed)
    pool = ProcessPoolExecutor(min(workers, len(tasks)), mp_context=processes, initializer=_enter, initargs=arguments)
    seen = 0
    try:
        futures: dict[Future[None], Task] = {pool.submit(_one, task): task for task in tasks}
        waiting = set(futures)
        while waiting:
            done, waiting = wait(waiting, timeout=_LOOK_SECONDS, return_when=FIRST_COMPLETED)
            now = passed.value
            progress(now - seen, None)
            seen = now
            for future in done:
                future.result()
                progress(0, futures[future])
            stop_if_cancelled(watcher)
    except BrokenProcessPool as error:
        raise WorkerDied(
            "A worker process died (out of memory, or killed): use fewer workers, and --resume to keep what is done."
        ) from error
    finally:
        stop.set()
        pool.shutdown(cancel_futures=True)


def _run_here(
    tasks: Sequence[Task],
    run: Run[Task, Context],
    open_context: Callable[[], Context],
    watcher: Watcher,
    progress: Callable[[int, Task | None], None],
) -> None:
    if not tasks:
        return
    context = open_context()

    def pulse(count: int) -> None:
        progress(count, None)
        stop_if_cancelled(watcher)

    for task in tasks:
        stop_if_cancelled(watcher)
        run(task, context, pulse)
        progress(0, task)


_worker: dict[str, Any] = {}


def _enter(run: Any, context: Any, stop: Event, passed: Any) -> None:
    for asked in (signal.SIGINT, signal.SIGTERM):  # meant for the whole group; the parent tells its workers to stop
        signal.signal(asked, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_leave_with, args=(parent,), daemon=True).start()
    _worker.update(run=run, context=context if FORKS else context(), stop=stop, passed=passed)


def _leave_with(parent: Any) -> None:
    parent.join()
    os._exit(1)


def _one(task: Any) -> None:
    def pulse(count: int) -> None:
        with _worker["passed"].get_lock():
            _worker["passed"].value += count
        if _worker["stop"].is_set():
            raise Cancelled("The run was cancelled.")

    _worker["run"](task, _worker["context"], pulse)
