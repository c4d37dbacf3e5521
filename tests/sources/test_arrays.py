"""Arrow columns as numpy arrays and back: the same values as pyarrow's own conversions, without its detour over pandas."""

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.sources.arrays import as_arrow, as_numpy, text_scalar, texts_as_arrow

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


@given(st.lists(st.text(), max_size=20))
def test_texts_are_the_column_that_pyarrow_makes(values: list[str]) -> None:
    try:
        wanted = pa.array(values, pa.string())
    except UnicodeEncodeError:
        with pytest.raises(UnicodeEncodeError):
            texts_as_arrow(values)
        return
    found = texts_as_arrow(values)
    found.validate(full=True)
    assert found.equals(wanted)
    assert [text_scalar(value).as_py() for value in values] == values


def test_tokenizing_and_its_verification_compare_texts_without_pandas() -> None:
    code = (
        "import sys, pyarrow.compute as pc; from core.sources.arrays import *; "
        "pc.equal(texts_as_arrow(['a', 'é']), text_scalar('a')); assert 'pandas' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
