"""Columns that are worked out from a source's rows when somebody asks for them, and kept beside the rows for the next time.

    sources/<name>/<version>/computed/<column>.npy      one value (or one row of values) per row of the index, memory-mapped

They go with the version, so they can never be those of other rows. A column's name says what made it, parameters included. It does
not know what any column means.
"""

import os
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from core.workspace import checked_name

FOLDER = "computed"

Fill = Callable[[npt.NDArray[Any]], None]
"""Writes the column into an array of its final shape and dtype (zeros); may raise to stop, and then nothing is kept."""


def is_computed(version: Path, column: str) -> bool:
    """Whether the column is there already, so that asking for it costs nothing."""
    return (version / FOLDER / f"{checked_name(column)}.npy").is_file()


def computed(version: Path, column: str, shape: tuple[int, ...], dtype: npt.DTypeLike, fill: Fill) -> npt.NDArray[Any]:
    """The column, mapped read-only; made by `fill` where it is not there. Where the folder cannot be written it is made in memory."""
    wanted = np.dtype(dtype)
    path = version / FOLDER / f"{checked_name(column)}.npy"
    if (found := _mapped(path, shape, wanted)) is not None:
        return found
    if shape[0] == 0:
        return np.zeros(shape, wanted)
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        path.parent.mkdir(exist_ok=True)
        made = np.lib.format.open_memmap(beside, mode="w+", dtype=wanted, shape=shape)
    except OSError:
        inside = np.zeros(shape, wanted)
        fill(inside)
        return inside
    try:
        fill(made)
        made.flush()
        del made
        with beside.open("rb+") as file:
            os.fsync(file.fileno())
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
    found = _mapped(path, shape, wanted)
    assert found is not None
    return found


def _mapped(path: Path, shape: tuple[int, ...], dtype: np.dtype[Any]) -> npt.NDArray[Any] | None:
    try:
        found: npt.NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError):
        return None
    return found if found.shape == shape and found.dtype == dtype else None
