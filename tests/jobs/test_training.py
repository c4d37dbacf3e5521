"""A training job that was stopped between training and measuring goes on with the measuring; any other drafter is left alone."""

import json
from pathlib import Path
from typing import Any

import pytest

from core.drafter.unfinished import OutputExists
from core.jobs import TrainJob
from core.jobs import training as module
from core.watch import Unwatched
from tests.drafter.conftest import BLOCK, MASK

SETTINGS = {"block_size": BLOCK, "mask_token_id": MASK, "max_seconds": None, "max_steps": 2, "processes": 1}


def job(tmp_path: Path, data: Path, target: Path, **changed: Any) -> TrainJob:
    given = {"home": tmp_path / "home", "data": data, "target": str(target), "out": tmp_path / "drafter", "settings": SETTINGS}
    return TrainJob.model_validate({**given, **changed})


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    found: list[Path] = []

    def measure(drafter: Path, *_: object) -> dict[str, Any]:
        found.append(drafter)
        return {"evaluation": {}, "untrained": {}}

    monkeypatch.setattr(module, "measure", measure)
    return found


def test_a_training_that_was_not_measured_yet_is_measured_by_the_same_job(
    tmp_path: Path,
    data_folder: Path,
    target_folder: Path,
    measured: list[Path],
) -> None:
    trained = job(tmp_path, data_folder, target_folder, evaluate=False).perform(Unwatched())["train"]
    before = (tmp_path / "drafter" / "model.safetensors").stat().st_mtime_ns
    result = job(tmp_path, data_folder, target_folder).perform(Unwatched())
    assert measured == [tmp_path / "drafter"] and set(result) == {"train", "evaluation", "untrained"}
    assert result["train"]["steps"] == trained["steps"] == 2 and result["train"]["path"] == trained["path"]
    assert (tmp_path / "drafter" / "model.safetensors").stat().st_mtime_ns == before


@pytest.mark.parametrize("changed", [{"settings": {**SETTINGS, "seed": 1}}, {"evaluate": False}, {"engine": "speculators"}])
def test_another_training_never_takes_a_drafter_that_is_there_for_its_own(
    tmp_path: Path,
    data_folder: Path,
    target_folder: Path,
    measured: list[Path],
    changed: dict[str, Any],
) -> None:
    job(tmp_path, data_folder, target_folder, evaluate=False).perform(Unwatched())
    with pytest.raises(OutputExists):
        job(tmp_path, data_folder, target_folder, **changed).perform(Unwatched())
    assert not measured


def test_a_measured_drafter_is_not_measured_again_by_its_training(
    tmp_path: Path,
    data_folder: Path,
    target_folder: Path,
    measured: list[Path],
) -> None:
    job(tmp_path, data_folder, target_folder, evaluate=False).perform(Unwatched())
    (tmp_path / "drafter" / "evaluation.json").write_text(json.dumps({"evaluation": {}}))
    with pytest.raises(OutputExists):
        job(tmp_path, data_folder, target_folder).perform(Unwatched())
    assert not measured
