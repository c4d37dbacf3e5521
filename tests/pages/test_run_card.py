import pytest
from streamlit.testing.v1 import AppTest

from core.runs import RunStore
from core.runs.files import write_json


def script(home: str) -> None:
    from pathlib import Path

    from core.runs import RunStore
    from pages.components.run_card import run_card

    store = RunStore(Path(home) / "runs")
    for run in store.list():
        run_card(store, run)


@pytest.fixture
def record(tmp_path):
    """Write a run's files as its process would have."""

    def write(outcome):
        folder = tmp_path / "runs" / "tokenize-1"
        folder.mkdir(parents=True)
        write_json(
            folder / "run.json", {"kind": "tokenize", "title": "tokenize ds", "spec": {}, "entry": "m:f", "owns": [], "created_at": 0.0}
        )
        write_json(folder / "outcome.json", outcome)
        return RunStore(tmp_path / "runs").list()[0]

    return write


def test_a_failed_run_says_one_sentence_and_offers_another_try(tmp_path, record):
    record({"state": "failed", "seconds": 3.0, "error": {"message": "The folder `x` is *gone*.", "exit_code": 2}})
    page = AppTest.from_function(script, args=(str(tmp_path),)).run()
    assert not page.exception
    assert [error.value for error in page.error] == ["The folder \\`x\\` is \\*gone\\*\\."]
    assert [button.label for button in page.button] == ["Try again"]


def test_a_finished_run_offers_nothing(tmp_path, record):
    record({"state": "done", "seconds": 3.0, "result": {}})
    page = AppTest.from_function(script, args=(str(tmp_path),)).run()
    assert not page.exception
    assert not page.button
