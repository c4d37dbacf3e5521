"""A real server on a free port with a fresh workspace, and a real Chromium that looks at it."""

import os
import shutil
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

ROOT = Path(__file__).resolve().parents[2]
ARGUMENTS = ("--no-sandbox", "--headless", "--disable-gpu", "--disable-background-networking", "--disable-sync")
PATIENCE = 60_000
"""Milliseconds to wait for something to show on a busy machine with two cores."""
expect.set_options(timeout=PATIENCE)


STILL = """milliseconds => new Promise(done => {
    let timer = setTimeout(finish, milliseconds);
    setTimeout(finish, 40 * milliseconds);
    const watcher = new MutationObserver(() => { clearTimeout(timer); timer = setTimeout(finish, milliseconds); });
    function finish() { watcher.disconnect(); done(true); }
    watcher.observe(document.body, { childList: true, subtree: true, characterData: true });
})"""


def settled(page: Page) -> None:
    """Wait until the script has run to its end and the page no longer changes: a click on what is about to move would be lost."""
    for _ in range(2):
        expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning")
        page.evaluate(STILL, 300)
    expect(page.get_by_test_id("stException")).to_have_count(0)


@dataclass
class Dashboard:
    """A running server: its address, its workspace, and the process."""

    url: str
    home: Path
    port: int
    process: subprocess.Popen[bytes]

    def restart(self) -> None:
        """End the server and start it anew over the same workspace."""
        self.stop()
        self.process = _serve(self.home, self.port)

    def stop(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(20)


def _serve(home: Path, port: int) -> subprocess.Popen[bytes]:
    log = (home.parent / "server.log").open("ab")
    process = subprocess.Popen(
        [sys.executable, "-m", "streamlit", "run", "app.py", f"--server.port={port}"],
        cwd=ROOT,
        stdout=log,
        stderr=log,
        env=os.environ | {"MIXDOWN_HOME": str(home), "OMP_NUM_THREADS": "2"},
    )
    for _ in range(600):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=5):
                return process
        except (urllib.error.URLError, OSError):
            if process.poll() is not None:
                break
            try:
                process.wait(0.1)
            except subprocess.TimeoutExpired:
                continue
    raise RuntimeError(f"the dashboard did not start: {(home.parent / 'server.log').read_text()[-2000:]}")


@pytest.fixture
def dashboard(tmp_path: Path) -> Iterator[Dashboard]:
    """A server over a fresh workspace; its runs are ended with it."""
    yield from serving(tmp_path)


@pytest.fixture(scope="module")
def untouched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dashboard]:
    """A server over a workspace in which nothing happens; shared by the tests of a module."""
    yield from serving(tmp_path_factory.mktemp("untouched"))


def serving(folder: Path) -> Iterator[Dashboard]:
    """Serve a fresh workspace in `folder` on a free port until the generator is closed."""
    home = folder / "home"
    home.mkdir()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    served = Dashboard(f"http://127.0.0.1:{port}", home, port, _serve(home, port))
    yield served
    served.stop()
    for process in processes_of(home):
        process.kill()


def processes_of(home: Path) -> list[psutil.Process]:
    """The live processes of runs in a workspace, known by the run's folder on their command line or by the mark they inherit."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.status() == psutil.STATUS_ZOMBIE:
                continue
            line = " ".join(process.cmdline())
            if f"{home}/runs" in line or ("MIXDOWN_RUN" in process.environ() and process.environ().get("MIXDOWN_HOME") == str(home)):
                found.append(process)
        except psutil.Error:
            continue
    return found


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """The system's Chromium; a machine without one cannot say that the screens work, so its absence is a failure."""
    path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if path is None:
        pytest.fail("No Chromium on PATH: install the package `chromium` (Debian) or set the browser up another way.")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(ARGUMENTS))
        yield browser
        browser.close()


@pytest.fixture
def context(chromium: Browser) -> Iterator[BrowserContext]:
    """A fresh profile."""
    opened = chromium.new_context(viewport={"width": 1440, "height": 1000})
    opened.set_default_timeout(PATIENCE)
    yield opened
    opened.close()


@pytest.fixture
def page(context: BrowserContext) -> Page:
    """A fresh tab."""
    return context.new_page()
