"""Both engines on one dataset, one after the other on all cores: steps a second, and what the target accepts after equal time.

    python -m benchmarks.engines DATASET TARGET FOLDER --speculators PYTHON [--seconds 240] [--seeds 0,1,2]

DATASET is a finished dataset with held-out prompts, TARGET its target, PYTHON an interpreter with speculators 0.9, whose code stays as
it is (`core/drafter/speculators/inside/on_cpu.py` binds two names anew). Both read the same state files and train the same shape with the
same loss (cross entropy with the target's most probable token, D-PACE), optimizer, rates, warm-up and anchors a step, full attention, in
float32 (ours takes gradients from bfloat16 factors where the processor multiplies these faster); speculators packs as many tokens into a
batch as ours has on average. Only training counts as time: capture, imports and loading do
not. How many steps speculators gets is worked out from a short trial, so that its rates fall to 0 as ours do.
"""

import argparse
import json
import shutil
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path

from core.drafter.dataset import TokenizedRows
from core.drafter.defaults import suited
from core.drafter.evaluation import evaluate
from core.drafter.settings import TrainSettings
from core.drafter.speculators import SpeculatorsSettings
from core.drafter.speculators.engine import train_with_speculators
from core.drafter.state_capture import StatesFrom
from core.drafter.target_facts import TargetFacts
from core.drafter.training import train
from core.watch import Progress

TRIAL = 30
"""Steps of speculators whose speed tells how many fit into the time; the first five warm up."""

WARM = 5


@dataclass
class Clock:
    """Takes the time of every step."""

    seconds: list[float] = field(default_factory=list)

    def progress(self, progress: Progress) -> None:
        """Nothing."""

    def cancelled(self) -> bool:
        """Never."""
        return False

    def metric(self, values: object) -> None:
        """Note when a step was done."""
        if isinstance(values, dict) and "loss" in values and "seconds" in values:
            self.seconds.append(float(values["seconds"]))

    @property
    def rate(self) -> float:
        """Steps a second, the first ones and all that stands before them left out."""
        return (len(self.seconds) - 1 - WARM) / (self.seconds[-1] - self.seconds[WARM])


def main() -> None:
    """Print one JSON document."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    for name in ("dataset", "target", "folder"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--speculators", required=True, metavar="PYTHON")
    parser.add_argument("--seconds", type=float, default=240.0)
    parser.add_argument("--seeds", default="0")
    parser.add_argument("--prompts", type=int, default=200)
    parser.add_argument("--layers", type=int, help="of the drafter, instead of the default for the target")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    rows = TokenizedRows.load(given.dataset)
    chosen = {"max_seconds": None, "max_steps": TRIAL, "warmup_steps": 40, **({"layers": given.layers} if given.layers else {})}
    shared = TrainSettings.from_json(suited(TargetFacts.read(given.target), chosen))
    longest = max(int(end - start) for start, end in zip(rows.offsets[:-1], rows.offsets[1:], strict=True))
    sequence = max(longest, round(shared.conversations * rows.tokens / len(rows)))
    engine = SpeculatorsSettings(python=given.speculators, gpus=0, sequence=sequence, epochs=10_000)
    states = StatesFrom(folder=given.folder / "states")
    found = [_run(given, replace(shared, seed=int(seed)), engine, states) for seed in given.seeds.split(",")]
    sys.stdout.write(
        json.dumps({"seconds": given.seconds, "sequence": sequence, "settings": shared.to_json(), "runs": found}, indent=2) + "\n"
    )


def _run(given: argparse.Namespace, settings: TrainSettings, engine: SpeculatorsSettings, states: StatesFrom) -> dict[str, object]:
    """One seed: a trial of speculators, its training, ours, and what both drafters get accepted."""

    def out(name: str) -> Path:
        folder: Path = given.folder / f"{name}-{settings.seed}"
        shutil.rmtree(folder, ignore_errors=True)
        return folder

    def measured(drafter: Path) -> dict[str, object]:
        report = evaluate(drafter, given.target, limit=given.prompts)
        return {"acceptance_length": report.acceptance_length, "lossless": report.lossless, "prompts": report.prompts}

    trial = Clock()
    train_with_speculators(given.dataset, given.target, out("trial"), settings, engine, states, trial)
    steps = max(TRIAL, round(given.seconds * trial.rate))
    theirs, ours = Clock(), Clock()
    _say(f"seed {settings.seed}: speculators, {steps} steps at {trial.rate:.2f} a second")
    made = train_with_speculators(
        given.dataset, given.target, out("speculators"), replace(settings, max_steps=steps), engine, states, theirs
    )
    _say(f"seed {settings.seed}: native, {given.seconds:.0f} seconds")
    timed = replace(settings, max_steps=None, max_seconds=given.seconds)
    native = train(given.dataset, given.target, out("native"), timed, ours, states)
    result: dict[str, object] = {
        "seed": settings.seed,
        "native": {"steps": native.steps, "seconds": native.seconds, "steps_per_second": ours.rate, **measured(native.path)},
        "speculators": {
            "steps": made.steps,
            "seconds": theirs.seconds[-1] - theirs.seconds[0],
            "steps_per_second": theirs.rate,
            **measured(made.path),
        },
    }
    mine, other = result["native"], result["speculators"]
    assert isinstance(mine, dict) and isinstance(other, dict)
    for name in ("steps_per_second", "acceptance_length"):
        result[f"ratio_{name}"] = mine[name] / other[name]
    _say(json.dumps(result))
    return result


def _say(text: str) -> None:
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


if __name__ == "__main__":
    main()
