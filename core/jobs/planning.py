"""What a training would take, said before it starts: the dry run of the button and of `mixdown train --dry-run`."""

import json
import shlex
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from core.drafter.defaults import suited
from core.drafter.forecast import Forecast, forecast
from core.drafter.settings import TrainSettings
from core.drafter.speculators.run_file import Paths, steps_of_epoch
from core.drafter.speculators.settings import ENDLESS, SpeculatorsSettings
from core.drafter.target_facts import TargetFacts
from core.jobs.evaluating import EvaluateJob
from core.jobs.training import TrainJob
from core.tokens import Manifest, NotADataset

_OPTIONS = ("max_seconds", "max_steps", "layers", "block_size", "learning_rate", "seed")
"""Settings that `mixdown train` has an option for; the others go through `--set`."""


def settings_for(target: str, chosen: Mapping[str, Any]) -> dict[str, Any]:
    """Settings suited to the target's size, with what was chosen on top; raises `NoFacts`."""
    return suited(TargetFacts.read(Path(target)), dict(chosen))


@dataclass(frozen=True)
class DryRun:
    """What a training would take, whether it could start, and the commands that start it."""

    forecast: Forecast
    problems: list[str]
    commands: list[str]

    def to_json(self) -> dict[str, Any]:
        """The forecast's figures, `problems` and `commands`."""
        return {**self.forecast.to_json(), "problems": self.problems, "commands": self.commands}


def dry_run(job: TrainJob) -> DryRun:
    """What the job would take and what would stop it; raises `NoFacts`, `BadSettings`, `DatasetUnusable`. It leaves nothing behind.

    For the engine speculators its own schema is asked too, and its run.yaml and `torchrun` lines stand under `commands`.
    """
    found = foresee(job)
    problems, commands = [], [shown_train_command(job)]
    if not found.fits:
        problems.append(
            f"The hidden states need {found.disk_bytes / 1e9:.1f} GB where {found.free_bytes / 1e9:.1f} GB are free: make room, use fewer "
            "rows, or keep them elsewhere with --states."
        )
    if job.engine == "speculators":
        said, trouble = _ask_speculators(job)
        commands += said
        problems += trouble
    return DryRun(found, problems, commands)


def foresee(job: TrainJob) -> Forecast:
    """What the job would take; raises `NoFacts`, `BadSettings`, `DatasetUnusable`. It writes nothing."""
    settings, tokens = TrainSettings.from_json(job.settings), _tokens(job.data)
    if job.engine == "speculators" and (settings.max_steps or 0) >= ENDLESS:
        engine = SpeculatorsSettings.from_json(job.speculators)
        settings = replace(settings, max_steps=engine.epochs * steps_of_epoch(engine, tokens))
    place, kept = job.states or job.out.parent, job.states is not None
    return forecast(TargetFacts.read(Path(job.target)), settings, tokens, place, engine=job.engine, keeps_states=kept)


def _ask_speculators(job: TrainJob) -> tuple[list[str], list[str]]:
    """Its file and commands, and what its schema (or the missing package) has against them."""
    from core.drafter.speculators.check import NoSpeculators, RefusedSettings, check
    from core.drafter.speculators.command import shown_commands
    from core.drafter.speculators.engine import work_folder
    from core.drafter.speculators.written import write_run_file

    engine, work = SpeculatorsSettings.from_json(job.speculators), work_folder(job.out)
    paths = Paths(job.data, Path(job.target).resolve(), job.states or work / "states", work / "checkpoints")
    with tempfile.TemporaryDirectory(prefix="dry-run-") as folder:
        run_file = write_run_file(Path(folder), TrainSettings.from_json(job.settings), engine, paths, _tokens(job.data))
        lines = [*run_file.read_text("utf-8").splitlines(), *shown_commands(engine, work / "run.yaml")]
        try:
            check(engine.python, run_file)
        except (NoSpeculators, RefusedSettings) as error:
            return lines, [str(error)]
    return lines, []


def shown_train_command(job: TrainJob) -> str:
    """The `mixdown train …` line that does what the job does."""
    words = ["mixdown", "train", "--data", str(job.data), "--target", job.target, "--out", str(job.out)]
    for name, value in job.settings.items():
        if name == "max_steps" and (value or 0) >= ENDLESS:
            continue
        if name in _OPTIONS and value is not None:
            words += [f"--{name.replace('_', '-')}", str(value)]
        elif name not in _OPTIONS:
            words += ["--set", f"{name}={json.dumps(value)}"]
    if job.engine != "native":
        words += ["--engine", job.engine]
        for name, value in job.speculators.items():
            if name == "extra":
                words += [word for key, item in value.items() for word in ("--option", f"{key}={json.dumps(item)}")]
            else:
                words += [f"--{name}", str(value)]
    for name, given in (("states", job.states), ("server", job.server), ("prompts", job.prompts)):
        if given is not None:
            words += [f"--{name}", str(given)]
    if not job.evaluate:
        words.append("--no-evaluate")
    return shlex.join(words)


def _tokens(data: Path) -> int:
    """Tokens of the dataset: from its manifest, else counted."""
    try:
        return Manifest.load(data).tokens
    except NotADataset:
        from core.drafter.dataset import TokenizedRows

        return TokenizedRows.load(data).tokens


def shown_evaluate_command(job: EvaluateJob) -> str:
    """The `mixdown evaluate …` line that does what the job does."""
    words = ["mixdown", "evaluate", "--drafter", str(job.drafter), "--target", job.target]
    for name in ("prompts", "max_new_tokens"):
        if (value := getattr(job, name)) is not None:
            words += [f"--{name.replace('_', '-')}", str(value)]
    words += ["--trees", ",".join(map(str, job.trees)) or "none", "--lookup" if job.prompt_lookup else "--no-lookup"]
    if job.temperature:
        words += ["--temperature", f"{job.temperature:g}", "--seed", str(job.seed)]
    if job.thinking != "as-is":
        words += ["--thinking", job.thinking]
    if job.confidence is not None:
        words += ["--confidence", f"{job.confidence:g}"]
    return shlex.join(words)
