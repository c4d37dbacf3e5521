"""The curve of a training that goes on is whole in its new run, and no step stands in it twice."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.jobs.curve import CURVE, WholeCurve
from core.watch import Cancelled, Unwatched
from tests.jobs.test_training import SETTINGS, job


class Recorder(Unwatched):
    def __init__(self, stop_at: int = 0) -> None:
        self.points: list[dict[str, Any]] = []
        self._stop_at = stop_at

    def metric(self, values: Mapping[str, float | int | str]) -> None:
        self.points.append(dict(values))

    def cancelled(self) -> bool:
        return bool(self._stop_at and self.points and self.points[-1]["step"] >= self._stop_at)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=4), st.booleans())
def test_after_any_kills_the_last_run_has_every_step_once_as_it_was_trained_last(tmp_path_factory, kills, torn):
    folder, done = tmp_path_factory.mktemp("curve"), 0
    expected: dict[int, int] = {}
    for number, (steps, lost) in enumerate([*kills, (3, 0)]):
        told = Recorder()
        curve = WholeCurve(told, folder)
        for step in range(done + 1, done + steps + 1):
            expected[step] = number
            curve.metric({"step": step, "run": number})
        curve.ended()
        if torn:
            with (folder / CURVE).open("a") as file:
                file.write('{"step": ')  # a line that a kill cut off
        assert steps == 0 or [(point["step"], point["run"]) for point in told.points] == sorted(expected.items())[: done + steps]
        done = max(0, done + steps - lost)
    assert [point["step"] for point in told.points] == list(range(1, len(told.points) + 1))


def test_a_training_that_is_stopped_and_goes_on_tells_all_of_its_steps(
    tmp_path: Path,
    data_folder: Path,
    target_folder: Path,
) -> None:
    settings = {**SETTINGS, "max_steps": 9, "validate_every": 3}
    first, second = Recorder(stop_at=4), Recorder()
    training = job(tmp_path, data_folder, target_folder, evaluate=False, settings=settings)
    with pytest.raises(Cancelled):
        training.perform(first)
    training.perform(second)
    assert [point["step"] for point in second.points if "loss" in point] == list(range(1, 10))
    assert second.points[: len(first.points)] == first.points
    assert [point["step"] for point in second.points if "loss" not in point] == [3, 6, 9]


def test_a_training_that_begins_anew_has_nothing_of_the_one_before(
    tmp_path: Path,
    data_folder: Path,
    target_folder: Path,
) -> None:
    with pytest.raises(Cancelled):
        job(tmp_path, data_folder, target_folder, evaluate=False, settings={**SETTINGS, "max_steps": 9}).perform(Recorder(stop_at=4))
    told = Recorder()
    job(tmp_path, data_folder, target_folder, evaluate=False, settings={**SETTINGS, "seed": 3}).perform(told)
    assert [point["step"] for point in told.points if "loss" in point] == [1, 2]
