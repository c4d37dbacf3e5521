"""Units of work and the marks that say which are done. A mark is the unit's own record, written when its shard is on disk."""

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np

from core.mix import Selection
from core.tokens.heldout import HeldOutRecord, hold_out
from core.tokens.shards import shard_name, write_whole
from core.tokens.units import BATCH, Pulse, Unit, UnitRecord, Workbench, run_unit

_FOLDER = ".units"
_DOUBT = "doubt"
_FEWEST, _MOST, _PARTS = 128, 4096, 64


def units_of(selection: Selection, shard_size: int | None = None) -> list[Unit]:
    """The selection cut into units, training ones first: a 64th each in whole batches, but 128 to 4,096
    conversations, whatever the number of workers.

    `shard_size`: conversations per training unit, and so per shard, instead.
    """
    train = _cuts(len(selection), shard_size)
    units = [
        Unit("train", number, shard_name(number, len(train)), selection.source[part], selection.row[part])
        for number, part in enumerate(train)
    ]
    names = {name: index for index, name in enumerate(selection.names)}
    source = np.array([names[entry.source] for entry in selection.heldout], np.int32)
    row = np.array([entry.row for entry in selection.heldout], np.int64)
    return units + [Unit("heldout", number, "", source[part], row[part]) for number, part in enumerate(_cuts(len(row)))]


def do_unit(unit: Unit, bench: Workbench, pulse: Pulse) -> None:
    """Do the work of a unit and leave its mark."""
    work: Callable[[Unit, Workbench, Pulse], UnitRecord | HeldOutRecord] = run_unit if unit.kind == "train" else hold_out
    work(unit, bench, pulse).save(_mark(bench.folder, unit))


def make_marks(folder: Path) -> None:
    """Make room for marks in a folder."""
    (folder / _FOLDER).mkdir(exist_ok=True)


def remove_marks(folder: Path) -> None:
    """Remove every mark, before the folder is published."""
    shutil.rmtree(folder / _FOLDER)


def forget_unit(folder: Path, unit: Unit) -> None:
    """Remove the unit's mark, so that it is done again."""
    _mark(folder, unit).unlink()


def doubt(folder: Path, why: str) -> None:
    """Note, for this run and whoever resumes it, that the fast path gave a wrong row and is not to be used again here."""
    write_whole(folder / _FOLDER / _DOUBT, why.encode())


def doubted(folder: Path) -> str | None:
    """Why the fast path is not to be used here, None where nothing speaks against it."""
    path = folder / _FOLDER / _DOUBT
    return path.read_text() if path.is_file() else None


def is_done(folder: Path, unit: Unit) -> bool:
    """Whether the unit has its mark."""
    return _mark(folder, unit).is_file()


def train_record(folder: Path, unit: Unit) -> UnitRecord:
    """What a finished training unit came to."""
    return UnitRecord.load(_mark(folder, unit))


def heldout_record(folder: Path, unit: Unit) -> HeldOutRecord:
    """What a finished unit of held-out conversations came to."""
    return HeldOutRecord.load(_mark(folder, unit))


def _mark(folder: Path, unit: Unit) -> Path:
    return folder / _FOLDER / f"{unit.kind}-{unit.number:05d}.json"


def _cuts(count: int, size: int | None = None) -> list[slice]:
    size = size or _size(-(-count // _PARTS))
    return [slice(start, start + size) for start in range(0, count, size)]


def _size(share: int) -> int:
    """Whole batches, so that none is a small rest, unless there are too few conversations for that."""
    return _FEWEST if share <= _FEWEST else min(-(-share // BATCH) * BATCH, _MOST)
