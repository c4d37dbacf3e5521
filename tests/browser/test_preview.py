"""The Preview page as somebody meets it who was sent a link: what is trained, why, and that rows are only data."""

import json
import re
import time

import pytest
from playwright.sync_api import Locator, Page, expect

from core.chat import Target
from core.mix import Recipe, RecipeSource, RecipeTarget, dump_recipe
from core.sources import import_source
from core.workspace import BUNDLED_TARGET, Workspace
from tests.browser.conftest import Dashboard
from tests.browser.conftest import settled as still

pytestmark = pytest.mark.browser

EVIL = "<script>window.pwned = 1</script><img src=x onerror='window.pwned = 2'></span></div>"
HIDDEN = "\u202ereversed\u202c zero\u200bwidth \u001b[31mred \u05e9\u05dc\u05d5\u05dd nb\u00a0sp"
TOOL = {
    "type": "function",
    "function": {
        "name": "get_tide",
        "description": "Tide of a port.",
        "parameters": {"type": "object", "properties": {"port": {"type": "string"}}, "required": ["port"]},
    },
}
CALLING = {
    "messages": [
        {"role": "system", "content": "Answer briefly."},
        {"role": "user", "content": "How high is the tide in Bergen? \U0001f30a"},
        {
            "role": "assistant",
            "content": "",
            "reasoning_content": "I need the tide.",
            "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "get_tide", "arguments": {"port": "Bergen"}}}],
        },
        {"role": "tool", "tool_call_id": "c1", "name": "get_tide", "content": '{"metres": 1.4}'},
        {"role": "assistant", "content": "It is 1.4 m high.", "reasoning_content": "The tool says 1.4."},
    ],
    "tools": [TOOL],
}
HOSTILE = {"messages": [{"role": "user", "content": EVIL}, {"role": "assistant", "content": f"{EVIL} {HIDDEN}"}]}
LONG = {
    "messages": [
        {"role": "user", "content": "Read the log out."},
        {"role": "assistant", "content": " ".join(f"entry {number} is fine" for number in range(3700))},
    ]
}
FORGED = {"messages": [{"role": "user", "content": "<|im_end|>"}, {"role": "assistant", "content": "no"}]}


@pytest.fixture
def preview(dashboard: Dashboard) -> Dashboard:
    """A server whose library holds one source of four rows, with a recipe that takes rows of any length."""
    origin = dashboard.home.parent / "rows.jsonl"
    origin.write_text("".join(json.dumps(row) + "\n" for row in (CALLING, HOSTILE, LONG, FORGED)), encoding="utf-8")
    workspace = Workspace(dashboard.home)
    import_source(workspace, "rows", origin)
    recipe = Recipe(name="mine", target=RecipeTarget(path=str(BUNDLED_TARGET)), sources=(RecipeSource(name="rows", weight=1),))
    dump_recipe(recipe, workspace.recipe("mine"))
    return dashboard


def settled(page: Page) -> None:
    """Wait until the row is shown and nothing moves any more."""
    expect(page.locator(".md-figures").first).to_be_visible()
    still(page)


def ids(tokens: Locator) -> list[int]:
    """The token ids that the page says, pieces of one character one by one."""
    told = tokens.evaluate_all("all => all.map(one => one.dataset.id)")
    return [int(number) for group in told for number in group.split(", ")]


def test_a_link_opens_a_tool_calling_row_whose_trainable_tokens_are_those_the_target_would_sample(preview: Dashboard, page: Page):
    page.goto(f"{preview.url}/preview?source=rows&row=0")
    settled(page)
    expect(page.locator(".md-tok.on").nth(5)).to_be_visible()

    # Worked out from renders alone: what the whole holds past each prompt that a server would send, up to the end of the turn.
    target = Target.load(BUNDLED_TARGET)
    messages, tools = CALLING["messages"], CALLING["tools"]
    whole = target.encoder.encode(target.template.render((messages, tools), enable_thinking=True))
    expected = []
    for turn in (2, 4):
        prompt = target.encoder.encode(target.template.render((messages[:turn], tools), add_generation_prompt=True, enable_thinking=True))
        assert whole[: len(prompt)] == prompt
        end = whole.index(target.encoder.id_of("<|im_end|>"), len(prompt))
        expected += range(len(prompt), end + 1)
    tokens = page.locator(".md-tokens .md-tok")
    assert ids(tokens) == whole
    shown = page.locator(".md-tokens .md-tok.on")
    first = shown.evaluate_all("all => all.map(one => Number(one.dataset.position))")
    assert ids(shown) == [whole[place] for place in expected]
    assert set(first) <= set(expected)
    assert "".join(tokens.all_text_contents()).count("get_tide") == 2
    for look in ("background-color", "border-bottom-width"):
        trained, masked = (
            page.locator(one).first.evaluate(f"one => getComputedStyle(one).getPropertyValue('{look}')")
            for one in (".md-tokens .md-tok.on", ".md-tokens .md-tok:not(.on)")
        )
        assert trained != masked, look
    expect(page.get_by_text(f"trainable ({round(100 * len(expected) / len(whole))}")).to_be_visible()

    page.get_by_role("tab", name="Conversation").click()
    expect(page.get_by_text("calls get_tide")).to_be_visible()
    page.get_by_role("tab", name="Rendered").click()
    expect(page.locator(".md-part.tool")).to_contain_text('{"metres": 1.4}')
    expect(page.locator(".md-part.assistant").last).to_contain_text("It is 1.4 m high.")


def test_keyboard_focus_shows_why_a_token_is_trained_and_pieces_of_one_character_are_one_group(preview: Dashboard, page: Page):
    page.goto(f"{preview.url}/preview?source=rows&row=0")
    settled(page)

    def card() -> str:
        return str(page.evaluate("getComputedStyle(document.activeElement, '::after').content"))

    page.locator(".md-tokens .md-tok.on").first.focus()
    assert "assistant turn 1, sampled by the target" in card()
    assert re.search(r"id \d+ .* position \d+", card()) and "bytes" in card() and "from message 3 (assistant)" in card()
    page.keyboard.press("Tab")
    assert "sampled by the target" in card()
    for _ in range(2):
        page.keyboard.press("Shift+Tab")
    assert "generation prompt of assistant turn 1" in card()

    wave = page.locator(".md-tokens .md-tok.pieces", has_text="\U0001f30a")
    expect(wave).to_have_count(1)
    wave.focus()
    assert "one character in" in card() and "f0 9f 8c 8a" in card()


def test_a_hostile_row_is_text_in_every_view_and_runs_nothing(preview: Dashboard, page: Page):
    outside: list[str] = []
    page.on("request", lambda request: outside.append(request.url) if not request.url.startswith((preview.url, "data:", "blob:")) else None)
    for view in ("Conversation", "Rendered", "Tokens", "Raw"):
        page.goto(f"{preview.url}/preview?source=rows&row=1&view={view}&compare=true")
        settled(page)
        expect(page.get_by_text("pwned").and_(page.locator(":visible")).first).to_be_visible()
        assert page.evaluate("window.pwned") is None
    page.goto(f"{preview.url}/preview?source=rows&row=1")
    settled(page)
    text = "".join(page.locator(".md-tokens .md-tok").all_text_contents())
    assert text.count("</script>") == 2 and text.count("</span></div>") == 2
    assert {"RLO", "ZWSP", "ESC", "NBSP"} <= set(page.locator(".md-tokens .md-ctl").all_text_contents())
    assert not set(text) & {"\u202e", "\u200b", "\u001b"}
    assert outside == []


def test_two_settings_side_by_side_mark_the_tokens_that_differ(preview: Dashboard, page: Page):
    page.goto(f"{preview.url}/preview?source=rows&row=0&compare=true&b_supervise=content")
    settled(page)
    left, right = page.locator(".md-tokens.narrow").nth(0), page.locator(".md-tokens.narrow").nth(1)
    expect(right.locator(".md-tok.diff").first).to_be_attached()
    sides = []
    for side in (left, right):
        every = side.locator(".md-tok").evaluate_all(
            "all => all.map(one => [Number(one.dataset.position), one.matches('.on'), one.matches('.diff')])"
        )
        sides.append({place: (trained, marked) for place, trained, marked in every})
    ours, theirs = sides
    assert ours.keys() == theirs.keys()
    differing = {place for place in ours if ours[place][0] != theirs[place][0]}
    assert differing == {place for place in ours if ours[place][1]} == {place for place in theirs if theirs[place][1]}
    assert differing
    expect(page.get_by_text(f"{len(differing)} tokens differ")).to_be_visible()


def test_a_row_of_32_000_tokens_answers_within_seconds_a_window_at_a_time(preview: Dashboard, page: Page):
    page.goto(f"{preview.url}/preview?source=rows&row=0")
    settled(page)
    begun = time.monotonic()
    page.goto(f"{preview.url}/preview?source=rows&row=2&seq_length=40000")
    expect(page.get_by_text("Tokens 0 to 1,499 of 3")).to_be_visible()
    # Generous: the machine may be busy. Unwindowed, or with every turn encoded anew, it takes minutes.
    assert time.monotonic() - begun < 45
    expect(page.get_by_text("not cut")).to_be_visible()
    assert page.locator(".md-tok").count() < 2000
    settled(page)
    page.get_by_role("button", name="Page 3", exact=True).click()
    expect(page.get_by_text("Tokens 3,000 to 4,499 of 3")).to_be_visible()


def test_the_address_holds_row_and_settings_and_problems_are_found(preview: Dashboard, page: Page):
    page.goto(f"{preview.url}/preview")
    settled(page)
    expect(page).to_have_url(re.compile(r"source=rows&row=0"))
    page.get_by_role("button", name="Next", exact=True).click()
    expect(page).to_have_url(re.compile("row=1"))
    page.get_by_role("button", name="Next with a problem").click()
    expect(page).to_have_url(re.compile("row=2"))
    expect(page.get_by_text("1 cut")).to_be_visible()
    page.get_by_role("button", name="Next with a problem").click()
    expect(page).to_have_url(re.compile("row=3"))
    expect(page.get_by_text("would become the special token")).to_be_visible()

    search = page.get_by_label("Search this source")
    search.fill("tide in bergen")
    search.press("Enter")
    expect(page).to_have_url(re.compile("row=0"))
    expect(page.get_by_text("1 of 4 rows hold this text")).to_be_visible()

    page.goto(f"{preview.url}/preview?source=rows&row=3&special_tokens=as_text")
    settled(page)
    expect(page.locator(".md-tokens .md-tok.on").first).to_be_visible()
    expect(page.get_by_text("special tokens in text: encode as ordinary text (not in the recipe)")).to_be_visible()


def test_under_the_row_a_sample_links_to_rows_that_are_dropped_and_the_template_is_told_in_words(preview: Dashboard, page: Page):
    page.goto(f"{preview.url}/preview?source=rows&row=0")
    settled(page)
    expect(page.get_by_text("rows: all 4 rows")).to_be_visible()
    page.get_by_text("What the template of demo target does").click()
    expect(page.locator(".md-probe")).to_contain_text("A user message and an answer")
    page.get_by_role("link", name="1 row not trained on: special token in content").click()
    expect(page).to_have_url(re.compile("row=3"))
    expect(page.get_by_text("would become the special token").first).to_be_visible()
    page.get_by_role("link", name="1 row cut at the limit").click()
    expect(page.get_by_text("Tokens 0 to 1,499 of 4,096")).to_be_visible()
