"""Work that the tests' runs do: small real functions, executed by real processes."""

import os
import subprocess
import sys
import time
from typing import Any

from core.errors import InputError
from core.watch import Progress, Watcher, stop_if_cancelled


def run(kind: str, spec: dict[str, Any], watcher: Watcher) -> dict[str, Any]:
    return KINDS[kind](spec, watcher)


def count(spec: dict[str, Any], watcher: Watcher) -> dict[str, Any]:
    print("counting")
    for n in range(spec["to"] + 1):
        stop_if_cancelled(watcher)
        watcher.progress(Progress("count", n, spec["to"], "numbers", {"even": n // 2}))
        watcher.metric({"n": n})
        time.sleep(spec.get("pause", 0.0))
    return {"sum": sum(range(spec["to"] + 1)), "pid": os.getpid()}


def refuse(spec: dict[str, Any], watcher: Watcher) -> dict[str, Any]:
    raise InputError("The file is empty: give one with rows.")


def crash(spec: dict[str, Any], watcher: Watcher) -> dict[str, Any]:
    return {"never": 1 // 0}


def disk(spec: dict[str, Any], watcher: Watcher) -> dict[str, Any]:
    open("/proc/nothing/here", "w")
    return {}


def die(spec: dict[str, Any], watcher: Watcher) -> dict[str, Any]:
    os.kill(os.getpid(), 9)
    return {}


def stubborn(spec: dict[str, Any], watcher: Watcher) -> dict[str, Any]:
    """Never looks at the flag, ignores what can be ignored, and has a child that does the same."""
    import signal

    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    subprocess.Popen([sys.executable, "-c", "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(600)"])
    watcher.progress(Progress("hold", 0, None, "nothing"))
    time.sleep(600)
    return {}


KINDS = {"count": count, "refuse": refuse, "crash": crash, "disk": disk, "die": die, "stubborn": stubborn}
