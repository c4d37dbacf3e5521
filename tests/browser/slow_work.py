"""Work that takes long and does nothing, for runs that a test stops: it waits on a condition that never comes, in small steps."""

import threading
from typing import Any

from core.watch import Progress, Watcher, stop_if_cancelled


def work(kind: str, spec: dict[str, Any], watcher: Watcher) -> dict[str, Any]:
    """Count to `steps`, twenty a second."""
    never = threading.Event()
    for step in range(spec["steps"]):
        stop_if_cancelled(watcher)
        watcher.progress(Progress("count", step, spec["steps"], "steps"))
        never.wait(0.05)
    return {"kind": kind, "steps": spec["steps"]}
