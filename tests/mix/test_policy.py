"""What a recipe says about repairs: its sources must have been imported like that."""

from pathlib import Path

import pytest

from core.dialects import Policy
from core.jobs import ImportJob, again_item, perform_here
from core.mix import OtherwiseImported, Recipe, RecipeError, difference, parse_recipe, plan, recipe_text
from core.sources import Library, import_source
from core.workspace import Workspace
from tests.sources.conftest import talk, write_rows

TEXT = """
[target]
path = "target"

[[sources]]
name = "talks"
weight = 1
policy = { nul_removed = "quarantine", unknown_role = "repair" }
"""


def test_a_source_that_was_imported_otherwise_is_named_with_the_command_that_helps(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "home")
    recipe = parse_recipe(TEXT)
    import_source(workspace, "talks", write_rows(tmp_path / "talks.jsonl", [talk("one"), talk("t\0wo"), talk("three")]))
    with pytest.raises(OtherwiseImported, match="nul_removed is repair instead of quarantine") as error:
        plan(recipe, Library(workspace))
    assert "mixdown import talks --again --policy nul_removed=quarantine --policy unknown_role=repair" in str(error.value)
    items = (again_item(workspace, "talks", recipe.sources[0].policy),)
    perform_here(ImportJob(home=workspace.home, items=items))
    assert plan(recipe, Library(workspace)).total == 2
    assert Library(workspace).source("talks").ledger.reasons == {"nul_removed": 1}


def test_a_default_that_the_recipe_spells_out_is_met_by_an_import_that_says_nothing(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "home")
    import_source(workspace, "talks", write_rows(tmp_path / "talks.jsonl", [talk("one")]), policy=Policy({"no_user": "keep"}))
    spelled = TEXT.replace('nul_removed = "quarantine", unknown_role = "repair"', 'nul_removed = "repair"')
    assert plan(parse_recipe(spelled), Library(workspace)).total == 1


def test_the_policy_is_written_and_read_back_and_counts_in_the_digest() -> None:
    recipe = parse_recipe(TEXT)
    assert recipe.sources[0].policy == {"nul_removed": "quarantine", "unknown_role": "repair"}
    assert parse_recipe(recipe_text(recipe)) == recipe == parse_recipe(recipe_text(recipe, TEXT))
    plain = Recipe.model_validate({"target": {"path": "target"}, "sources": [{"name": "talks", "weight": 1}]})
    assert "policy" not in recipe_text(plain)
    assert plain.digest != recipe.digest
    assert difference(plain, recipe) == ["talks: policy.nul_removed (none) → quarantine", "talks: policy.unknown_role (none) → repair"]


@pytest.mark.parametrize(
    ("policy", "says"), [('{ shouting = "repair" }', "No repair or reason"), ('{ bad_json = "keep" }', "cannot be set to")]
)
def test_a_code_or_an_action_that_is_not_there_is_a_mistake_with_its_line(policy: str, says: str) -> None:
    wrong = TEXT.replace('{ nul_removed = "quarantine", unknown_role = "repair" }', policy)
    with pytest.raises(RecipeError, match="line 8") as error:
        parse_recipe(wrong)
    assert says.lower() in str(error.value).lower()
