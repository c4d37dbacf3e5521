"""Sources in a real browser: a file is looked at, imported, searched and repaired; a hub data set is previewed and fetched."""

import json
import re
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from core.runs import RunStore
from core.sources import Library, import_source
from core.workspace import Workspace
from tests.browser.conftest import Dashboard, serving, settled
from tests.sources.hub_server import HubServer, hub_server

pytestmark = pytest.mark.browser

EVIL = "<img src=x onerror='window.pwned = 1'>"


def talk(number: int, *more: tuple[str, str]) -> dict:
    turns = [("human", f"What is {number} plus one?"), ("gpt", f"It is {number + 1}."), *more]
    return {"conversations": [{"from": role, "value": text} for role, text in turns]}


def write(path: Path, rows: list[dict], *broken: str) -> Path:
    path.write_text("\n".join([*map(json.dumps, rows), *broken]) + "\n", encoding="utf-8")
    return path


def figure(page: Page, words: str) -> str:
    return page.locator(".md-figures div", has=page.get_by_text(re.compile(words))).locator("b").first.inner_text()


def add_path(page: Page, dashboard: Dashboard, path: Path) -> None:
    page.goto(f"{dashboard.url}/sources")
    page.get_by_role("button", name="Add a source").click()
    field = page.get_by_label("File or folder on this machine")
    field.fill(str(path))
    field.press("Enter")


def test_a_local_file_is_looked_at_imported_searched_and_repaired(dashboard: Dashboard, page: Page):
    rows = [talk(number) for number in range(60)]
    rows += [talk(100 + number, ("alien", f"beep {EVIL}")) for number in range(7)]
    path = write(dashboard.home.parent / "sums.jsonl", rows, "{broken")

    add_path(page, dashboard, path)
    expect(page.get_by_text("67 of 67 rows have a list of turns with from and value.")).to_be_visible()
    expect(page.get_by_text("What is 0 plus one?").and_(page.locator(".md-text"))).to_be_visible()
    assert figure(page, "^quarantined") == "8"
    page.get_by_role("button", name="Import", exact=True).dblclick()

    expect(page.get_by_role("heading", name="sums", exact=True)).to_be_visible()
    expect(page).to_have_url(re.compile("open=sums"))
    expect(page.get_by_text("kept (88.2")).to_be_visible()
    assert len(RunStore(dashboard.home / "runs").list()) == 1
    search = page.get_by_label("Search the text")
    search.fill("what is 59 plus")
    search.press("Enter")
    expect(page.get_by_role("button", name="Download 1 row as JSONL")).to_be_visible()
    expect(page.locator(".md-text", has_text="It is 60.")).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("button", name="Download 1 row as JSONL").click()
    [line] = Path(download.value.path()).read_text(encoding="utf-8").splitlines()
    assert json.loads(line)["messages"][-1]["content"] == "It is 60."

    page.get_by_role("tab", name="Quarantine").click()
    expect(page.locator(".md-refused", has_text="unknown_role · conversations[2].from")).to_be_visible()
    expect(page.get_by_text("onerror").first).to_be_visible()
    page.get_by_text("unknown_role 7", exact=True).click()
    settled(page)
    page.get_by_role("button", name="Switch on all repairs").click()
    expect(page.get_by_text(re.compile(r"Of the first 7 refused rows 7 \("))).to_be_visible()
    page.get_by_role("button", name="Repair these and re-import").click()

    expect(page.get_by_text("Imported again: kept 60 → 67, quarantined 8 → 1.")).to_be_visible()
    source = Library(Workspace(dashboard.home)).source("sums")
    assert (source.ledger.kept, source.ledger.quarantined) == (67, 1)
    assert source.ledger.repaired["unknown_role"] == 7
    page.reload()
    expect(page.get_by_text("kept (98.5")).to_be_visible()
    page.get_by_role("tab", name="Quarantine").click()
    expect(page.get_by_text("always quarantined")).to_be_visible()
    assert page.evaluate("window.pwned") is None


def test_a_shape_nobody_knows_is_mapped_by_hand_and_the_mapping_is_remembered(dashboard: Dashboard, page: Page):
    rows = [{"frage": f"Wie viel ist {number}?", "antwort": {"text": f"Es ist {number}."}} for number in range(12)]
    add_path(page, dashboard, write(dashboard.home.parent / "odd.jsonl", rows))
    expect(page.get_by_text("No known dialect fits.")).to_be_visible()
    expect(page.get_by_role("button", name="Import", exact=True)).to_be_disabled()
    for part, column in (("prompt", "frage"), ("response", "antwort.text")):
        page.get_by_label(re.compile(f"^{part}: ")).click()
        page.get_by_role("option", name=column, exact=True).click()
        settled(page)
    expect(page.locator(".md-text", has_text="Es ist 0.")).to_be_visible()
    page.get_by_role("button", name="Import", exact=True).click()
    expect(page.get_by_text("kept (100.0")).to_be_visible()
    page.get_by_role("tab", name="Mapping").click()
    expect(page.get_by_text("This is how it was imported.")).to_be_visible()
    assert Library(Workspace(dashboard.home)).source("odd").info["mapping"] == {"prompt": "frage", "response": "antwort.text"}


def test_a_source_that_keeps_under_half_is_an_error_until_it_is_accepted_and_is_removed_after_two_questions(
    dashboard: Dashboard, page: Page
):
    rows = [talk(0), *(talk(number, ("alien", "beep")) for number in range(5))]
    import_source(Workspace(dashboard.home), "bad", write(dashboard.home.parent / "bad.jsonl", rows))
    page.goto(f"{dashboard.url}/sources?open=bad&tab=About")
    expect(page.get_by_text("Only 1 of 6 rows could be used; main reasons: unknown_role (5).")).to_be_visible()
    page.get_by_role("button", name="Accept it as it is").click()
    expect(page.get_by_test_id("stAlert")).to_have_count(0)
    page.get_by_role("button", name="Remove this source").click()
    expect(page.get_by_text("1 row of bad leave")).to_be_visible()
    assert Library(Workspace(dashboard.home)).names() == ["bad"]
    page.get_by_role("button", name="Remove bad").click()
    expect(page.get_by_role("heading", name="Sources", exact=True)).to_be_visible()
    assert Library(Workspace(dashboard.home)).names() == []


def test_an_address_opens_one_row_of_one_source(dashboard: Dashboard, page: Page):
    import_source(Workspace(dashboard.home), "sums", write(dashboard.home.parent / "sums.jsonl", [talk(number) for number in range(120)]))
    page.goto(f"{dashboard.url}/sources?open=sums&row=77")
    expect(page.locator(".md-text", has_text="It is 78.")).to_be_visible()
    expect(page.get_by_role("button", name="Download 120 rows as JSONL")).to_be_visible()


@pytest.fixture
def hub() -> Iterator[HubServer]:
    with hub_server() as server:
        yield server


@pytest.fixture
def with_hub(hub: HubServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Dashboard]:
    """A dashboard whose hub is the one on loopback; nobody is logged in."""
    monkeypatch.setenv("HF_ENDPOINT", hub.url)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HF_HUB_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
    yield from serving(tmp_path)


def look_at(page: Page, repo: str) -> None:
    page.get_by_text("hub data set", exact=True).click()
    field = page.get_by_label("Id on the hub")
    field.fill(repo)
    field.press("Enter")
    page.get_by_role("button", name="Look at the first rows").click()


def test_a_hub_data_set_is_previewed_without_fetching_it_and_then_imported(with_hub: Dashboard, hub: HubServer, page: Page):
    data = "".join(json.dumps(talk(number)) + "\n" for number in range(60_000)).encode()
    hub.add("lab/sums", {"train.jsonl": data})
    hub.add("lab/closed", {"train.jsonl": data}, gated=True)
    page.goto(f"{with_hub.url}/sources?add=new")
    look_at(page, "lab/sums")
    expect(page.get_by_text("200 of 200 rows have a list of turns")).to_be_visible()
    assert not (with_hub.home / "downloads").exists()
    assert all(asked is not None for asked in hub.served("train.jsonl")), "the preview fetched the whole file"
    page.get_by_role("button", name="Import", exact=True).click()
    expect(page.get_by_text("kept (100.0")).to_be_visible(timeout=180_000)
    assert Library(Workspace(with_hub.home)).source("sums").rows == 60_000


@pytest.mark.parametrize(("repo", "sentence"), [("lab/closed", "terms"), ("lab/nothing", "has no data set")])
def test_a_hub_that_does_not_give_it_is_one_sentence(with_hub: Dashboard, hub: HubServer, page: Page, repo: str, sentence: str):
    hub.add("lab/closed", {"train.jsonl": b'{"prompt": "a", "response": "b"}\n'}, gated=True)
    page.goto(f"{with_hub.url}/sources?add=new")
    look_at(page, repo)
    expect(page.get_by_test_id("stAlert").filter(has_text=sentence)).to_be_visible()
    settled(page)


def test_an_import_shows_how_far_it_is_is_stopped_and_goes_on(with_hub: Dashboard, hub: HubServer, page: Page):
    data = "".join(json.dumps(talk(number)) + "\n" for number in range(40_000)).encode()
    hub.add("lab/sums", {"train.jsonl": data})
    opened = threading.Event()
    hub.on_body = lambda _path, sent: opened.wait(120) and None if sent >= 1_000_000 else None
    page.goto(f"{with_hub.url}/sources?add=new")
    page.get_by_text("hub data set", exact=True).click()
    field = page.get_by_label("Id on the hub")
    field.fill("lab/sums")
    field.press("Enter")
    page.get_by_role("button", name="Import without looking").click()
    expect(page.get_by_text(re.compile(r"\d+\s*% ·"))).to_be_visible()
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_role("button", name="Stopping")).to_be_visible()
    opened.set()
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_text("kept (100.0")).to_be_visible(timeout=180_000)
    assert any(asked is not None and not asked.startswith("bytes=0-") for asked in hub.served("train.jsonl")), "it began anew"
    assert Library(Workspace(with_hub.home)).source("sums").rows == 40_000


def test_an_upload_is_kept_and_imported(dashboard: Dashboard, page: Page):
    path = write(dashboard.home.parent / "mine.jsonl", [talk(number) for number in range(5)])
    page.goto(f"{dashboard.url}/sources?add=new")
    page.get_by_text("upload", exact=True).click()
    page.locator("input[type=file]").set_input_files(path)
    expect(page.get_by_text("5 of 5 rows have a list of turns")).to_be_visible()
    page.get_by_label("Name").fill("uploaded")
    page.get_by_label("Name").press("Enter")
    settled(page)
    page.get_by_role("button", name="Import", exact=True).click()
    expect(page.get_by_text("kept (100.0")).to_be_visible()
    origin = Library(Workspace(dashboard.home)).source("uploaded").origin
    assert origin.path.is_relative_to(dashboard.home / "uploads")
    assert origin.path.read_bytes() == path.read_bytes()
