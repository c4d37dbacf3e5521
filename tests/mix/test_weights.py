import pytest

from core.mix import EmptyLibrary, UnknownPreset, plan, recipe_for
from core.sources import SourceMissing


def test_proportional_weights_use_every_row_once(library_of, sized):
    library = library_of(sized("gsm8k", 0, prompt_only=3), b=20, a=10)
    recipe = recipe_for(library, "all", "demo", validation=0.1, seed=3)
    assert [(source.name, source.weight) for source in recipe.sources] == [("a", 10), ("b", 20)]
    assert (recipe.name, recipe.seed, recipe.validation, recipe.target.path) == ("all", 3, 0.1, "demo")
    assert plan(recipe, library).total == 30


def test_equal_and_given_weights(library_of):
    library = library_of(a=10, b=20)
    assert [source.weight for source in recipe_for(library, "m", "demo", weights="equal", amount=4).sources] == [1, 1]
    assert [source.weight for source in recipe_for(library, "m", "demo", weights={"b": 2}, sources=["b", "a"]).sources] == [0, 2]


def test_what_is_not_there_is_an_input_error(library_of):
    with pytest.raises(EmptyLibrary):
        recipe_for(library_of(), "m", "demo")
    with pytest.raises(SourceMissing):
        recipe_for(library_of(a=1), "m", "demo", sources=["b"])
    with pytest.raises(UnknownPreset):
        recipe_for(library_of(a=1), "m", "demo", weights="best")
