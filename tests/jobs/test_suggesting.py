"""From a measured drafter to the next recipe: names, and what is said when something is missing."""

import json

import pytest

from core.jobs.suggesting import NotMeasured, next_round, suggestion_for
from core.workspace import Workspace


@pytest.fixture
def workspace(tmp_path) -> Workspace:
    made = Workspace(tmp_path / "home")
    made.recipes.mkdir(parents=True)
    return made


def test_the_next_round_is_numbered_and_never_takes_a_name_that_is_there(workspace):
    assert next_round(workspace, "demo") == "demo-2"
    assert next_round(workspace, "demo-2") == "demo-3"
    workspace.recipe("demo-3").write_text("")
    assert next_round(workspace, "demo-2") == "demo-4"
    assert next_round(workspace, "first-mix") == "first-mix-2"


def test_a_drafter_without_report_or_dataset_is_one_sentence(workspace, tmp_path):
    drafter = tmp_path / "drafter"
    drafter.mkdir()
    with pytest.raises(NotMeasured, match="mixdown evaluate --drafter"):
        suggestion_for(workspace, drafter)
    (drafter / "evaluation.json").write_text(json.dumps({"evaluation": {"by_source": {}, "prompts_by_source": {}}}))
    (drafter / "training_state.json").write_text(json.dumps({"data": "/nowhere"}))
    with pytest.raises(NotMeasured, match="/nowhere"):
        suggestion_for(workspace, drafter)


@pytest.mark.parametrize(
    "report", [3, [], {"evaluation": 3}, {"evaluation": {"by_source": []}}, {"evaluation": {"prompts_by_source": [1], "by_source": 2}}]
)
def test_a_report_of_another_form_is_one_sentence(workspace, tmp_path, report):
    (tmp_path / "evaluation.json").write_text(json.dumps(report))
    with pytest.raises(NotMeasured, match="mixdown evaluate --drafter"):
        suggestion_for(workspace, tmp_path)


@pytest.mark.parametrize("state", [[], {"data": 7}, {"data": ""}])
def test_a_training_of_another_form_is_one_sentence(workspace, tmp_path, state):
    (tmp_path / "evaluation.json").write_text(json.dumps({"evaluation": {"by_source": {}, "prompts_by_source": {}}}))
    (tmp_path / "training_state.json").write_text(json.dumps(state))
    with pytest.raises(NotMeasured, match="nobody knows its mix"):
        suggestion_for(workspace, tmp_path)


def test_a_drafter_that_is_not_there_is_said_to_be_missing(workspace, tmp_path):
    with pytest.raises(NotMeasured, match="There is no drafter"):
        suggestion_for(workspace, tmp_path / "nowhere")
