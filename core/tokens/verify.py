"""Whether a dataset is what its manifest says, byte by byte and row by row, and whether its rows can be made again.

It trusts nothing but the manifest's seal. It does not know how a dataset is written.
"""

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from core.chat import Target
from core.errors import MixdownError
from core.sources.arrays import as_numpy, text_scalar
from core.tokens.dropped import DROPPED_FILE, DROPPED_SCHEMA
from core.tokens.frequencies import FREQUENCIES_FILE, SupervisedCounts, read_frequencies
from core.tokens.heldout import HELDOUT_FILE, HELDOUT_SCHEMA, longest_prompt
from core.tokens.manifest import Manifest, ManifestBroken
from core.tokens.rerender import rerendered
from core.tokens.shards import SCHEMA, STATE_FILE, flat, read_shard, record_of
from core.watch import Progress, Unwatched, Watcher, stop_if_cancelled
from core.workspace import Workspace

ROWS_MADE_AGAIN = "rows made again"
"""The check that compares a sample of the rows with what the slow path makes of their conversations."""

_SHOWN = 3
"""Mistakes of one kind that are spelled out."""


@dataclass(frozen=True)
class Check:
    """One thing that was looked at. `ok` None: it could not be looked at, and `detail` says why."""

    name: str
    ok: bool | None
    detail: str


@dataclass(frozen=True)
class VerifyReport:
    """What verification found. `problems` is empty exactly when `ok`; `checks` lists everything that was looked at."""

    rows: int
    checks: tuple[Check, ...]
    problems: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems

    def to_json(self) -> dict[str, Any]:
        """`{"ok", "rows", "problems", "checks"}`."""
        return {"ok": self.ok, "rows": self.rows, "problems": list(self.problems), "checks": [asdict(check) for check in self.checks]}


def verify(
    folder: Path, *, workspace: Workspace | None = None, target: Target | None = None, watcher: Watcher | None = None
) -> VerifyReport:
    """Look at every byte and row of the dataset in `folder`.

    Files are hashed; every row is checked for schema, lengths, ids and supervision; counts and frequencies are summed again; with the
    `workspace` it came from (and its target, loaded here unless given) a sample of rows is rendered again. Raises `NotADataset` where
    there is no manifest of ours, `Cancelled`.
    """
    found = _Findings()
    try:
        manifest = Manifest.load(folder)
    except ManifestBroken as error:
        found.check("manifest", [str(error)], "")
        return found.report(0)
    found.check("manifest", [], "fits its seal")
    found.check("files", list(_files(folder, manifest)), f"{len(manifest.files)} files have their size and SHA-256")
    if found.problems:
        found.skip("rows", "not looked at: the files are not what they should be")
        return found.report(manifest.rows)
    rows = _Rows(manifest)
    problems = list(_guarded("the shards", lambda: _shards(folder, manifest, rows, watcher or Unwatched())))
    found.check("rows", problems + rows.mistakes(), f"{rows.rows:,} rows: schema, lengths, ids and supervision")
    found.check("counts", list(rows.differences()), "rows, tokens and trainable tokens per source and in all")
    found.check("frequencies", list(_guarded(FREQUENCIES_FILE, lambda: _frequencies(folder, rows))), "equal to a fresh count")
    found.check("held-out prompts", list(_guarded(HELDOUT_FILE, lambda: _heldout(folder, manifest))), "fit, and none is trained on")
    found.check("ledger", list(_guarded(DROPPED_FILE, lambda: _dropped(folder, manifest))), "every conversation left out has its reason")
    if not found.problems:
        found.rerender(folder, manifest, workspace, target)
    return found.report(rows.rows)


class _Findings:
    def __init__(self) -> None:
        self.checks: list[Check] = []
        self.problems: list[str] = []

    def check(self, name: str, problems: list[str], fine: str) -> None:
        self.problems += problems
        self.checks.append(Check(name, not problems, "; ".join(problems) or fine))

    def skip(self, name: str, why: str) -> None:
        self.checks.append(Check(name, None, why))

    def rerender(self, folder: Path, manifest: Manifest, workspace: Workspace | None, target: Target | None) -> None:
        if workspace is None:
            self.skip(ROWS_MADE_AGAIN, "not looked at: no workspace was given")
            return
        made = rerendered(folder, manifest, workspace, target)
        if isinstance(made, str):
            self.skip(ROWS_MADE_AGAIN, f"not looked at: {made}")
        else:
            self.check(ROWS_MADE_AGAIN, made.problems, f"{made.rows} rows of {made.conversations} conversations came out the same")

    def report(self, rows: int) -> VerifyReport:
        return VerifyReport(rows, tuple(self.checks), tuple(self.problems))


class _Rows:
    """Sums over all rows, and what is wrong with single ones."""

    def __init__(self, manifest: Manifest) -> None:
        self._manifest = manifest
        self._vocabulary = int(manifest.target["vocab_size"])
        self.rows = 0
        self.supervised = SupervisedCounts(self._vocabulary)
        self.sources: dict[str, npt.NDArray[np.int64]] = {}
        self.ids: set[str] = set()
        self._wrong: dict[str, list[str]] = {}

    def add(self, batch: pa.RecordBatch, where: str) -> None:
        ids, starts = flat(batch.column("input_ids"))
        mask, mask_starts = flat(batch.column("loss_mask"))
        lengths = np.diff(starts)
        self._note(where, "input_ids and loss_mask differ in length", lengths != np.diff(mask_starts))
        self._note(where, "seq_len is not the number of tokens", lengths != as_numpy(batch.column("seq_len")))
        self._note(where, f"is longer than {self._manifest.seq_length} tokens", lengths > self._manifest.seq_length)
        if len(mask) == len(ids):
            outside = (ids < 0) | (ids >= self._vocabulary)
            self._note(where, f"holds an id outside 0 to {self._vocabulary - 1}", _any(outside, starts))
            self._note(where, "has no supervised token", ~_any(mask, starts))
            self.supervised.add(ids, mask & ~outside)
            self._sum(batch.column("source"), lengths, _sums(mask, starts))
        self.rows += len(lengths)

    def _sum(self, source: pa.DictionaryArray, lengths: npt.NDArray[np.int64], trainable: npt.NDArray[np.int64]) -> None:
        index = as_numpy(source.indices)
        for at, name in enumerate(source.dictionary.to_pylist()):
            part = index == at
            if part.any():
                now = np.array([part.sum(), lengths[part].sum(), trainable[part].sum()], np.int64)
                self.sources[name] = self.sources.get(name, np.zeros(3, np.int64)) + now

    def _note(self, where: str, what: str, wrong: npt.NDArray[np.bool_]) -> None:
        if wrong.any():
            self._wrong.setdefault(what, []).extend(f"{where}, row {self.rows + int(at)}" for at in np.flatnonzero(wrong))

    def mistakes(self) -> list[str]:
        """One sentence per kind of mistake."""
        return [f"{len(places):,} rows: {what} ({', '.join(places[:_SHOWN])})" for what, places in self._wrong.items()]

    def differences(self) -> Iterator[str]:
        """Where the sums are not the manifest's."""
        manifest = self._manifest
        names = ("rows", "tokens", "trainable_tokens")
        for source in sorted(self.sources.keys() | manifest.sources.keys()):
            said = manifest.sources.get(source, {})
            for name, number in zip(names, self.sources.get(source, np.zeros(3, np.int64)).tolist(), strict=True):
                if number != said.get(name):
                    yield f"{source}: {number:,} {name.replace('_', ' ')}, the manifest says {said.get(name)}"
        total = sum(self.sources.values(), np.zeros(3, np.int64)).tolist()
        for name, number in zip(names, total, strict=True):
            if number != getattr(manifest, name):
                yield f"{number:,} {name.replace('_', ' ')} in all, the manifest says {getattr(manifest, name):,}"


def _files(folder: Path, manifest: Manifest) -> Iterator[str]:
    for name, said in sorted(manifest.files.items()):
        try:
            record = record_of(folder / name)
        except OSError:
            yield f"{name} is missing or cannot be read"
            continue
        if record.bytes != said["bytes"]:
            yield f"{name} has {record.bytes:,} bytes, not {said['bytes']:,}"
        elif record.sha256 != said["sha256"]:
            yield f"{name} was changed: its SHA-256 is not the manifest's"


def _shards(folder: Path, manifest: Manifest, rows: _Rows, watcher: Watcher) -> Iterator[str]:
    state = orjson.loads((folder / STATE_FILE).read_bytes())
    names = [entry["filename"] for entry in state["_data_files"]]
    shards = manifest.shards
    if names != shards:
        yield f"{STATE_FILE} names other shards than the manifest"
    for name in shards:
        before = rows.rows
        for batch in read_shard(folder / name):
            stop_if_cancelled(watcher)
            batch.validate(full=True)
            if batch.schema.types != SCHEMA.types or batch.schema.names != SCHEMA.names:
                yield f"{name} has the columns {batch.schema.names} with other names or types than a dataset has"
                return
            if _has_nulls(batch):
                yield f"{name} has a missing value"
                return
            rows.add(batch, name)
            watcher.progress(Progress("verify", rows.rows, manifest.rows, "rows"))
        if rows.rows - before != manifest.files[name]["rows"]:
            yield f"{name} has {rows.rows - before:,} rows, the manifest says {manifest.files[name]['rows']:,}"


def _has_nulls(batch: pa.RecordBatch) -> bool:
    lists = (batch.column("input_ids").values, batch.column("loss_mask").values)
    return any(column.null_count for column in (*batch.columns, *lists))


def _frequencies(folder: Path, rows: _Rows) -> Iterator[str]:
    counts = rows.supervised.counts
    fresh = {int(token): int(counts[token]) for token in np.flatnonzero(counts)}
    if read_frequencies(folder / FREQUENCIES_FILE) != fresh:
        yield f"{FREQUENCIES_FILE} is not the count of supervised tokens in the rows"


def _whole(path: Path) -> pa.Table:
    """A Parquet file as a table; `pq.read_table` would import pandas first."""
    with pq.ParquetFile(path) as file:
        return file.read()


def _heldout(folder: Path, manifest: Manifest) -> Iterator[str]:
    table = _whole(folder / HELDOUT_FILE)
    if table.schema.names != HELDOUT_SCHEMA.names or table.schema.types != HELDOUT_SCHEMA.types:
        yield f"{HELDOUT_FILE} has other columns than a set of prompts has"
        return
    if table.num_rows != manifest.heldout["prompts"]:
        yield f"{HELDOUT_FILE} has {table.num_rows:,} prompts, the manifest says {manifest.heldout['prompts']:,}"
    ids = as_numpy(pc.list_flatten(table["prompt_ids"]))
    if len(ids) and (ids.min() < 0 or ids.max() >= manifest.target["vocab_size"]):
        yield f"{HELDOUT_FILE} holds an id outside the target's vocabulary"
    lengths = as_numpy(pc.list_value_length(table["prompt_ids"]))
    if len(lengths) and not 0 < lengths.min() <= lengths.max() <= longest_prompt(manifest.seq_length):
        yield f"{HELDOUT_FILE} holds a prompt that is empty or leaves no room for an answer"
    held = table["row_id"].combine_chunks()
    for name in manifest.shards:
        for batch in read_shard(folder / name):
            both = batch.column("row_id").filter(pc.is_in(batch.column("row_id"), held))
            if len(both):
                yield f"{both[0].as_py()} is held out and trained on"
                return


def _dropped(folder: Path, manifest: Manifest) -> Iterator[str]:
    table = _whole(folder / DROPPED_FILE)
    if table.schema.names != DROPPED_SCHEMA.names or table.schema.types != DROPPED_SCHEMA.types:
        yield f"{DROPPED_FILE} has other columns than a ledger has"
        return
    trained = table.filter(pc.equal(table["split"], text_scalar("train")))
    for source, said in manifest.sources.items():
        reasons = trained.filter(pc.equal(trained["source"], text_scalar(source)))["reason"].value_counts().to_pylist()
        if {entry["values"]: entry["counts"] for entry in reasons} != said["dropped"]:
            yield f"{DROPPED_FILE} and the manifest count other drops of {source}"


def _guarded(what: str, look: Callable[[], Iterator[str]]) -> Iterator[str]:
    """The problems that `look` finds; a file it cannot read is one of them."""
    try:
        yield from look()
    except (pa.ArrowException, OSError, MixdownError, ValueError, KeyError) as error:
        yield f"{what} cannot be read: {error}"


def _any(values: npt.NDArray[np.bool_], starts: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    return _sums(values, starts) > 0


def _sums(values: npt.NDArray[np.bool_], starts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """How many are true in each row, rows without values included."""
    through = np.concatenate([[0], np.cumsum(values, dtype=np.int64)])
    counts: npt.NDArray[np.int64] = through[starts[1:]] - through[starts[:-1]]
    return counts
