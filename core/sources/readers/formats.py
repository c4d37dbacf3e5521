"""What a file really is: its name says one thing, its first bytes another, and only agreement is read.

It looks at names and the first bytes. It reads no rows.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Literal

from core.sources.readers.problems import BrokenStream, UnreadableSource, shown
from core.sources.readers.streams import Compression, chunks

Format = Literal["json", "jsonl", "csv", "parquet", "arrow_file", "arrow_stream"]

HEAD = 1 << 20
"""Bytes looked at to tell what a file holds."""

_TEXT_SUFFIXES: dict[str, Format] = {".json": "json", ".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".tsv": "csv"}
_COMPRESSIONS: dict[str, Compression] = {".gz": "gzip", ".zst": "zstd"}
_ARROW_SUFFIXES = {".arrow", ".feather"}
READABLE = ".json, .jsonl, .csv, .tsv (also with .gz or .zst), .parquet, .arrow, or a folder of these"

_SIGNATURES: tuple[tuple[bytes, str], ...] = (
    (b"PAR1", "Parquet data"),
    (b"ARROW1", "an Arrow file"),
    (b"\xff\xff\xff\xff", "an Arrow stream"),
    (b"\x1f\x8b", "gzip-compressed data"),
    (b"\x28\xb5\x2f\xfd", "zstd-compressed data"),
    (b"%PDF", "a PDF document"),
    (b"PK\x03\x04", "a zip archive"),
    (b"\x89PNG", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"SQLite format 3", "an SQLite database"),
    (b"BZh", "bzip2-compressed data"),
    (b"\xfd7zXZ", "xz-compressed data"),
    (b"\x80\x04\x95", "a Python pickle"),
    (b"\xff\xfe", "UTF-16 text"),
    (b"\xfe\xff", "UTF-16 text"),
    (b"version https://git-lfs", "a Git LFS pointer, not the data it stands for"),
)
_MARKUP: tuple[tuple[bytes, str], ...] = ((b"<!doctype html", "an HTML page"), (b"<html", "an HTML page"), (b"<?xml", "an XML document"))
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class DataFile:
    """A file that was found to hold what its name says."""

    path: Path
    format: Format
    compression: Compression = "none"

    def chunks(self) -> Iterator[bytes]:
        """Its decompressed bytes."""
        return chunks(self.path, self.compression)

    def head(self) -> bytes:
        """Its first decompressed bytes, at most `HEAD`; what is there of a file that breaks off earlier."""
        return _head(self.path, self.compression)


def named_format(path: Path) -> tuple[Format | Literal["arrow"], Compression] | None:
    """What the name promises; None for names that promise nothing readable."""
    suffixes = [suffix.lower() for suffix in path.suffixes[-2:]]
    if not suffixes:
        return None
    compression = _COMPRESSIONS.get(suffixes[-1], "none")
    suffix = suffixes[-1] if compression == "none" else (suffixes[-2] if len(suffixes) == 2 else "")
    if suffix in _TEXT_SUFFIXES:
        return _TEXT_SUFFIXES[suffix], compression
    if compression == "none" and suffix == ".parquet":
        return "parquet", "none"
    if compression == "none" and suffix in _ARROW_SUFFIXES:
        return "arrow", "none"
    return None


def checked_file(path: Path) -> DataFile:
    """The file, when its content agrees with its name; raises `UnreadableSource` with what was found otherwise."""
    named = named_format(path)
    if named is None:
        raise UnreadableSource(f"{shown(path)} is not a kind of file that holds rows: give {READABLE}.")
    form, compression = named
    try:
        if path.stat().st_size == 0:
            raise UnreadableSource(f"{shown(path)} is empty (0 bytes): download or write it again.")
        with path.open("rb") as file:
            start = file.read(512)
    except OSError as error:
        raise UnreadableSource(f"{shown(path)} cannot be opened: {error.strerror or error}.") from error
    found = _kind(start)
    if compression != "none":
        wanted = f"{compression}-compressed data"
        if found != wanted:
            raise _mismatch(path, found or "plain text or unknown binary data")
        found = _kind(_head(path, compression)[:512])
    if form == "arrow":
        if found == "an Arrow file":
            return DataFile(path, "arrow_file")
        if found == "an Arrow stream":
            return DataFile(path, "arrow_stream")
        raise _mismatch(path, found or "something else")
    if form == "parquet":
        if found != "Parquet data":
            raise _mismatch(path, found or "something else")
        return DataFile(path, "parquet")
    if found is not None:
        raise _mismatch(path, found)
    return DataFile(path, form, compression)


def _mismatch(path: Path, found: str) -> UnreadableSource:
    return UnreadableSource(f"{shown(path)} is not what its name says: it holds {found}; rename it, or give the data file itself.")


def _kind(start: bytes) -> str | None:
    for signature, name in _SIGNATURES:
        if start.startswith(signature):
            return name
    text = start.removeprefix(_BOM).lstrip().lower()
    for opening, name in _MARKUP:
        if text.startswith(opening):
            return name
    return "binary data" if start.count(b"\0") > len(start) // 8 else None


def _head(path: Path, compression: Compression) -> bytes:
    found = bytearray()
    try:
        for chunk in islice(chunks(path, compression), 64):
            found += chunk
            if len(found) >= HEAD:
                break
    except BrokenStream:
        pass  # reading the rows meets the same break and reports it
    return bytes(found[:HEAD])
