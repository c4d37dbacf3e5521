"""The Tokenize page without a browser: what it says before, and the report after."""

from core.tokens import tokenize
from pages.components import current
from pages.components.current import first_recipe
from pages.components.datasets import dataset_name
from tests.pages.test_screens import labels, open_page


def test_before_it_names_the_command_and_what_each_source_will_lose(sources):
    first_recipe()
    app = open_page("tokenize")
    assert "Tokenize" in labels(app)
    assert any(block.value.startswith("mixdown tokenize first --out") for block in app.code)
    [table] = app.dataframe
    assert table.value["Refusals to expect"].tolist() == ["none in 20 sampled", "none in 30 sampled"]


def test_after_it_shows_the_report_the_vocabulary_and_a_row(sources):
    first_recipe()
    recipe = current.recipe()
    assert recipe is not None
    tokenize(sources, recipe, sources.dataset(dataset_name(recipe)))
    app = open_page("tokenize")
    assert labels(app) == ["Make it again", "Train on this"]
    shown = [block.value for block in app.markdown]
    assert {"**How long the rows are**", "**The tokens trained on most**", "**Left out**", "**Verification**"} <= set(shown)
    assert any("mixdown vocabulary" in block.value for block in app.code)
    assert not app.error
