from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest

from core.mix import Recipe, difference
from core.mix.history import NoSuchVersion, recipe_names, recipe_version, recipe_versions, restore_recipe, save_recipe, save_recipe_text
from core.workspace import Workspace


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


def _save_five(home: str, first: int) -> None:
    for weight in range(first, first + 5):
        save_recipe(Workspace(Path(home)), recipe(weight))


def test_versions_saved_by_several_processes_at_once_are_all_kept(tmp_path):
    with ProcessPoolExecutor(4, mp_context=get_context("spawn")) as pool:
        for done in [pool.submit(_save_five, str(tmp_path), first) for first in (1, 11, 21, 31)]:
            done.result()
    versions = recipe_versions(Workspace(tmp_path), "first")
    assert [version.number for version in versions] == list(range(20, 0, -1))
    saved = {recipe_version(Workspace(tmp_path), "first", version.number).source("a").weight for version in versions}
    assert saved == {first + step for first in (1, 11, 21, 31) for step in range(5)}


def test_a_recipe_saved_as_text_keeps_every_character_and_the_version_before_it(workspace):
    save_recipe(workspace, recipe(1))
    text = '# why\nname = "first"   # mine\n[target]\npath = "t"\n[[sources]]\nname = "a"\nweight = 2 # two\n'
    assert save_recipe_text(workspace, text).source("a").weight == 2
    assert workspace.recipe("first").read_text() == text
    assert [version.number for version in recipe_versions(workspace, "first")] == [2, 1]


def test_looking_for_versions_of_an_unknown_name_leaves_nothing_behind(tmp_path):
    with pytest.raises(NoSuchVersion):
        recipe_versions(Workspace(tmp_path), "nobody")
    assert list(tmp_path.iterdir()) == []
