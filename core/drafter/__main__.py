"""Training under a launcher: `torchrun --nproc-per-node 2 -m core.drafter --data D --target T --out O --settings settings.json`.

Every process reads data and target itself, so these and the output must lie where all of them see them. The first one leads: it captures,
reports and writes. People use `mixdown train`; this is what it comes down to on several GPUs or machines.
"""

import argparse
import json
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from types import FrameType

from core.drafter.ranks import launched
from core.drafter.settings import TrainSettings
from core.drafter.training import TrainingDiverged, follow, train
from core.errors import InputError, MixdownError
from core.watch import Cancelled, Progress


class _Lines:
    """Metrics as JSON lines on stdout; a signal to end asks the training to stop after a checkpoint.

    The launcher sends it to every process: the others ignore it and end with the one that leads.
    """

    def __init__(self) -> None:
        self._stopping = False
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._stop)

    def _stop(self, _number: int, _frame: FrameType | None) -> None:
        self._stopping = True

    def progress(self, progress: Progress) -> None:
        """Nothing: a metric comes with every step."""

    def metric(self, values: Mapping[str, float | int | str]) -> None:
        """One line."""
        sys.stdout.write(json.dumps(dict(values)) + "\n")
        sys.stdout.flush()

    def cancelled(self) -> bool:
        """Whether a signal to end has come."""
        return self._stopping


def main(arguments: list[str] | None = None) -> int:
    """Train; 0 when the drafter is there, 1 when training failed, 2 for wrong input."""
    parser = argparse.ArgumentParser(prog="torchrun -m core.drafter", description=(__doc__ or "").split("\n", maxsplit=1)[0])
    for name in ("data", "target", "out"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--settings", type=Path, help="JSON object of TrainSettings that differ from the defaults")
    parser.add_argument("--resume", action="store_true", help="demand that an unfinished training goes on")
    given = parser.parse_args(arguments)
    try:
        lines = _Lines()
        settings = TrainSettings.from_json(json.loads(given.settings.read_text("utf-8")) if given.settings else {})
        with launched() as ranks:
            if not ranks.leads:
                follow(ranks, given.data, given.target, given.out, settings)
                return 0
            try:
                result = train(given.data, given.target, given.out, settings, lines, resume=given.resume or None, ranks=ranks)
                sys.stdout.write(json.dumps({"result": result.to_json()}) + "\n")
            except (Cancelled, TrainingDiverged) as error:  # which the others end with as well, so all leave together
                sys.stderr.write(f"{error}\n")
                return 1
    except MixdownError as error:
        sys.stderr.write(f"{error}\n")
        return 2 if isinstance(error, InputError) else 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
