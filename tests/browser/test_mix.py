"""The Mix page with mouse and keyboard: every move shows its whole effect, can be taken back, and is written when it is saved."""

import json
import re

import pytest
from playwright.sync_api import Page, expect

from core.mix import Recipe, RecipeSource, RecipeTarget, load_recipe, save_recipe
from core.sources import import_source
from core.workspace import BUNDLED_TARGET, Workspace
from tests.browser.conftest import Dashboard
from tests.browser.conftest import settled as still

pytestmark = pytest.mark.browser

FIRST = 180_000
"""Milliseconds until a page of a fresh server stands, target loaded and samples measured, on a busy machine."""

SIZES = {"talk": (300, "chat"), "programs": (200, "code"), "calls": (100, "tool calling")}


@pytest.fixture
def mix(dashboard: Dashboard) -> Dashboard:
    """A server whose library holds three sources of 300, 200 and 100 rows, and a recipe that weighs them by size."""
    workspace = Workspace(dashboard.home)
    for name, (rows, domain) in SIZES.items():
        origin = dashboard.home.parent / f"{name}.jsonl"
        said = ([{"role": "user", "content": f"{name} {row}?"}, {"role": "assistant", "content": f"{row} it is."}] for row in range(rows))
        origin.write_text("".join(json.dumps({"messages": turns}) + "\n" for turns in said), encoding="utf-8")
        import_source(workspace, name, origin, domain=domain)
    save_recipe(workspace, recipe())
    return dashboard


def recipe(**changes: object) -> Recipe:
    sources = tuple(RecipeSource(name=name, weight=rows) for name, (rows, _) in SIZES.items())
    return Recipe.model_validate({"name": "mine", "target": RecipeTarget(path=str(BUNDLED_TARGET)), "sources": sources, **changes})


def settled(page: Page) -> None:
    """Wait until samples are measured and nothing moves any more."""
    expect(page.locator("#root")).to_contain_text("trainable (")
    still(page)


def opened(mix: Dashboard, page: Page, query: str = "") -> None:
    page.goto(f"{mix.url}/mix{query}")
    expect(page.locator("#root")).to_contain_text("trainable (", timeout=FIRST)
    settled(page)


def said(page: Page, source: str, weight: float) -> None:
    """Slider and number of a source say the same."""
    slider = page.locator(f'input[type=range][aria-label="Weight of {source}"][aria-valuetext="{weight:g}"]')
    expect(slider).to_have_count(1)
    holds(page, f"Weight of {source}, exactly", f"{weight:g}")
    settled(page)


def holds(page: Page, label: str, value: str) -> None:
    """Wait until there is one field of that name and it holds the value; while a page is redrawn the old one may stand beside it."""
    page.wait_for_function(
        "([label, value]) => { const all = [...document.querySelectorAll('input')].filter(one => one.ariaLabel === label);"
        " return all.length === 1 && all[0].value === value }",
        arg=[label, value],
    )


def typed(page: Page, label: str, text: str) -> None:
    field = page.get_by_label(label, exact=True)
    field.fill(text)
    field.press("Enter")


def total(page: Page, rows: str) -> None:
    expect(page.locator(".st-key-mix-total .md-figures b").first).to_have_text(rows)


def domain(page: Page, name: str, share: str) -> None:
    """A domain's share, in the table and in the treemap beside it."""
    expect(page.locator(f'[data-domain="{name}"]')).to_have_text(f"{share}\u00a0%")
    expect(page.locator(".st-key-mix-treemap g.slice").filter(has_text=re.compile(rf"^{name}")).first).to_be_visible()


def areas(page: Page) -> dict[str, float]:
    """What the treemap draws: source → amount."""
    drawn = page.locator(".st-key-mix-treemap .js-plotly-plot").evaluate("one => [one.data[0].ids, [...one.data[0].values]]")
    return {name.removeprefix("source "): value for name, value in zip(*drawn, strict=True) if name.startswith("source ")}


def test_a_weight_moves_by_slider_and_by_typing_and_picture_and_totals_follow(mix: Dashboard, page: Page):
    opened(mix, page)
    total(page, "600")
    domain(page, "tool calling", "16.7")
    assert areas(page) == {"talk": 300, "programs": 200, "calls": 100}

    typed(page, "Weight of talk, exactly", "150")
    said(page, "talk", 150)
    total(page, "450")
    domain(page, "tool calling", "22.2")
    settled(page)
    assert areas(page) == {"talk": 150, "programs": 200, "calls": 100}

    slider = page.get_by_role("slider", name="Weight of programs")
    slider.focus()
    slider.press("ArrowLeft")
    said(page, "programs", 195)
    total(page, "445")
    domain(page, "code", "43.8")
    expect(page.get_by_role("button", name="2 unsaved changes")).to_be_visible()
    assert load_recipe(Workspace(mix.home).recipe("mine")).source("talk").weight == 300


def test_a_slider_moved_faster_than_the_page_is_drawn_keeps_every_step(mix: Dashboard, page: Page):
    opened(mix, page)
    weight = 200
    for steps in (2, 3, 2, 4):
        slider = page.get_by_role("slider", name="Weight of programs")
        slider.focus()
        for _ in range(steps):
            slider.press("ArrowLeft")
        weight -= 5 * steps
        said(page, "programs", weight)
    expect(page.get_by_role("button", name=re.compile("unsaved change"))).to_be_visible()


def test_a_kept_weight_stays_while_the_others_make_room(mix: Dashboard, page: Page):
    opened(mix, page)
    page.locator("label", has=page.get_by_label("Keep the weight of talk")).click()
    settled(page)
    typed(page, "Weight of calls, exactly", "200")
    said(page, "calls", 200)
    said(page, "talk", 300)
    said(page, "programs", 100)
    # Without a budget the source that is asked for most of what it has limits all.
    total(page, "300")
    expect(page.get_by_text("gives all that it may, and so limits the total")).to_be_visible()


def test_every_change_is_undone_and_redone(mix: Dashboard, page: Page):
    opened(mix, page)
    undo, redo = page.get_by_role("button", name="Undo", exact=True), page.get_by_role("button", name="Redo", exact=True)
    expect(undo).to_be_disabled()
    typed(page, "Weight of talk, exactly", "30")
    said(page, "talk", 30)
    settled(page)
    page.get_by_text("Limit the total").click()
    holds(page, "Conversations in all", "330")
    settled(page)
    typed(page, "Conversations in all", "110")
    total(page, "110")
    settled(page)
    expect(redo).to_be_disabled()

    undo.click()
    total(page, "330")
    settled(page)
    undo.click()
    expect(page.get_by_label("Conversations in all")).to_have_count(0)
    settled(page)
    undo.click()
    said(page, "talk", 300)
    total(page, "600")
    expect(undo).to_be_disabled()
    settled(page)
    redo.click()
    said(page, "talk", 30)
    redo.click()
    holds(page, "Conversations in all", "330")
    settled(page)
    redo.click()
    total(page, "110")
    said(page, "talk", 30)
    expect(redo).to_be_disabled()


def test_a_saved_recipe_is_there_after_a_reload_and_its_versions_can_be_compared(mix: Dashboard, page: Page):
    opened(mix, page)
    typed(page, "Weight of calls, exactly", "80")
    total(page, "580")
    settled(page)
    page.get_by_role("button", name="Save recipe").click()
    expect(page.get_by_role("button", name="Continue to preview")).to_be_visible()
    settled(page)
    assert load_recipe(Workspace(mix.home).recipe("mine")).source("calls").weight == 80

    opened(mix, page)
    said(page, "calls", 80)
    total(page, "580")
    page.get_by_role("radio", name="History and diff").click()
    expect(page.get_by_text("calls: weight 100 → 80")).to_be_visible()
    expect(page).to_have_url(re.compile("section=history"))
    page.reload()
    expect(page.get_by_text("calls: weight 100 → 80")).to_be_visible(timeout=FIRST)


def test_a_shortfall_says_by_how_much_and_one_button_lets_the_others_fill_in(mix: Dashboard, page: Page):
    save_recipe(Workspace(mix.home), recipe(budget={"amount": 500}))
    opened(mix, page)
    total(page, "500")
    typed(page, "Weight of calls, exactly", "500")
    # 500 in proportion 3 : 2 : 5 asks for 250 of the 100 calls.
    expect(page.get_by_text("The mix is 150 conversations short of 500")).to_be_visible()
    box = page.locator(".st-key-mix-shortfall")
    expect(box).to_contain_text("calls: its weight asks for 250 rows, it gives 100")
    expect(box).to_contain_text("150 rows short")
    expect(box).to_contain_text("2.50 epochs")
    expect(page.get_by_text("Before you save: calls would be used 2.50 times, its cap is 1.00")).to_be_visible()
    settled(page)

    page.get_by_role("button", name="Let the others fill in").click()
    total(page, "500")
    expect(box).to_have_count(0)
    settled(page)
    assert areas(page) == {"talk": 240, "programs": 160, "calls": 100}
    expect(page.get_by_text("150 rows fewer than its weight asks")).to_be_visible()
    page.get_by_role("button", name="Undo", exact=True).click()
    expect(box).to_be_visible()
