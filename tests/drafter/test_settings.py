"""Settings that cannot work are refused when they are made, with the value that was found."""

import pytest

from core.drafter import TrainSettings
from core.drafter.settings import BadSettings
from core.drafter.speculators import SpeculatorsSettings


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"block_size": 1}, "slot 0 holds the committed token"),
        ({"anchors": 0}, "at least 1"),
        ({"alpha": 1.5}, "between 0 and 1"),
        ({"learning_rate": 0.0}, "positive"),
        ({"warmup_steps": -1}, "negative"),
        ({"max_seconds": None}, "never ends"),
        ({"max_seconds": 0.0}, "max_seconds must be positive"),
    ],
)
def test_a_setting_that_cannot_work_is_refused(wrong: dict[str, object], said: str) -> None:
    with pytest.raises(BadSettings, match=said):
        TrainSettings(**wrong)  # type: ignore[arg-type]


def test_the_defaults_work_as_they_are() -> None:
    assert TrainSettings().to_json()["block_size"] == 12


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"anchors": "abc"}, "whole number"),
        ({"anchors": None}, "whole number"),
        ({"anchors": 1.5}, "whole number"),
        ({"layers": True}, "whole number"),
        ({"learning_rate": "x"}, "a number"),
        ({"learning_rate": float("nan")}, "a number"),
        ({"max_seconds": float("inf")}, "a number or null"),
        ({"betas": [0.9]}, "2 numbers"),
        ({"betas": 0.9}, "2 numbers"),
        ({"target_layers": ["1"]}, "each a whole number"),
        ({"target_layers": "12"}, "each a whole number"),
        ({"compile": "yes"}, "true or false"),
        ({"loss": ["tokens"]}, "one of choices"),
        ({"warm_start": 3}, "a text or null"),
        ({"seed": 10**23}, "whole number"),
        ({"foo": 1}, "no setting 'foo'"),
    ],
)
def test_a_value_of_another_kind_is_refused_with_the_kind_it_must_be(wrong: dict[str, object], said: str) -> None:
    with pytest.raises(BadSettings, match=said):
        TrainSettings.from_json(wrong)


def test_lists_stand_for_tuples_and_whole_numbers_for_numbers() -> None:
    assert TrainSettings.from_json({"target_layers": [1, 2], "gamma": 4}).target_layers == (1, 2)


@pytest.mark.parametrize("wrong", [{"gpus": "two"}, {"extra": 3}, {"python": 3}, {"nodes": 1.5}, {"foo": 1}])
def test_settings_of_the_other_engine_are_checked_alike(wrong: dict[str, object]) -> None:
    with pytest.raises(BadSettings):
        SpeculatorsSettings.from_json(wrong)
