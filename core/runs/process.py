"""A process known by pid *and* start time, so that a reused pid is never taken for ours. It knows no run."""

import contextlib
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")

RUN_MARK = "MIXDOWN_RUN"
"""Environment variable that a run's processes inherit: it tells a run's orphans from a stranger that got the old group id."""


@dataclass(frozen=True)
class ProcessId:
    """`started` is boot id and start tick where the system tells them (immune to clock changes), else the start time in seconds.

    `group` is the process group to signal, None for a run in somebody's own terminal, whose group is not ours to signal.
    """

    pid: int
    started: str
    group: int | None

    def to_json(self) -> dict[str, Any]:
        """`{"pid", "started", "group"}`."""
        return {"pid": self.pid, "started": self.started, "group": self.group}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> "ProcessId":
        """The inverse of `to_json`."""
        return cls(int(value["pid"]), str(value["started"]), value["group"])

    @classmethod
    def of(cls, pid: int, group: int | None) -> "ProcessId | None":
        """The identity of a live process; None when it is gone already."""
        started = start_mark(pid)
        return None if started is None else cls(pid, started, group)

    def alive(self) -> bool:
        """Whether this very process still runs (a zombie does not)."""
        return start_mark(self.pid) == self.started


def start_mark(pid: int) -> str | None:
    """What tells this process from an earlier or later one with the same pid; None when none runs."""
    try:
        process = psutil.Process(pid)
        if process.status() in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD):
            return None
        if _BOOT_ID.exists():
            fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
            return f"{_BOOT_ID.read_text(encoding='ascii').strip()}:{fields[19]}"
        return f"{process.create_time():.2f}"
    except (psutil.Error, FileNotFoundError, ProcessLookupError, IndexError):
        return None


def group_members(process: ProcessId) -> list[int]:
    """Live pids of the process's group, or of the process and its descendants where the group is not ours."""
    if process.group is None:
        try:
            root = psutil.Process(process.pid) if process.alive() else None
            return [] if root is None else [root.pid, *(child.pid for child in root.children(recursive=True))]
        except psutil.Error:
            return []
    led = process.alive()
    members = []
    for pid in psutil.pids():
        try:
            if os.getpgid(pid) == process.group and start_mark(pid) is not None and (led or _marked(pid)):
                members.append(pid)
        except (ProcessLookupError, PermissionError, psutil.Error):
            continue
    return members


def _marked(pid: int) -> bool:
    return RUN_MARK in psutil.Process(pid).environ()


def stop(process: ProcessId, grace: float) -> None:
    """End a process that was asked to stop, and all it started: SIGTERM after `grace` seconds, SIGKILL after as many more.

    Blocks until nothing of it is left.
    """
    seen: dict[int, str] = {}
    if _gone(process, grace, seen):
        return
    for chosen, patience in ((signal.SIGTERM, grace), (signal.SIGKILL, 10.0)):
        for pid in group_members(process):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, chosen)
        if _gone(process, patience, seen):
            return


def _gone(process: ProcessId, patience: float, seen: dict[int, str]) -> bool:
    """Whether the group ends within `patience` seconds; `seen` remembers its members, with their start marks.

    A member that is being ended by the kernel has lost its environment, and with it the mark, a moment before it is gone.
    """
    until = time.monotonic() + patience
    while True:
        for pid in group_members(process):
            if (mark := start_mark(pid)) is not None:
                seen[pid] = mark
        if not any(start_mark(pid) == mark for pid, mark in seen.items()):
            return True
        if time.monotonic() >= until:
            return False
        time.sleep(0.05)
