"""Ends one run. For the dashboard this is a process of its own, so that no page need wait.

The asking, the SIGTERM and the SIGKILL happen here even when the server that was clicked goes away meanwhile.
"""

from pathlib import Path

from core.runs.files import read_json
from core.runs.process import ProcessId, stop
from core.runs.worker import CANCEL_FLAG

GRACE = 8.0
"""Seconds a run gets to reach a safe point, and again to react to SIGTERM."""


def stop_run(folder: Path, grace: float | None = None) -> None:
    """Set the cancel flag and return when no process of the run is left; `grace` None: what the run says it needs."""
    (folder / CANCEL_FLAG).touch()
    recorded = read_json(folder / "process.json")
    if recorded is not None:
        said = (read_json(folder / "run.json") or {}).get("grace", GRACE)
        stop(ProcessId.from_json(recorded), said if grace is None else grace)
