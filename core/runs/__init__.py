"""Background runs whose whole state is files: whoever opens the workspace sees the same thing, after any restart.

A run is a folder with what to do (`run.json`), who does it (`process.json`), how far it is (`progress.json`,
`metrics.jsonl`, `stdout.log`) and how it ended (`outcome.json`). This package knows no domain: the caller names the function
to execute as "module:function" and gives it a JSON spec.
"""

from core.runs.store import Busy, Run, RunError, RunMissing, RunStore, State
from core.runs.worker import RunContext

__all__ = ["Busy", "Run", "RunContext", "RunError", "RunMissing", "RunStore", "State"]
