import pytest

from core.mix import Recipe, difference
from core.mix.history import NoSuchVersion, recipe_names, recipe_version, recipe_versions, restore_recipe, save_recipe


def recipe(weight, name="first"):
    return Recipe.model_validate({"name": name, "target": {"path": "demo"}, "sources": [{"name": "a", "weight": weight}]})


def test_every_save_that_changes_something_is_a_version(workspace):
    assert [save_recipe(workspace, recipe(weight)) for weight in (1, 2, 2, 3)] == [1, 2, 2, 3]
    save_recipe(workspace, recipe(9, "other"))
    assert recipe_names(workspace) == ["first", "other"]
    versions = recipe_versions(workspace, "first")
    assert [(version.number, version.changes) for version in versions] == [(3, 1), (2, 1), (1, None)]
    assert versions[0].digest == recipe(3).digest
    one, two = (recipe_version(workspace, "first", number) for number in (1, 3))
    assert difference(one, two) == ["a: weight 1 → 3"]
    assert recipe_version(workspace, "first") == recipe(3)


def test_what_was_written_by_hand_is_a_version_too_and_nonsense_is_no_obstacle(workspace):
    save_recipe(workspace, recipe(1))
    path = workspace.recipe("first")
    by_hand = path.read_text().replace("weight = 1.0", "weight = 5  # mine")
    path.write_text(by_hand)
    assert [version.number for version in recipe_versions(workspace, "first")] == [2, 1]
    path.write_text("[[[")
    assert [version.digest is None for version in recipe_versions(workspace, "first")] == [True, False, False]
    assert save_recipe(workspace, recipe(7)) == 4
    assert restore_recipe(workspace, "first", 2) == 5
    assert path.read_text() == by_hand


def test_what_is_not_there_is_named(workspace):
    with pytest.raises(NoSuchVersion, match="no recipe 'first'"):
        recipe_versions(workspace, "first")
    save_recipe(workspace, recipe(1))
    with pytest.raises(NoSuchVersion, match="has no version 7: it has 1 to 1"):
        recipe_version(workspace, "first", 7)
    with pytest.raises(NoSuchVersion, match="there are first"):
        recipe_version(workspace, "second")
