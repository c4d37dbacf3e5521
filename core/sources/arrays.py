"""Arrow columns of numbers as numpy arrays and back, over their buffers, and columns of texts.

pyarrow's own conversions first import pandas to see whether they were given some of it: half a second of CPU in a process that has no
other use for it. It knows columns without missing values only.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa


def as_numpy(column: pa.Array | pa.ChunkedArray) -> npt.NDArray[Any]:
    """The values `[rows]` of a column of numbers or truth values; one chunk of numbers is a view. Raises ValueError for missing values."""
    if column.null_count:
        raise ValueError(f"{column.null_count} values of the column are missing.")
    if isinstance(column, pa.ChunkedArray):
        chunks = [as_numpy(chunk) for chunk in column.chunks]
        return chunks[0] if len(chunks) == 1 else np.concatenate([np.zeros(0, _dtype(column.type)), *chunks])
    values, start, end = column.buffers()[1], column.offset, column.offset + len(column)
    if values is None or start == end:
        return np.zeros(0, _dtype(column.type))
    if pa.types.is_boolean(column.type):
        first = start // 8
        bits = np.unpackbits(np.frombuffer(values, np.uint8)[first : -(-end // 8)], bitorder="little")
        return bits[start - 8 * first : end - 8 * first].view(np.bool_)
    return np.frombuffer(values, _dtype(column.type))[start:end]


def as_arrow(values: npt.NDArray[Any]) -> pa.Array:
    """A column of numbers or truth values `[rows]`, of the Arrow type that goes with the dtype."""
    if values.dtype == np.bool_:
        return pa.Array.from_buffers(pa.bool_(), len(values), [None, pa.py_buffer(np.packbits(values, bitorder="little"))])
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [None, pa.py_buffer(np.ascontiguousarray(values))])


def texts_as_arrow(values: Sequence[str]) -> pa.StringArray:
    """A column of texts. Raises UnicodeEncodeError for a lone surrogate."""
    encoded = [value.encode() for value in values]
    ends = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
    if ends[-1] > np.iinfo(np.int32).max:
        raise ValueError(f"{ends[-1]:,} bytes of text are more than one column holds.")
    return pa.StringArray.from_buffers(len(encoded), pa.py_buffer(ends.astype(np.int32)), pa.py_buffer(b"".join(encoded)))


def text_scalar(value: str) -> pa.StringScalar:
    """One text to compare a column with."""
    return texts_as_arrow([value])[0]


def _dtype(kind: pa.DataType) -> npt.DTypeLike:
    return np.bool_ if pa.types.is_boolean(kind) else kind.to_pandas_dtype()
