"""Where an import came from: the files, their sizes and hashes, so that a changed origin is recognised."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from core.sources.hub.reference import HubReference
from core.sources.readers import DataFile, UnreadableSource, data_files, empty_files
from core.watch import Watcher, stop_if_cancelled

_CHUNK = 1 << 20


@dataclass(frozen=True)
class OriginFile:
    """One file of an origin: its path below the origin, bytes, SHA-256."""

    path: str
    bytes: int
    sha256: str
    rows: int | None
    """Rows where they can be counted without reading them; in JSON Lines and CSV the line ends, so about."""


@dataclass(frozen=True)
class Origin:
    """A file, a folder or part of a hub data set that was imported.

    `revision` names its content (the hub's commit, else a digest of the files' hashes), `path` is where it was read, `empty` are the
    files below it that hold nothing.
    """

    path: Path
    files: tuple[OriginFile, ...]
    revision: str
    hub: HubReference | None = None
    empty: tuple[str, ...] = ()

    def __str__(self) -> str:
        return str(self.hub or self.path)

    @property
    def place(self) -> Path | HubReference:
        """What `import_source` takes to import the same again."""
        return self.hub or self.path

    @property
    def bytes(self) -> int:
        """Size of all files, in bytes."""
        return sum(file.bytes for file in self.files)

    @property
    def rows(self) -> int | None:
        """About how many rows it has, where that can be told in advance."""
        counts = [file.rows for file in self.files]
        return sum(count for count in counts if count is not None) if None not in counts else None

    def to_json(self) -> dict[str, Any]:
        """`{"path", "files": [{"path", "bytes", "sha256", "rows"}], "revision", "hub": {…} or null, "empty": […]}`."""
        return {
            "path": str(self.path),
            "files": [asdict(file) for file in self.files],
            "revision": self.revision,
            "hub": self.hub.to_json() if self.hub else None,
            "empty": list(self.empty),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "Origin":
        """The inverse of `to_json`."""
        hub = HubReference.from_json(value["hub"]) if value.get("hub") else None
        files = tuple(OriginFile(**file) for file in value["files"])
        return cls(Path(value["path"]), files, value["revision"], hub, tuple(value.get("empty") or ()))


def describe_origin(path: Path, watcher: Watcher, only: Sequence[str] | None = None, hub: HubReference | None = None) -> Origin:
    """The origin at `path` with every data file (or `only` those) hashed. Raises `UnreadableSource` where it cannot be read."""
    described = [_described(path, file, watcher) for file in data_files(path, only)]
    revision = (hub.revision if hub else None) or _digest(described)
    return Origin(path.resolve(), tuple(described), revision, hub, tuple(empty_files(path, only)))


def still_the_same(origin: Origin) -> bool:
    """Whether the files still have the sizes they had when they were described."""
    only = [file.path for file in origin.files] if origin.hub else None
    try:
        sizes = [file.path.stat().st_size for file in data_files(origin.path, only)]
    except (UnreadableSource, OSError):
        return False
    return sizes == [file.bytes for file in origin.files]


def _described(root: Path, file: DataFile, watcher: Watcher) -> OriginFile:
    name = file.path.name if file.path == root else file.path.relative_to(root).as_posix()
    digest = hashlib.sha256()
    size = line_ends = 0
    try:
        with file.path.open("rb") as data:
            while chunk := data.read(_CHUNK):
                stop_if_cancelled(watcher)
                digest.update(chunk)
                size += len(chunk)
                line_ends += chunk.count(b"\n")
    except OSError as error:
        raise UnreadableSource(f"'{file.path}' cannot be read: {error.strerror or error}.") from error
    in_lines = file.format in ("jsonl", "csv") and file.compression == "none"
    rows = line_ends if in_lines else pq.read_metadata(file.path).num_rows if file.format == "parquet" else None
    return OriginFile(name, size, digest.hexdigest(), rows)


def _digest(files: Sequence[OriginFile]) -> str:
    text = "\n".join(f"{file.sha256} {file.path}" for file in files)
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:16]
