"""Settings that cannot work are refused when they are made, with the value that was found."""

import pytest

from core.drafter import TrainSettings
from core.drafter.settings import BadSettings


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
