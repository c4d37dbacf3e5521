"""The processes behind buttons: `python -m core.runs execute FOLDER` does a run, `… stop FOLDER` ends one, whoever asked for it."""

import sys
from pathlib import Path

from core.runs.stopper import stop_run
from core.runs.worker import execute

if __name__ == "__main__":
    what, folder = sys.argv[1], Path(sys.argv[2])
    if what == "stop":
        stop_run(folder)
    else:
        raise SystemExit(0 if execute(folder)["state"] == "done" else 1)
