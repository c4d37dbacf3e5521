"""Which dialects the row groups of Parquet files are in: a file that was put together from several sources changes in its middle,
where the first rows of it say nothing of the others.

It looks at a few rows of each group. It does not convert.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from core.conversation import JSONObject
from core.dialects import Detection, detect
from core.sources.readers import data_files
from core.sources.readers.columnar import first_of_group, row_groups

_ROWS = 64
"""Rows looked at in each group."""
_MOST = 64
"""Groups looked at; of more, so many at equal distances."""


@dataclass(frozen=True)
class RowGroup:
    """One row group (`number` from 1) of `file` (its path below the origin), the rows it has, and what some of them are."""

    file: str
    number: int
    rows: int
    detection: Detection

    def to_json(self) -> JSONObject:
        """`{"file", "row_group", "rows", "dialect", "mixture"}`."""
        found = self.detection
        return {"file": self.file, "row_group": self.number, "rows": self.rows, "dialect": found.dialect, "mixture": found.mixture}


def group_mixtures(path: Path, only: Sequence[str] | None = None) -> list[RowGroup]:
    """The row groups of the Parquet files of `path` (or of `only` those); none for other formats, and none that cannot be read.

    Raises `UnreadableSource` for a path that cannot be read at all.
    """
    places = [
        (file, group, rows) for file in data_files(path, only) if file.format == "parquet" for group, rows in enumerate(row_groups(file))
    ]
    found = []
    for file, group, rows in places[:: max(1, -(-len(places) // _MOST))]:
        sample = first_of_group(file, group, _ROWS)
        if sample:
            name = file.path.name if file.path == path else file.path.relative_to(path).as_posix()
            found.append(RowGroup(name, group + 1, rows, detect(sample)))
    return found


def mixed(groups: Sequence[RowGroup]) -> str | None:
    """A sentence for groups that are not all of one dialect; None where they are."""
    by_dialect: dict[str, list[str]] = {}
    for group in groups:
        by_dialect.setdefault(group.detection.dialect or "of no known dialect", []).append(f"{group.file} row group {group.number}")
    if len(by_dialect) < 2:
        return None
    kinds = [f"{name} ({', '.join(places[:2])}{_more(len(places) - 2)})" for name, places in by_dialect.items()]
    return f"The row groups are of several dialects, each row is read by its own: {'; '.join(kinds)}."


def _more(count: int) -> str:
    return f" and {count:,} more" if count > 0 else ""
