"""A `.json` or `.jsonl` file: which of the layouts people write under these names does it have, and its rows.

Lines of values, one array of values, and values over several lines all occur under both names.
"""

from collections.abc import Iterator

from core.dialects import RawRow, is_conversation
from core.sources.readers.formats import HEAD, DataFile
from core.sources.readers.json_columns import rows_of_columns
from core.sources.readers.json_lines import BOM, read_json_lines
from core.sources.readers.json_stream import read_json_values
from core.sources.readers.json_values import NotJSON, loads
from core.sources.readers.problems import UnreadableSource, shown


def read_json_file(file: DataFile, name: str, first: int = 0) -> Iterator[RawRow]:
    """The rows of a JSON file of any layout. Raises `UnreadableSource` when it holds no JSON at all."""
    read = read_json_lines if _in_lines(file) else read_json_values
    if read is read_json_values and _is_one_conversation(file):
        return iter((RawRow(first, loads(file.head().decode("utf-8-sig"))),))
    if read is read_json_values and (rows := rows_of_columns(file)) is not None:
        return (RawRow(first + number, row) for number, row in enumerate(rows))
    return read(file.chunks(), name, first)


def _is_one_conversation(file: DataFile) -> bool:
    """Whether the whole file is a list of turns, so one row, rather than a list of rows."""
    head = file.head()
    try:
        value = loads(head.decode("utf-8-sig")) if len(head) < HEAD else None
    except (NotJSON, UnicodeDecodeError):
        return False
    return isinstance(value, list) and is_conversation(value)


def _in_lines(file: DataFile) -> bool:
    head = file.head()
    text = head.decode("utf-8", "replace").removeprefix(BOM)
    found = [line for line in text.split("\n") if line.strip()]
    if len(head) == HEAD and len(found) > 1:
        found.pop()  # cut by the end of the head
    if not found:
        raise UnreadableSource(f"{shown(file.path)} holds only blank lines: there is no row in it.")
    opening = found[0].lstrip()[0]
    if any(line.strip() in ("{", "[") for line in found):
        return False  # a value that goes on over the next lines
    if _is_json(found[0]):
        # A lone line that is a whole array or object may hold many rows; everything else that fits on a line is a line.
        return len(found) > 1
    if opening == "[":
        return False
    if any(_is_container(line) for line in found[1:]):
        return True
    if opening == "{":
        # Nothing on a line of its own is a value: an object spread over lines, or lines that are all broken.
        return file.format == "jsonl"
    raise UnreadableSource(f"{shown(file.path)} holds no JSON: it begins with {found[0].strip()[:40]!r}.")


def _is_json(line: str) -> bool:
    try:
        loads(line)
    except NotJSON:
        return False
    return True


def _is_container(line: str) -> bool:
    return line.lstrip()[0] in "{[" and not line.rstrip().endswith(",") and _is_json(line)
