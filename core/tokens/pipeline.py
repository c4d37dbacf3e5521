"""From a recipe to a verified dataset, whole or not at all: the order of the steps, and nothing of how each is done.

Work is cut into numbered units whose marks on disk say what is done, so that a result does not depend on the number of workers, and
resuming is doing the units without a mark.
"""

import gc
import hashlib
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import orjson

from core.errors import MixdownError
from core.mix import Plan, Recipe, select, usable_rows
from core.sources import Library
from core.tokens.assemble import assemble
from core.tokens.estimate import row_tokens, settled_plan
from core.tokens.live import Live
from core.tokens.manifest import Manifest
from core.tokens.marks import do_unit, doubt, doubted, forget_unit, is_done, make_marks, remove_marks, train_record, units_of
from core.tokens.measuring import figures_key, keep_figures
from core.tokens.provenance import source_states, versions
from core.tokens.report import TokenizeReport
from core.tokens.staging import check_output, publish, staged
from core.tokens.target import fingerprint
from core.tokens.units import SLOW, Encoder, Means, Unit, Workbench
from core.tokens.verify import ROWS_MADE_AGAIN, VerifyReport, verify
from core.tokens.workers import FORKS, run_tasks
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
    encoder: Encoder = "auto",
    shard_size: int | None = None,
    watcher: Watcher | None = None,
) -> TokenizeReport:
    """Make the dataset of `recipe` at the folder `out`: plan, pick, render, encode, mask, write, verify, then give it its name.

    The same recipe, library, target and `shard_size` (conversations per shard; None: by how many there are) give the same bytes for any
    number of `workers` (processes). Until it is verified nothing stands at `out` that did not before; `overwrite` replaces a dataset of
    ours, `resume` continues from what an interrupted run of the same recipe finished; `encoder` is "auto" (fastokens where it proves
    equal), "hf" or "slow".
    Raises the errors of planning and loading (`InputError`: nothing was written), `OutputExists`, `OutputUnwritable`,
    `OutputBusy`, `WriteFailed`, `NothingToTrain`, `DegenerateMask`, `SourceChanged`, `VerificationFailed`, `WorkerDied`, `Cancelled`.
    """
    started = time.perf_counter()
    watcher = watcher or Unwatched()
    out = out.absolute()
    check_output(out, overwrite=overwrite)
    watcher.progress(Progress("plan", 0, None, "conversations"))
    with _rare_collections():
        job = _Job.prepare(workspace, recipe, encoder, shard_size, watcher)
    with _loaded_for_good(), staged(out, job.key, overwrite=overwrite, resume=resume) as folder:
        resumed = job.run(folder, workers, watcher)
        manifest, proof = job.finish(folder, watcher)
        if not proof.ok and job.distrust(folder, proof):
            job.run(folder, workers, watcher)
            manifest, proof = job.finish(folder, watcher)
        if not proof.ok:
            found = "; ".join(proof.problems)
            raise VerificationFailed(f"What was written for {out} is not what was meant: {found}. Check the disk and try again.")
        stop_if_cancelled(watcher)
        means = job.means(folder)
        keep_figures(folder, job.units, job.bench.names, job.library, figures_key(recipe, job.bench.target))
        remove_marks(folder)
        publish(folder, out)
    return TokenizeReport(out, manifest, proof, time.perf_counter() - started, max(1, workers), resumed, means)


@contextmanager
def _rare_collections() -> Iterator[None]:
    """Loading makes a million objects that stay: looking through them for garbage again and again took a quarter of its time."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


@contextmanager
def _loaded_for_good() -> Iterator[None]:
    """The collector leaves alone what is here already; workers that are copies of this process then share it, too.

    It also looks more rarely: a batch makes thousands of lists and dictionaries, and nearly all of them go without it.
    """
    often = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    try:
        yield
    finally:
        gc.set_threshold(*often)
        gc.unfreeze()


@dataclass
class _Job:
    workspace: Workspace
    recipe: Recipe
    encoder: Encoder
    library: Library
    plan: Plan
    bench: Workbench
    units: list[Unit]
    states: dict[str, str]
    target: dict[str, Any]
    live: Live

    @classmethod
    def prepare(cls, workspace: Workspace, recipe: Recipe, encoder: Encoder, shard_size: int | None, watcher: Watcher) -> "_Job":
        """Everything that can fail for the caller's reasons, before anything is written."""
        library = Library(workspace)
        usable = usable_rows(recipe, library, row_tokens(recipe, watcher))
        made = settled_plan(recipe, library, watcher, usable)
        names = [part.name for part in made.sources]
        bench = Workbench.open(workspace, recipe, names, Path(), encoder)
        states = source_states(library, made)
        units = units_of(select(recipe, made, library, usable), shard_size)
        total = sum(len(unit.row) for unit in units)
        return cls(workspace, recipe, encoder, library, made, bench, units, states, fingerprint(bench.target, recipe), Live(total))

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
        self.live.start()
        if not doubted(folder):
            self._do(folder, self.encoder, workers, watcher)
        why = doubted(folder) or self._mismatch(folder)
        if why:
            doubt(folder, why)
            for unit in self._made_fast(folder):
                self.live.give_back(folder, unit)
                forget_unit(folder, unit)
            self._do(folder, SLOW, workers, watcher)
        return len(finished)

    def finish(self, folder: Path, watcher: Watcher) -> tuple[Manifest, VerifyReport]:
        """Describe what the units made, and check all of it."""
        manifest = assemble(folder, self.units, self.recipe, made=self.plan, library=self.library, target=self.target)
        self.check_sources()
        return manifest, verify(folder, workspace=self.workspace, target=self.bench.target, watcher=watcher)

    def distrust(self, folder: Path, proof: VerifyReport) -> bool:
        """Whether all that is wrong are rows that the slow path makes otherwise; then the next `run` makes the fast path's rows again."""
        wrong = [check.name for check in proof.checks if check.ok is False]
        if wrong != [ROWS_MADE_AGAIN] or not self._made_fast(folder):
            return False
        doubt(folder, "the fast path gave another row than the slow one for a sample of the finished rows")
        self.live = Live(self.live.total)
        return True

    def _do(self, folder: Path, encoder: Encoder, workers: int, watcher: Watcher) -> None:
        """Do every unit without a mark."""
        names = tuple(part.name for part in self.plan.sources)
        here = encoder == self.encoder and (workers <= 1 or FORKS)
        bench = replace(self.bench, folder=folder)
        open_bench = (lambda: bench) if here else partial(Workbench.open, self.workspace, self.recipe, names, folder, encoder)

        def progress(count: int, unit: Unit | None) -> None:
            self.live.pass_by(count)
            if unit is not None:
                self.live.take(folder, unit)
            watcher.progress(self.live.progress())

        waiting = [unit for unit in self.units if not is_done(folder, unit)]
        if workers > 1 and here and bench.fast.report.encoder == "fastokens":
            # What the fast path learns and proves in the first unit is then in every copy of this process.
            run_tasks(waiting[:1], do_unit, open_bench, workers=1, watcher=watcher, progress=progress)
            waiting = waiting[1:]
        run_tasks(waiting, do_unit, open_bench, workers=workers, watcher=watcher, progress=progress)

    def _mismatch(self, folder: Path) -> str | None:
        """What the fast path says of the wrong row it was caught on in some unit; then its other rows may be wrong too."""
        means = (train_record(folder, unit).means for unit in self._training)
        return next((", ".join(one.reasons) or "the fast path took rows back that it gave before" for one in means if one.mismatched), None)

    def _made_fast(self, folder: Path) -> list[Unit]:
        """The finished units that the fast path had a part in."""
        return [unit for unit in self._training if is_done(folder, unit) and train_record(folder, unit).means.fast]

    @property
    def _training(self) -> list[Unit]:
        return [unit for unit in self.units if unit.kind == "train"]

    def means(self, folder: Path) -> Means:
        """How the rows of all units were made."""
        why = doubted(folder)
        begin = Means("", "", [f"{why}; every row was made by the slow path"] if why else [])
        return sum((train_record(folder, unit).means for unit in self._training), begin)

    def check_sources(self) -> None:
        """Raise `SourceChanged` when a source is not what it was before the work."""
        now = source_states(self.library, self.plan)
        changed = [name for name, state in self.states.items() if now[name] != state]
        if changed:
            raise SourceChanged(f"{', '.join(changed)} was imported again while it was tokenized: run again.")
