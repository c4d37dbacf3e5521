"""From a recipe to a verified dataset, whole or not at all: the order of the steps, and nothing of how each is done.

Work is cut into numbered units whose marks on disk say what is done, so that a result does not depend on the number of workers, and
resuming is doing the units without a mark.
"""

import hashlib
import time
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import orjson

from core.errors import MixdownError
from core.mix import Plan, Recipe, plan, select
from core.sources import Library
from core.tokens.assemble import assemble
from core.tokens.manifest import SourceCounts, added
from core.tokens.marks import do_unit, heldout_record, is_done, make_marks, remove_marks, train_record, units_of
from core.tokens.provenance import source_states, versions
from core.tokens.report import TokenizeReport
from core.tokens.staging import check_output, publish, staged
from core.tokens.target import fingerprint
from core.tokens.units import Means, Unit, Workbench
from core.tokens.verify import verify
from core.tokens.workers import run_tasks
from core.watch import Progress, Unwatched, Watcher, stop_if_cancelled
from core.workspace import Workspace


class SourceChanged(MixdownError):
    """A source was imported again while it was tokenized."""


class VerificationFailed(MixdownError):
    """The finished files are not what was meant to be written."""


def tokenize(
    workspace: Workspace,
    recipe: Recipe,
    out: Path,
    *,
    workers: int = 1,
    overwrite: bool = False,
    resume: bool = False,
    encoder: str = "auto",
    watcher: Watcher | None = None,
) -> TokenizeReport:
    """Make the dataset of `recipe` at the folder `out`: plan, pick, render, encode, mask, write, verify, then give it its name.

    The same recipe, library and target give the same bytes for any number of `workers` (processes). Until it is verified nothing stands at
    `out` that did not before; `overwrite` replaces a dataset of ours, `resume` continues from what an interrupted run of the same recipe
    finished; `encoder` is "auto" (fastokens where it proves equal) or "hf".
    Raises the errors of planning and loading (`InputError`: nothing was written), `OutputExists`, `OutputUnwritable`,
    `OutputBusy`, `WriteFailed`, `NothingToTrain`, `SourceChanged`, `VerificationFailed`, `WorkerDied`, `Cancelled`.
    """
    started = time.perf_counter()
    watcher = watcher or Unwatched()
    out = out.absolute()
    check_output(out, overwrite=overwrite)
    watcher.progress(Progress("plan", 0, None, "conversations"))
    job = _Job.prepare(workspace, recipe, encoder)
    with staged(out, job.key, overwrite=overwrite, resume=resume) as folder:
        resumed = job.run(folder, workers, watcher)
        manifest = assemble(folder, job.units, recipe, made=job.plan, library=job.library, target=job.target)
        job.check_sources()
        proof = verify(folder, workspace=workspace, watcher=watcher)
        if not proof.ok:
            found = "; ".join(proof.problems)
            raise VerificationFailed(f"What was written for {out} is not what was meant: {found}. Check the disk and try again.")
        stop_if_cancelled(watcher)
        means = job.means(folder)
        remove_marks(folder)
        publish(folder, out)
    return TokenizeReport(out, manifest, proof, time.perf_counter() - started, max(1, workers), resumed, means)


@dataclass
class _Job:
    workspace: Workspace
    recipe: Recipe
    encoder: str
    library: Library
    plan: Plan
    bench: Workbench
    units: list[Unit]
    states: dict[str, str]
    target: dict[str, Any]
    live: "_Live"

    @classmethod
    def prepare(cls, workspace: Workspace, recipe: Recipe, encoder: str) -> "_Job":
        """Everything that can fail for the caller's reasons, before anything is written."""
        library = Library(workspace)
        made = plan(recipe, library)
        names = [part.name for part in made.sources]
        bench = Workbench.open(workspace, recipe, names, Path(), encoder)
        states = source_states(library, made)
        units = units_of(select(recipe, made, library))
        total = sum(len(unit.row) for unit in units)
        return cls(workspace, recipe, encoder, library, made, bench, units, states, fingerprint(bench.target, recipe), _Live(total))

    @property
    def key(self) -> str:
        """What an interrupted run must have been made for so that its units can be kept."""
        value = [self.recipe.digest, self.states, self.target, versions(), [len(unit.row) for unit in self.units]]
        return hashlib.sha256(orjson.dumps(value, option=orjson.OPT_SORT_KEYS)).hexdigest()

    def run(self, folder: Path, workers: int, watcher: Watcher) -> int:
        """Do the units that are not done yet; returns how many were."""
        make_marks(folder)
        finished = [unit for unit in self.units if is_done(folder, unit)]
        for unit in finished:
            self.live.pass_by(len(unit.row))
            self.live.take(folder, unit)
        names = tuple(part.name for part in self.plan.sources)
        bench = replace(self.bench, folder=folder)
        open_bench = partial(Workbench.open, self.workspace, self.recipe, names, folder, self.encoder) if workers > 1 else lambda: bench

        def progress(count: int, unit: Unit | None) -> None:
            self.live.pass_by(count)
            if unit is not None:
                self.live.take(folder, unit)
            watcher.progress(self.live.progress())

        waiting = [unit for unit in self.units if not is_done(folder, unit)]
        run_tasks(waiting, do_unit, open_bench, workers=workers, watcher=watcher, progress=progress)
        return len(finished)

    def means(self, folder: Path) -> Means:
        """How the rows of all units were made."""
        return sum((train_record(folder, unit).means for unit in self.units if unit.kind == "train"), Means("", ""))

    def check_sources(self) -> None:
        """Raise `SourceChanged` when a source is not what it was before the work."""
        now = source_states(self.library, self.plan)
        changed = [name for name, state in self.states.items() if now[name] != state]
        if changed:
            raise SourceChanged(f"{', '.join(changed)} was imported again while it was tokenized: run again.")


@dataclass
class _Live:
    """The figures a watcher sees."""

    total: int
    done: int = 0
    counts: dict[str, int] = field(default_factory=lambda: {"rows": 0, "tokens": 0, "trainable_tokens": 0, "dropped": 0})

    def pass_by(self, count: int) -> None:
        self.done += count

    def take(self, folder: Path, unit: Unit) -> None:
        if unit.kind == "heldout":
            self.counts = added(self.counts, {"heldout": heldout_record(folder, unit).counts.prompts})
            return
        made = sum(train_record(folder, unit).counts.values(), SourceCounts())
        dropped = sum(made.dropped.values())
        figures = {"rows": made.rows, "tokens": made.tokens, "trainable_tokens": made.trainable_tokens, "dropped": dropped}
        self.counts = added(self.counts, figures)

    def progress(self) -> Progress:
        return Progress("tokenize", self.done, self.total, "conversations", dict(self.counts))
