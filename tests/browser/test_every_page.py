"""Every page, light and dark, wide and narrow, in a workspace where nothing has happened yet."""

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.conftest import PATIENCE, Dashboard

pytestmark = pytest.mark.browser

PAGES = {"": "Mixdown", "sources": "Sources", "mix": "Mix", "preview": "Preview", "tokenize": "Tokenize", "train": "Train", "runs": "Runs"}


@pytest.mark.parametrize(("scheme", "width"), [("light", 1440), ("dark", 1440), ("light", 420)])
def test_no_page_fails_in_a_fresh_workspace(untouched: Dashboard, chromium: Browser, scheme: str, width: int):
    context = chromium.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    requested: list[str] = []
    page.on("request", lambda request: requested.append(request.url))
    for path, heading in PAGES.items():
        page.goto(f"{untouched.url}/{path}")
        expect(page.get_by_role("heading", name=heading, exact=True)).to_be_visible()
        expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning")
        expect(page.get_by_test_id("stException")).to_have_count(0)
        expect(page.get_by_test_id("stAlert")).to_have_count(0)
        overflow = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert overflow <= 0, f"{path} is wider than the window by {overflow} px"
    assert problems == []
    assert all(url.startswith((untouched.url, "data:", "blob:")) for url in requested), "a page asks something outside this machine"
    context.close()
