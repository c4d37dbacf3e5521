"""Runs in a real browser: they outlive the page and the server, and a stopped one leaves no process."""

import re

import psutil
import pytest
from playwright.sync_api import Page, expect

from core.runs import RunStore
from tests.browser.conftest import Dashboard, processes_of, settled

pytestmark = pytest.mark.browser

SLOW_RUN = "tests.browser.slow_work:work"


def start(dashboard: Dashboard, title: str) -> str:
    return RunStore(dashboard.home / "runs").start("import", {"steps": 100_000}, entry=SLOW_RUN, title=title).id


def test_a_stopped_run_leaves_no_process(dashboard: Dashboard, page: Page):
    start(dashboard, "endless counting")
    page.goto(f"{dashboard.url}/runs")
    expect(page.get_by_text(re.compile(r"of 100,000 steps")).first).to_be_visible()
    assert processes_of(dashboard.home)
    settled(page)
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_role("button", name="Try again")).to_be_visible()
    _, alive = psutil.wait_procs(processes_of(dashboard.home), timeout=30)
    assert not alive
    assert not processes_of(dashboard.home)


def test_a_run_outlives_the_page_and_the_server(dashboard: Dashboard, page: Page):
    run_id = start(dashboard, "endless counting")
    page.goto(dashboard.url)
    expect(page.get_by_text("endless counting").first).to_be_visible()
    page.reload()
    expect(page.get_by_text(re.compile(r"of 100,000 steps"))).to_be_visible()
    dashboard.restart()
    page.goto(dashboard.url)
    expect(page.get_by_text(re.compile(r"of 100,000 steps"))).to_be_visible()
    store = RunStore(dashboard.home / "runs")
    assert store.get(run_id).state == "running"
    store.cancel(run_id, wait=True, grace=2.0)
    expect(page.get_by_text("stopped").first).to_be_visible()
