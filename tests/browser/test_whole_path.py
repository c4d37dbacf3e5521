"""The main job in a real browser: from a first visit to a measured drafter, with mouse and keyboard."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Dashboard, settled

pytestmark = [pytest.mark.browser, pytest.mark.slow]

LONG = 300_000
"""Milliseconds for a run to end on a busy machine."""


def test_a_first_visit_leads_to_a_measured_drafter(dashboard: Dashboard, page: Page):
    page.goto(dashboard.url)
    expect(page.get_by_role("heading", name="Mixdown")).to_be_visible()
    settled(page)
    page.get_by_role("button", name="Try it on the bundled data").click()

    expect(page.get_by_role("heading", name="Sources", exact=True)).to_be_visible()
    onward = page.get_by_role("button", name="Continue to the mix")
    expect(onward).to_be_visible(timeout=LONG)
    expect(page.get_by_text(re.compile(r"\d+ quarantined")).first).to_be_visible()
    onward.click()

    _weights(page)
    _preview(page)
    _tokenize(page)
    _train(page)

    settled(page)
    page.get_by_role("link", name="Home").click()
    expect(page.get_by_text(re.compile(r"drafter-1: \d\.\d\d tokens per round"))).to_be_visible()


def _weights(page: Page) -> None:
    expect(page.get_by_role("heading", name="Mix", exact=True)).to_be_visible()
    exact = page.get_by_label("Weight of glaive, exactly")
    exact.fill("60")
    exact.press("Enter")
    expect(page.get_by_role("button", name="Save recipe")).to_be_visible()
    expect(page.get_by_text("1 unsaved change")).to_be_visible()
    settled(page)
    slider = page.get_by_role("slider", name="Weight of xlam")
    before = slider.get_attribute("aria-valuetext")
    slider.focus()
    slider.press("ArrowRight")
    slider.press("ArrowRight")
    expect(slider).not_to_have_attribute("aria-valuetext", str(before))
    expect(page.get_by_text("2 unsaved changes")).to_be_visible()
    settled(page)
    page.get_by_text("Limit the total").click()
    budget = page.get_by_label("Conversations in all")
    budget.fill("400")
    budget.press("Enter")
    expect(page.get_by_text("400", exact=True).first).to_be_visible()
    settled(page)
    page.get_by_role("button", name="Save recipe").click()
    settled(page)
    page.get_by_role("button", name="Continue to preview").click()


def _preview(page: Page) -> None:
    expect(page.get_by_role("heading", name="Preview", exact=True)).to_be_visible()
    expect(page.locator(".md-tok.on").first).to_be_visible()
    expect(page.locator(".md-tok:not(.on)").first).to_be_visible()
    settled(page)
    page.get_by_role("button", name="Next", exact=True).click()
    expect(page).to_have_url(re.compile(r"row=1"))
    settled(page)
    page.get_by_role("tab", name="Conversation").click()
    expect(page.locator(".md-msg.assistant").first).to_be_visible()
    settled(page)
    page.get_by_role("button", name="Continue to tokenize").click()


def _tokenize(page: Page) -> None:
    expect(page.get_by_role("heading", name="Tokenize", exact=True)).to_be_visible()
    settled(page)
    page.get_by_role("button", name="Tokenize", exact=True).click()
    expect(page.get_by_role("button", name=re.compile("Tokenizing|Train on this"))).to_be_visible()
    page.reload()
    expect(page.get_by_role("button", name="Train on this")).to_be_visible(timeout=LONG)
    expect(page.get_by_text("files have their size and SHA-256")).to_be_visible()
    settled(page)
    page.get_by_role("button", name="Train on this").click()


def _train(page: Page) -> None:
    expect(page.get_by_role("heading", name="Train", exact=True)).to_be_visible()
    seconds = page.get_by_label("Training time in seconds")
    seconds.fill("12")
    seconds.press("Enter")
    prompts = page.get_by_label("Held-out prompts to measure")
    prompts.fill("20")
    prompts.press("Enter")
    settled(page)
    page.get_by_role("button", name="Train", exact=True).click()
    expect(page.get_by_role("button", name="Training")).to_be_visible()
    page.reload()
    number = page.get_by_test_id("acceptance-length")
    expect(number).to_be_visible(timeout=LONG)
    assert float(number.inner_text()) > 1.0
    expect(page.get_by_text("the output equals plain greedy decoding")).to_be_visible()
