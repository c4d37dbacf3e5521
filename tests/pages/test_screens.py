"""The screens without a browser: what they show and what their buttons write, on real imports."""

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from core.mix import load_recipe
from pages.components.current import first_recipe

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 120


def open_page(name: str, **query: str) -> AppTest:
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=PATIENCE)
    for key, value in query.items():
        app.query_params[key] = value
    app.run()
    if name != "home":
        app.switch_page(f"pages/{name}.py").run()
    assert not app.exception, app.exception[0].stack_trace
    return app


def labels(app: AppTest) -> list[str]:
    return [button.label for button in app.button]


def test_a_first_visit_has_one_button(home):
    assert labels(open_page("home")) == ["Try it on the bundled data"]


@pytest.mark.parametrize("name", ["sources", "mix", "preview", "tokenize", "train", "runs"])
def test_a_page_that_has_nothing_to_show_says_what_to_do_next(home, name):
    app = open_page(name)
    assert not app.error
    assert labels(app) or name == "runs"


def test_a_source_opens_with_its_rows_and_its_quarantine(sources):
    app = open_page("sources", open="sums")
    assert app.title[0].value == "sums"
    assert {"Rows", "Quarantine", "Mapping", "About"} <= {tab.label for tab in app.tabs}


def test_a_source_that_is_not_there_is_one_sentence(sources):
    app = open_page("sources", open="nowhere")
    assert len(app.error) == 1
    assert "nowhere" in app.error[0].value


def test_changed_weights_are_written_when_they_are_saved(sources):
    first_recipe()
    app = open_page("mix")
    assert "Continue to preview" in labels(app)
    [weight] = [field for field in app.number_input if field.label == "Weight of sums, exactly"]
    weight.set_value(7.0).run()
    assert "Save recipe" in labels(app)
    assert load_recipe(sources.recipe("first")).source("sums").weight == 30
    next(button for button in app.button if button.label == "Save recipe").click().run()
    assert not app.exception
    assert load_recipe(sources.recipe("first")).source("sums").weight == 7
    assert "Continue to preview" in labels(app)


def test_slider_and_number_say_the_same(sources):
    first_recipe()
    app = open_page("mix")
    [slider] = [field for field in app.slider if field.label == "Weight of sums"]
    slider.set_value(5.0).run()
    [number] = [field for field in app.number_input if field.label == "Weight of sums, exactly"]
    assert number.value == 5.0


def test_a_shortfall_says_by_how_much_and_keeps_the_page_usable(sources):
    first_recipe()
    app = open_page("mix")
    app.toggle[0].set_value(True).run()
    [budget] = [field for field in app.number_input if field.label == "Conversations in all"]
    budget.set_value(1_000_000).run()
    assert len(app.error) == 1
    assert "short" in app.error[0].value
    assert not app.exception


def test_a_recipe_with_nonsense_in_it_is_one_sentence_and_no_traceback(sources):
    first_recipe()
    sources.recipe("first").write_text("weights = 3\n")
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=PATIENCE).run()
    assert not app.exception
    assert app.error


def test_a_page_whose_address_holds_a_row_can_be_left(sources):
    first_recipe()
    app = open_page("preview", source="sums", row="1")
    next(button for button in app.button if button.label == "Next").click().run()
    next(button for button in app.button if button.label == "Continue to tokenize").click().run()
    assert not app.exception
    assert app.title[0].value == "Tokenize"
