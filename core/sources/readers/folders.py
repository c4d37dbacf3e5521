"""Which files of a path hold rows: the path itself, or the data files below a folder in a fixed order.

It knows names and what Hugging Face's `save_to_disk` leaves on disk. It reads no rows.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from core.sources.readers.formats import READABLE, DataFile, checked_file, named_format
from core.sources.readers.problems import BrokenStream, UnreadableSource, shown
from core.sources.readers.streams import chunks

_LONGEST_BLANK = 4096
"""Bytes of a file that is read to see whether it is blank."""

NOT_DATA = frozenset(
    {
        "config.json",
        "dataset_dict.json",
        "dataset_info.json",
        "dataset_infos.json",
        "expected.json",
        "manifest.json",
        "metadata.json",
        "package.json",
        "state.json",
    }
)
"""JSON files that describe a data set beside it; they are never rows when a folder is read."""


def data_files(path: Path, only: Sequence[str] | None = None) -> list[DataFile]:
    """The files that hold the rows of `path`, checked against their names, sorted by path within a folder.

    Hidden files and folders, empty files (`empty_files` names them), Markdown, `NOT_DATA` and files of other kinds are left out;
    `only` names the files of a folder that are meant, in their order. Raises `UnreadableSource` when the path is missing, a file
    is not what its name says, or a folder has no data file.
    """
    try:
        if only is not None:
            named = [path / name for name in only]
            return [checked_file(file) for file in named if len(named) == 1 or not is_empty(file)]
        if path.is_file():
            return [checked_file(path)]
        if not path.is_dir():
            what = "is neither a file nor a folder" if path.exists() else "does not exist"
            raise UnreadableSource(f"{shown(path)} {what}: check the path.")
        found = [checked_file(file) for file in _below(path, frozenset()) if not is_empty(file)]
    except OSError as error:
        raise UnreadableSource(f"{shown(path)} cannot be read: {error.strerror or error}.") from error
    if not found:
        raise UnreadableSource(f"The folder {shown(path)} holds no data files: it needs {READABLE}.")
    return found


def empty_files(path: Path, only: Sequence[str] | None = None) -> list[str]:
    """The files that `data_files` passes over because nothing is in them, by their paths below the folder."""
    if not path.is_dir():
        return []
    files = [path / name for name in only] if only is not None else list(_below(path, frozenset()))
    return [file.relative_to(path).as_posix() for file in files if is_empty(file)]


def is_empty(file: Path) -> bool:
    """Whether a file that is there holds nothing but white space, also compressed."""
    named = named_format(file)
    if named is None or not file.is_file() or file.stat().st_size > _LONGEST_BLANK:
        return False
    if file.stat().st_size == 0:
        return True
    form, compression = named
    if form not in ("json", "jsonl", "csv"):
        return False
    try:
        return all(not chunk.strip() for chunk in chunks(file, compression))
    except BrokenStream:
        return False


def _below(folder: Path, above: frozenset[Path]) -> Iterator[Path]:
    real = folder.resolve()
    if real in above:
        return  # a link to a folder that it stands in would give the same files for ever
    if (listed := _saved_files(folder)) is not None:
        yield from listed
        return
    for entry in sorted(folder.iterdir()):
        if entry.name.startswith("."):
            continue
        if entry.is_dir():
            yield from _below(entry, above | {real})
        elif entry.name.lower() not in NOT_DATA and named_format(entry) is not None:
            yield entry


def _saved_files(folder: Path) -> list[Path] | None:
    """The Arrow files that a `save_to_disk` folder names in its state, in their order; None for other folders."""
    state = folder / "state.json"
    if not state.is_file():
        return None
    try:
        names = [entry["filename"] for entry in json.loads(state.read_bytes())["_data_files"]]
    except (ValueError, KeyError, TypeError):
        return None
    files = [folder / Path(str(name)).name for name in names]
    missing = [file.name for file in files if not file.is_file()]
    if missing:
        raise UnreadableSource(f"The saved data set {shown(folder)} lacks its file '{missing[0]}': copy or save it again.")
    return files
