"""What is printed for programs."""

import json

import numpy as np
import pytest

from core.commands.output import emit


@pytest.mark.parametrize("value", [{"a": "\ud800"}, {"a": 2**70}, {"a": np.int64(3), "b": np.array([1, 2])}, {"a": "é\n"}, []])
def test_any_value_becomes_one_line_of_json(value: object, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    emit(value)  # type: ignore[arg-type]
    printed = capfdbinary.readouterr().out
    assert printed.count(b"\n") == 1
    assert json.loads(printed) == json.loads(json.dumps(value, default=lambda item: item.tolist()))
