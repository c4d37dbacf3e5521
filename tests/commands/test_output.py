"""What is printed for programs."""

import json

import numpy as np
import pytest

from core.commands.output import emit


@pytest.mark.parametrize(
    "value", [{"a": "\ud800"}, {"a": 2**70}, {"a": np.int64(3), "b": np.array([1, 2])}, {"a": "é\n\x85\u2028\u2029"}, []]
)
def test_any_value_becomes_one_line_of_json(value: object, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    emit(value)  # type: ignore[arg-type]
    printed = capfdbinary.readouterr().out
    assert len(printed.decode().splitlines()) == 1
    assert json.loads(printed) == json.loads(json.dumps(value, default=lambda item: item.tolist()))


@pytest.mark.parametrize("value", [{"a": float("nan")}, {"a": [float("-inf"), "\ud800"]}])
def test_what_is_no_number_is_printed_as_null(value: dict[str, object], capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    emit(value)
    assert b"null" in capfdbinary.readouterr().out
