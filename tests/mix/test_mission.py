"""The shipped example recipe, over sources of the sizes it was written for."""

import pytest

from core.mix import load_recipe, plan, recipe_text
from core.sources import Catalogue
from core.workspace import BUNDLED_RECIPES

SIZES = {
    "openorca": ("chat", 371_160), "sharegpt": ("chat", 45_019), "ultrachat": ("chat", 40_017), "openassistant": ("chat", 39_017),
    "evol-codealpaca": ("code", 110_048), "magicoder": ("code", 75_032), "code-alpaca": ("code", 20_009),
    "swe-agent": ("agentic", 76_043), "swe-smith": ("agentic", 24_000),
    "glaive": ("tool calling", 60_000), "qwen35-tools": ("tool calling", 50_000), "toolmind": ("tool calling", 30_000),
    "hermes": ("tool calling", 1_893), "hermes-single": ("tool calling", 1_893),
}  # fmt: skip


class Sized:
    """A source with so many rows and nothing in them: a plan in rows asks no more."""

    problem = None

    def __init__(self, name, domain, rows):
        self.name, self.domain, self.rows = name, domain, rows


class Stand:
    def __init__(self, sizes):
        self._sources = {name: Sized(name, domain, rows) for name, (domain, rows) in sizes.items()}

    def names(self):
        return list(self._sources)

    def source(self, name):
        return self._sources[name]


@pytest.fixture
def recipe():
    return load_recipe(BUNDLED_RECIPES / "mission.toml")


def test_it_plans_against_sources_of_those_sizes_to_the_row(recipe):
    made = plan(recipe, Stand(SIZES))
    assert made.total == 913_786
    assert {domain: part["rows"] for domain, part in made.domains().items()} == {
        "agentic": 100_043,
        "chat": 495_213,
        "code": 205_089,
        "tool calling": 113_441,
    }
    assert all(part.rows == SIZES[part.name][1] for part in made.sources if part.domain != "tool calling")
    assert all(part.shortfall == 0 and part.epochs <= 1 for part in made.sources)


def test_sources_of_round_thousands_are_made_up_for_by_tool_calls(recipe):
    rounded = {name: (domain, rows if domain == "tool calling" else rows // 1000 * 1000) for name, (domain, rows) in SIZES.items()}
    rounded["openassistant"] = ("chat", 13_000)  # three epochs of what its trees give
    made = plan(recipe, Stand(rounded))
    assert made.total == 913_786
    assert made.domains()["tool calling"]["rows"] == 113_786
    assert made.source("openorca").rows == 371_000
    assert (made.source("openorca").shortfall, made.source("openorca").limit) == (160, "371000 rows × max_epochs = 1")
    assert made.source("openassistant").epochs == 3


def test_it_names_sources_of_the_catalogue_that_may_stand_together(recipe, workspace):
    catalogue = Catalogue.load(workspace)
    names = {entry.name for entry in recipe.sources}
    overlapping = set()
    for name in names:
        entry = catalogue.entry(name)
        assert not entry.evaluation
        assert entry.domain == SIZES[name][0]
        overlapping |= {tuple(sorted((name, other))) for other in entry.overlaps if other in names}
    assert overlapping == {("glaive", "toolmind"), ("hermes", "hermes-single")}  # all four are asked for


def test_its_comments_survive(recipe):
    text = (BUNDLED_RECIPES / "mission.toml").read_text()
    assert recipe_text(recipe, text) == text
