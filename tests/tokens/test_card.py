from core.mix import Recipe, parse_recipe
from core.tokens import Manifest, tokenize
from core.tokens.card import card


def recipe_in(text: str) -> str:
    part = text[text.index("## Recipe") :]
    return "\n".join(line[4:] for line in part.splitlines() if line.startswith("    "))


def test_the_card_holds_the_whole_recipe(two_sources, recipe, tmp_path):
    wanted = Recipe.model_validate(recipe.model_dump() | {"seed": 7, "validation": 0.25})
    tokenize(two_sources, wanted, tmp_path / "set")
    text = (tmp_path / "set" / "README.md").read_text()
    assert parse_recipe(recipe_in(text)).digest == wanted.digest == Manifest.load(tmp_path / "set").recipe_hash


def test_the_card_says_what_each_licence_asks_for_and_no_folder_of_this_machine(two_sources, recipe, tmp_path):
    tokenize(two_sources, recipe, tmp_path / "set")
    manifest = Manifest.load(tmp_path / "set")
    manifest.sources["talks"]["licence"] = "CC-BY-SA-4.0"
    manifest.sources["talks"]["origin"]["hub"] = {"repo": "someone/talks"}
    text = card(manifest)
    assert "| MIT | facts | Keep the copyright notice" in text
    assert "| CC-BY-SA-4.0 | talks | Name the authors" in text
    assert "hub dataset `someone/talks`" in text and "`facts.jsonl`" in text
    assert manifest.sources["facts"]["origin"]["path"] == "facts.jsonl"
    assert str(two_sources.home.parent / "facts.jsonl") not in text
    manifest.sources["talks"]["licence"] = None
    assert "| unknown | talks | Not known here" in card(manifest)
