"""CSV and TSV with a header line, row by row. It knows fields, not what they mean.

Spreadsheets write semicolons or tabs under either name, so the header line decides what stands between fields.
"""

import csv
import re
from collections.abc import Iterator
from itertools import chain

from core.dialects import RawRow
from core.sources.readers.formats import DataFile
from core.sources.readers.json_lines import BOM
from core.sources.readers.json_values import undecoded
from core.sources.readers.problems import BrokenStream, UnreadableSource, problem_row, shown
from core.sources.readers.streams import lines

_LONE_CR = re.compile(r"(?<=\r)(?!\n)")
"""Where a line ends that an old Mac wrote."""
_DELIMITERS = (",", "\t", ";", "|")
_DECLARED = re.compile(r"sep=([^\w\s\"]|\t)[\r\n]*")
"""The line by which a spreadsheet names what stands between the fields."""
_LARGEST_FIELD = 64 * 1024 * 1024


def read_csv_file(file: DataFile, name: str, first: int = 0) -> Iterator[RawRow]:
    """One object of strings per record; a record with another number of fields than the header costs itself."""
    csv.field_size_limit(_LARGEST_FIELD)  # the default of 128 KiB is less than a long answer
    text = _text_lines(file)
    position = first
    records = csv.reader(())
    try:
        opening = next(text, "")
        if named := _DECLARED.fullmatch(opening):
            opening = next(text, "")
        delimiter = named[1] if named else _delimiter(opening, "\t" if ".tsv" in file.path.name.lower() else ",")
        records = csv.reader(chain((opening,), text), delimiter=delimiter)
        try:
            header = next(records, None)
        except csv.Error as error:
            raise UnreadableSource(f"{shown(file.path)} is not a CSV file: {error}.") from error
        if not header or len(set(header)) != len(header):
            raise UnreadableSource(f"{shown(file.path)} has no usable header line: the first line must name every column once.")
        while True:
            try:
                fields = next(records, None)
            except csv.Error as error:
                yield problem_row(position, "unreadable", f"{name} line {records.line_num}: {error}")
                position += 1
                continue
            if fields is None:
                return
            if not fields:
                continue  # a blank line
            yield _row(fields, header, position, f"{name} line {records.line_num}")
            position += 1
    except BrokenStream as error:
        yield problem_row(position, "unreadable", f"{name} line {records.line_num}: {error}")


def _delimiter(header: str, usual: str) -> str:
    """What splits the header line into the most fields; of several the one that the file's name promises."""
    return max((usual, *_DELIMITERS), key=lambda delimiter: len(next(csv.reader((header,), delimiter=delimiter), [])))


def _text_lines(file: DataFile) -> Iterator[str]:
    for line in lines(file.chunks()):
        text = line.data.decode("utf-8", "surrogateescape")
        text = (text.removeprefix(BOM) if line.number == 1 else text) + "\n"
        yield from _LONE_CR.split(text) if "\r" in text else (text,)


def _row(fields: list[str], header: list[str], position: int, place: str) -> RawRow:
    text = ",".join(fields)
    if (wrong := undecoded(text)) is not None:
        return problem_row(position, "bad_encoding", f"{place}: byte 0x{ord(text[wrong]) - 0xDC00:02x} is not UTF-8", text)
    if len(fields) != len(header):
        return problem_row(position, "unreadable", f"{place}: {len(fields)} fields where the header names {len(header)}", text)
    return RawRow(position=position, value=dict(zip(header, fields, strict=True)))
