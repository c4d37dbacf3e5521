"""Rows are data: nothing that stands in one is executed or loaded by the browser."""

import json

import pytest
from playwright.sync_api import Page, expect

from core.sources import import_source
from core.workspace import Workspace
from pages.components.current import first_recipe
from tests.browser.conftest import Dashboard, settled

pytestmark = pytest.mark.browser

EVIL = "<script>window.pwned = 1</script><img src=x onerror='window.pwned = 2'>"
MARKDOWN = "![x](http://127.0.0.1:9/beacon.png) [x](javascript:window.pwned=3) $\\text{x}$ </div></span>"
HIDDEN = "\u202ereversed\u202c zero\u200bwidth \u001b[31mred"


def test_a_hostile_row_runs_no_script_and_loads_nothing(dashboard: Dashboard, page: Page, monkeypatch: pytest.MonkeyPatch):
    rows = [
        {"messages": [{"role": "user", "content": f"{EVIL} {MARKDOWN}"}, {"role": "assistant", "content": f"{EVIL} {HIDDEN}"}]},
        {"messages": [{"role": EVIL, "content": EVIL}]},
    ]
    origin = dashboard.home.parent / "evil.jsonl"
    origin.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    workspace = Workspace(dashboard.home)
    import_source(workspace, "evil", origin)
    monkeypatch.setenv("MIXDOWN_HOME", str(dashboard.home))
    first_recipe()
    outside: list[str] = []
    page.on(
        "request", lambda request: outside.append(request.url) if not request.url.startswith((dashboard.url, "data:", "blob:")) else None
    )

    for address, tabs in (
        ("preview?source=evil&row=0", ("Conversation", "Rendered", "Raw", "Tokens")),
        ("sources?open=evil", ("Quarantine", "Rows")),
    ):
        page.goto(f"{dashboard.url}/{address}")
        for tab in tabs:
            settled(page)
            page.get_by_role("tab", name=tab).click()
            expect(page.get_by_text("window.pwned").and_(page.locator(":visible")).first).to_be_visible()
            expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning")
            assert page.evaluate("window.pwned") is None
    page.goto(f"{dashboard.url}/preview?source=evil&row=0")
    settled(page)
    page.get_by_role("tab", name="Conversation").click()
    expect(page.get_by_text("RLO").first).to_be_visible()
    expect(page.get_by_text("<script>window.pwned = 1</script>").first).to_be_visible()
    assert outside == []
