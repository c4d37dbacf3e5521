"""A hub of our own, which huggingface_hub's client talks to as to the real one."""

from collections.abc import Iterator
from pathlib import Path

import huggingface_hub
import pytest
from huggingface_hub import constants

from core.sources.hub import client
from core.watch import Progress, Unwatched
from tests.sources.hub_server import HubServer, hub_server


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[HubServer]:
    """The server; nobody is logged in, and waits that the hub does not ask for are short."""
    huggingface_hub.close_session()
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "no-token"))
    monkeypatch.setattr(client, "PAUSE", 0.001)
    for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HF_HUB_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
    with hub_server() as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        yield server
    huggingface_hub.close_session()


class Listens(Unwatched):
    """A watcher that remembers what it heard, and has enough when it is told to."""

    def __init__(self) -> None:
        self.heard: list[Progress] = []
        self.enough = False

    def progress(self, progress: Progress) -> None:
        self.heard.append(progress)

    def cancelled(self) -> bool:
        return self.enough


@pytest.fixture
def listens() -> Listens:
    return Listens()
