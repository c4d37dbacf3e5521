"""Arrow columns as numpy arrays and back: the same values as pyarrow's own conversions, without its detour over pandas."""

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.sources.arrays import as_arrow, as_numpy

DTYPES = (np.bool_, np.int32, np.int64, np.uint64, np.float64)


@given(st.sampled_from(DTYPES), st.lists(st.integers(0, 1), max_size=40), st.integers(0, 9), st.integers(0, 9))
def test_a_slice_of_a_column_has_the_values_that_pyarrow_says(dtype: type, values: list[int], start: int, fewer: int) -> None:
    column = pa.array(np.array(values, dtype)).slice(start, max(0, len(values) - start - fewer))
    found = as_numpy(column)
    assert found.dtype == np.dtype(dtype)
    assert found.tolist() == column.to_pylist()
    assert as_arrow(np.array(values, dtype)).equals(pa.array(np.array(values, dtype)))
    assert as_numpy(pa.chunked_array([column, column])).tolist() == column.to_pylist() * 2


def test_a_missing_value_is_an_error() -> None:
    with pytest.raises(ValueError, match="1 values"):
        as_numpy(pa.array([1, None]))


def test_no_pandas_is_needed() -> None:
    code = "import sys, numpy, pyarrow; from core.sources.arrays import *; as_numpy(as_arrow(numpy.arange(3))); assert 'pandas' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
