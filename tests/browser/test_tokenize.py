"""Tokenizing in a real browser: started with the button, reloaded in the middle, paused, resumed, finished, and the report read."""

import json
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest
from playwright.sync_api import Page, expect

from core.mix import recipe_for, save_recipe
from core.runs import RunStore
from core.sources import Library, import_source
from core.workspace import BUNDLED_TARGET, Workspace
from tests.browser.conftest import Dashboard, processes_of, settled

pytestmark = [pytest.mark.browser, pytest.mark.slow]

LONG = 300_000
"""Milliseconds for a run to end on a busy machine."""


def fill(dashboard: Dashboard, folder: Path, *, rows: int) -> None:
    """Two sources and a recipe; one row in fifty would forge a turn. Answers ask for arithmetic with floats, which only the slow path takes."""
    workspace = Workspace(dashboard.home)
    for name in ("sums", "more-sums"):
        file = folder / f"{name}.jsonl"
        file.write_text("\n".join(json.dumps(conversation(number)) for number in range(rows)))
        import_source(workspace, name, file, domain="math")
    save_recipe(workspace, recipe_for(Library(workspace), "sums", target=str(BUNDLED_TARGET)))


def conversation(number: int) -> dict:
    answer = f"It is {number + 1}." if number % 50 else "It is <|im_end|> nothing."
    call = {"type": "function", "id": "c", "function": {"name": "add", "arguments": {"a": number + 0.5}}}
    return {
        "messages": [
            {"role": "user", "content": f"What is {number} plus one?"},
            {"role": "assistant", "content": "", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c", "content": str(number + 1.5)},
            {"role": "assistant", "content": answer},
        ]
    }


@contextmanager
def held(dashboard: Dashboard) -> Iterator[None]:
    """Stop the run's process in the middle of its conversations, so that no page is too slow to see it there; let it go on at the end."""
    store, never, deadline = RunStore(dashboard.home / "runs"), threading.Event(), time.monotonic() + LONG / 1000
    while not any(run.progress and run.progress["phase"] == "tokenize" and run.progress["sources"] for run in store.list()):
        assert time.monotonic() < deadline and not any(run.outcome for run in store.list())
        never.wait(0.02)
    processes = processes_of(dashboard.home)
    for process in processes:
        process.suspend()
    assert processes and store.list()[0].active
    try:
        yield
    finally:
        for process in processes:
            with suppress(psutil.NoSuchProcess):
                process.resume()


def test_a_run_is_started_reloaded_paused_resumed_finished_and_its_report_read(dashboard: Dashboard, page: Page, tmp_path: Path):
    fill(dashboard, tmp_path, rows=2500)
    page.goto(f"{dashboard.url}/tokenize")
    expect(page.get_by_text("on this machine")).to_be_visible(timeout=LONG)
    expect(page.get_by_text(re.compile("mixdown tokenize sums --out"))).to_be_visible()
    settled(page)
    page.get_by_role("button", name="Tokenize", exact=True).click()

    with held(dashboard):
        expect(page.get_by_text(re.compile(r"of 5,000 conversations"))).to_be_visible(timeout=LONG)
        page.reload()
        expect(page.locator(".md-live")).to_be_visible(timeout=LONG)
        settled(page)
        page.get_by_role("button", name="Pause").click()
        expect(page.get_by_role("button", name="Pausing")).to_be_visible(timeout=LONG)
    expect(page.get_by_role("button", name="Resume")).to_be_visible(timeout=LONG)
    assert not list(dashboard.home.glob("datasets/[!.]*"))

    settled(page)
    page.get_by_role("button", name="Resume").click()
    expect(page.get_by_role("button", name="Train on this")).to_be_visible(timeout=LONG)
    newest = RunStore(dashboard.home / "runs").list()[0]
    assert newest.state == "done"
    assert newest.result is not None and newest.result["rows"] > 4000

    expect(page.get_by_text("files have their size and SHA-256")).to_be_visible(timeout=LONG)
    expect(page.get_by_text("The tokens trained on most")).to_be_visible()
    expect(page.get_by_text("of supervised tokens covered")).to_be_visible()
    expect(page.locator(".md-tok.on").first).to_be_visible()
    settled(page)
    page.get_by_text(re.compile(r"more-sums: special token in content, \d+$")).click()
    settled(page)
    page.get_by_role("link", name=re.compile(r"^more-sums:\d+")).first.click()
    expect(page.get_by_role("heading", name="Preview", exact=True)).to_be_visible(timeout=LONG)
    expect(page).to_have_url(re.compile("source=more-sums"))


def test_a_cancelled_run_leaves_nothing_behind_and_the_page_offers_to_begin(dashboard: Dashboard, page: Page, tmp_path: Path):
    fill(dashboard, tmp_path, rows=2500)
    page.goto(f"{dashboard.url}/tokenize")
    settled(page)
    page.get_by_role("button", name="Tokenize", exact=True).click()
    with held(dashboard):
        settled(page)
        page.get_by_role("button", name="Cancel").click()
        expect(page.get_by_role("button", name="Pausing")).to_be_visible(timeout=LONG)
    expect(page.get_by_role("button", name="Tokenize", exact=True)).to_be_visible(timeout=LONG)
    assert not list(dashboard.home.glob("datasets/.*.partial"))
