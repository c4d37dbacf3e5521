"""Train in a real browser: start, reload, stop, resume, train again, compare, measure, and the way back to the mix."""

import re

import pytest
from playwright.sync_api import Page, expect

from core.jobs import ImportJob, bundled_items
from core.mix import dump_recipe, load_recipe, recipe_for
from core.sources import Library
from core.tokens import tokenize
from core.watch import Unwatched
from core.workspace import BUNDLED_TARGET, Workspace
from tests.browser.conftest import Dashboard, settled

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(1200)]

LONG = 300_000
"""Milliseconds for a run to end on a busy machine."""
SOURCES = ("openassistant", "xlam")


@pytest.fixture
def dataset(dashboard: Dashboard) -> Workspace:
    """Two small sources, one recipe, one dataset."""
    workspace = Workspace(dashboard.home)
    ImportJob(home=workspace.home, items=[item for item in bundled_items(workspace) if item.name in SOURCES]).perform(Unwatched())
    recipe = recipe_for(Library(workspace), "small", str(BUNDLED_TARGET), sources=SOURCES, amount=90, validation=0.2)
    dump_recipe(recipe, workspace.recipe("small"))
    tokenize(workspace, recipe, workspace.dataset("small"))
    return workspace


def test_train_stop_resume_compare_measure_and_mix_again(dashboard: Dashboard, dataset: Workspace, page: Page):
    page.goto(f"{dashboard.url}/train")
    expect(page.get_by_test_id("dry-run")).to_contain_text("parameters")
    _steps(page, 100_000)
    _press(page, "Train")
    _working(page)
    page.reload()
    _working(page)
    settled(page)
    page.get_by_role("button", name="Stop").click()
    again = page.get_by_role("button", name=re.compile("Resume|Try again"))
    expect(again).to_be_visible(timeout=LONG)
    expect(page.get_by_role("button", name="Train", exact=True)).to_be_enabled()
    settled(page)
    again.click()
    _working(page)
    settled(page)
    page.get_by_role("button", name="Stop").click()
    expect(again).to_be_visible(timeout=LONG)

    _steps(page, 40)
    prompts = page.get_by_label("Held-out prompts to measure")
    prompts.fill("6")
    prompts.press("Enter")
    expect(page.get_by_role("button", name="Train", exact=True)).to_be_enabled()
    _press(page, "Train")
    number = page.get_by_test_id("acceptance-length")
    expect(number).to_be_visible(timeout=LONG)
    assert float(number.inner_text()) >= 1.0
    expect(page.get_by_text("the output equals plain greedy decoding")).to_be_visible()
    expect(page.get_by_test_id("output-plain")).to_be_visible()

    _compare(page)
    _measure(page)
    _suggest(page, dataset)


def _steps(page: Page, steps: int) -> None:
    settled(page)
    page.get_by_role("radio", name="a number of steps").click()
    field = page.get_by_label("Training steps")
    field.fill(str(steps))
    field.press("Enter")
    settled(page)
    page.get_by_text("The command", exact=True).click()
    expect(page.get_by_text(re.compile(f"--max-steps {steps}\\b"))).to_be_visible()
    page.get_by_text("The command", exact=True).click()


def _press(page: Page, name: str) -> None:
    button = page.get_by_role("button", name=name, exact=True)
    expect(button).to_be_enabled()
    settled(page)
    button.click()


def _working(page: Page) -> None:
    """A training that has made steps is on the screen."""
    expect(page.get_by_role("button", name="Training")).to_be_visible()
    expect(page.get_by_text("Right guesses by place in the draft block")).to_be_visible(timeout=LONG)


def _compare(page: Page) -> None:
    settled(page)
    page.get_by_text("Compare trainings").click()
    compared = page.locator(".st-key-compare-trainings")
    expect(compared.locator(".js-plotly-plot")).to_be_visible()
    expect(compared.locator(".legendtext")).not_to_have_count(0)


def _measure(page: Page) -> None:
    settled(page)
    page.get_by_text("Measure it again").click()
    prompts = page.get_by_label("Prompts", exact=True)
    prompts.fill("5")
    prompts.press("Enter")
    longest = page.get_by_label("Longest answer in tokens")
    longest.fill("16")
    longest.press("Enter")
    expect(page.get_by_text(re.compile(r"evaluate .*--prompts 5 --max-new-tokens 16 "))).to_be_visible()
    _press(page, "Measure")
    expect(page.get_by_text("Ways to draft")).to_be_visible(timeout=LONG)
    expect(page.get_by_text("on 5 prompts held out from training")).to_be_visible(timeout=LONG)


def _suggest(page: Page, workspace: Workspace) -> None:
    _press(page, "Suggest a mix")
    expect(page.get_by_text("Next mix: small-2")).to_be_visible()
    _press(page, "Make this recipe")
    expect(page.get_by_role("heading", name="Mix", exact=True)).to_be_visible()
    old, new = load_recipe(workspace.recipe("small")), load_recipe(workspace.recipe("small-2"))
    assert new.name == "small-2" and sum(entry.weight for entry in new.sources) == pytest.approx(
        sum(entry.weight for entry in old.sources), rel=0.01
    )
    expect(page.get_by_role("combobox", name="Recipe")).to_have_value("small-2")
