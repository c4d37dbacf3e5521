"""Bytes of a file, plain or compressed, as chunks and as lines, with bounded memory.

It knows gzip and zstd. It does not know what the bytes mean.
"""

import gzip
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal

import zstandard

from core.sources.readers.problems import MAX_ROW, BrokenStream

Compression = Literal["none", "gzip", "zstd"]

CHUNK = 1 << 20
_COMPRESSED_CHUNK = 1 << 16


def chunks(path: Path, compression: Compression = "none") -> Iterator[bytes]:
    """The (decompressed) bytes of a file, about 1 MiB at a time.

    Raises `BrokenStream` after everything readable was given, when a compressed file is damaged or ends early.
    """
    with path.open("rb") as file:
        if compression == "gzip":
            yield from _gzip_chunks(file)
        elif compression == "zstd":
            yield from _zstd_chunks(file)
        else:
            yield from stream_chunks(file)


def stream_chunks(stream: IO[bytes]) -> Iterator[bytes]:
    """The bytes of an open binary stream (standard input, an upload), at most 1 MiB at a time."""
    while chunk := _read(stream, CHUNK):
        yield chunk


def _read(stream: IO[bytes], size: int) -> bytes:
    try:
        return stream.read(size)
    except OSError as error:
        raise BrokenStream(f"reading failed: {error.strerror or error}") from error


def _gzip_chunks(file: IO[bytes]) -> Iterator[bytes]:
    with gzip.GzipFile(fileobj=file) as plain:
        while True:
            try:
                chunk = plain.read1(CHUNK)  # at most one raw read: what came before a break is not lost with it
            except (EOFError, OSError, zlib.error) as error:
                raise BrokenStream(f"the gzip data is damaged or ends early ({error})") from error
            if not chunk:
                return
            yield chunk


def _zstd_chunks(file: IO[bytes]) -> Iterator[bytes]:
    # Not `stream_reader`: it reports a cut file as a normal end.
    frame = zstandard.ZstdDecompressor().decompressobj()
    while block := _read(file, _COMPRESSED_CHUNK):
        while block:
            if frame.eof:
                frame = zstandard.ZstdDecompressor().decompressobj()
            try:
                yield frame.decompress(block)
            except zstandard.ZstdError as error:
                raise BrokenStream(f"the zstd data is damaged ({error})") from error
            block = frame.unused_data if frame.eof else b""
    if not frame.eof:
        raise BrokenStream("the zstd data ends early")


@dataclass(frozen=True)
class Line:
    """One line: its 1-based number, its bytes without the line end, and whether it was cut at `MAX_ROW`."""

    number: int
    data: bytes
    too_large: bool = False


def lines(parts: Iterator[bytes]) -> Iterator[Line]:
    """The lines of a chunked stream, ended by LF (a CR before it stays); never holds more than `MAX_ROW` of one line.

    On a broken stream the unfinished line is given before `BrokenStream` goes on to the caller.
    """
    number = 1
    pending: list[bytes] = []
    size = 0
    skipping = False
    broken: BrokenStream | None = None
    source = iter(parts)
    while True:
        try:
            chunk = next(source, None)
        except BrokenStream as error:
            broken, chunk = error, None
        if chunk is None:
            break
        first, *rest = chunk.split(b"\n")
        if size + len(first) > MAX_ROW:
            skipping = True
            first = b""
        pending.append(first)
        size += len(first)
        if not rest:
            continue
        yield Line(number, b"".join(pending), skipping)
        number += 1
        for data in rest[:-1]:
            yield Line(number, data)
            number += 1
        pending, size, skipping = [rest[-1]], len(rest[-1]), False
    if last := b"".join(pending):
        yield Line(number, last, skipping)
    if broken is not None:
        raise broken
