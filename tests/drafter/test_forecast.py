"""What a training would take is counted from sizes alone, and agrees with what is really built."""

from dataclasses import replace
from pathlib import Path

import pytest

from core.drafter.checkpoint import shape_for
from core.drafter.dataset import TokenizedRows
from core.drafter.defaults import defaults_for, suited
from core.drafter.forecast import drafter_parameters, forecast
from core.drafter.hidden_states import capture
from core.drafter.model import DraftModel
from core.drafter.settings import TrainSettings
from core.drafter.target import TargetModel
from core.drafter.target_facts import NoFacts, TargetFacts
from tests.drafter.conftest import MASK


def test_parameters_are_those_of_the_drafter_that_would_be_built(target: TargetModel, target_folder: Path) -> None:
    facts = TargetFacts.read(target_folder)
    assert (facts.hidden_size, facts.depth, facts.vocab_size) == (48, 3, 64)
    assert facts.parameters == sum(part.numel() for part in target.model.parameters())
    for layers in (1, 3):
        model = DraftModel(shape_for(target, TrainSettings(layers=layers, mask_token_id=MASK)))
        assert drafter_parameters(facts, layers, 3) == sum(part.numel() for part in model.parameters())


def test_the_disk_is_what_the_capture_writes(rows: TokenizedRows, target: TargetModel, target_folder: Path, tmp_path: Path) -> None:
    found = forecast(TargetFacts.read(target_folder), TrainSettings(), rows.tokens, tmp_path / "not" / "there")
    with capture(rows, target, (1, 2, 3), tmp_path / "flat") as states:
        written = sum((states.folder / name).stat().st_size for name in ("states.bf16", "choices.i32"))
    assert found.disk_bytes == written and found.fits and found.kept_bytes == 0
    assert forecast(TargetFacts.read(target_folder), TrainSettings(), 10**15, tmp_path).fits is False


def test_steps_or_time_end_it_whichever_comes_first(target_folder: Path, tmp_path: Path) -> None:
    facts = TargetFacts.read(target_folder)
    limited = forecast(facts, TrainSettings(max_seconds=5, max_steps=10**9), 1000, tmp_path)
    counted = forecast(facts, TrainSettings(max_seconds=None, max_steps=100), 1000, tmp_path)
    assert (limited.train_seconds, limited.estimated) == (5, False) and counted.estimated and counted.steps == 100


def test_defaults_grow_with_the_target_and_what_was_chosen_wins(target_folder: Path) -> None:
    small = TargetFacts.read(target_folder)
    large = replace(small, hidden_size=4096)
    assert suited(small, {}) == {name: getattr(TrainSettings(), name) for name in suited(small, {})}
    assert suited(large, {"layers": 3})["layers"] == 3 and suited(large, {})["gamma"] == 7.0
    assert suited(large, {"block_size": 8})["gamma"] == 4.0
    assert all(default.reason for width in (48, 1024, 4096) for default in defaults_for(replace(small, hidden_size=width)).values())


def test_a_folder_without_a_model_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(NoFacts, match="give the folder of a target model"):
        TargetFacts.read(tmp_path)
