"""A stand-in vLLM server over the tiny target: states equal the in-process ones, and a bad server loses nothing."""

import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

from core.drafter.dataset import TokenizedRows
from core.drafter.hidden_states import StaleHiddenStates, capture
from core.drafter.state_files import StateFiles
from core.drafter.state_server import ServerPaused, ServerUnusable, StateServer, capture_from_server
from core.drafter.target import TargetModel

TAPS = (1, 2)


class StandIn:
    """Answers as vLLM with the hidden-states connector does; `trouble` makes it misbehave from the request numbered `after` on."""

    def __init__(self, target: TargetModel, folder: Path) -> None:
        self.target, self.folder = target, folder
        self.trouble, self.after, self.asked, self.slowness = "", 0, 0, 1.0
        self.lock = threading.Lock()
        stand_in = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                self.reply(200, {"data": [{"id": "tiny"}]})

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                self.reply(*stand_in.complete(body))

            def reply(self, status: int, value: object) -> None:
                data = json.dumps(value).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, format: str, *args: object) -> None: ...

        class Quiet(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request: object, client_address: object) -> None: ...

        self.server = Quiet(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_address[1]}"

    def complete(self, body: dict[str, Any]) -> tuple[int, object]:
        with self.lock:
            self.asked += 1
            number = self.asked
            trouble = self.trouble if number > self.after else ""
            assert body["model"] == "tiny" and body["max_tokens"] == 1 and body["return_token_ids"] is True
            ids = body["prompt"]
            states = self.target.hidden_states(torch.tensor([ids]), (*TAPS, self.target.depth))
        if trouble == "dead":
            raise ConnectionError
        if trouble == "slow":
            time.sleep(self.slowness)
        if trouble == "busy":
            return 503, {"error": "overloaded"}
        layers = states[:-1] if trouble == "layers" else states
        path = self.folder / f"{number}.safetensors"
        save_file(
            {"hidden_states": torch.stack([state[0].to(torch.bfloat16) for state in layers], 1), "token_ids": torch.tensor(ids)}, path
        )
        said = [*ids[:-1], ids[-1] + 1] if trouble == "other model" else ids
        params = None if trouble == "no connector" else {"hidden_states_path": str(path)}
        return 200, {"choices": [{"text": "x", "prompt_token_ids": said}], "kv_transfer_params": params}


@pytest.fixture
def stand_in(target: TargetModel, tmp_path: Path) -> Iterator[StandIn]:
    folder = tmp_path / "server"
    folder.mkdir()
    made = StandIn(target, folder)
    yield made
    made.server.shutdown()
    made.server.server_close()


@pytest.fixture
def files(rows: TokenizedRows, target: TargetModel, tmp_path: Path) -> StateFiles:
    return StateFiles(tmp_path / "hidden_states", rows, len(TAPS) + 1, target.hidden_size)


def test_states_from_a_server_equal_the_in_process_ones(
    stand_in: StandIn, files: StateFiles, rows: TokenizedRows, target: TargetModel, tmp_path: Path
) -> None:
    capture_from_server(files, StateServer(stand_in.url))
    with capture(rows, target, TAPS, tmp_path / "flat") as states:
        for row in range(len(rows)):
            torch.testing.assert_close(files.read(row).float(), states.row(row).float(), rtol=1e-2, atol=1e-4)
    assert list(stand_in.folder.iterdir()) == []  # what the server wrote was taken away
    asked = stand_in.asked
    capture_from_server(files, StateServer(stand_in.url))
    assert stand_in.asked == asked == len(rows)


@pytest.mark.parametrize("trouble", ["dead", "slow", "busy"])
def test_a_server_that_stops_answering_pauses_the_capture_and_loses_nothing(stand_in: StandIn, files: StateFiles, trouble: str) -> None:
    stand_in.trouble, stand_in.after = trouble, 20
    with pytest.raises(ServerPaused, match=r"gave no answer in 2 tries .* rows are kept; start again"):
        capture_from_server(files, StateServer(stand_in.url, timeout=0.3, tries=2, pause=0.01), requests=2)
    kept = len(files.rows) - len(files.missing())
    assert 18 <= kept <= 20
    stand_in.trouble = ""
    capture_from_server(files, StateServer(stand_in.url))
    assert files.missing() == []


def test_a_server_that_stumbles_is_asked_again(stand_in: StandIn, files: StateFiles) -> None:
    stand_in.trouble = "busy"
    thread = threading.Timer(0.2, lambda: setattr(stand_in, "trouble", ""))
    thread.start()
    capture_from_server(files, StateServer(stand_in.url, tries=8, pause=0.05), requests=2)
    assert files.missing() == []


@pytest.mark.parametrize(("trouble", "said"), [("other model", "another model"), ("no connector", "hidden-states connector")])
def test_a_wrong_server_is_refused_at_once(stand_in: StandIn, files: StateFiles, trouble: str, said: str) -> None:
    stand_in.trouble = trouble
    with pytest.raises(ServerUnusable, match=said):
        capture_from_server(files, StateServer(stand_in.url), requests=2)
    assert stand_in.asked <= 8 and len(files.missing()) == len(files.rows)


def test_states_of_other_layers_are_refused(stand_in: StandIn, files: StateFiles) -> None:
    stand_in.trouble = "layers"
    with pytest.raises(StaleHiddenStates, match=r"shape .* 0 of 120 rows are kept"):
        capture_from_server(files, StateServer(stand_in.url), requests=2)


def test_nobody_at_the_address_is_one_sentence(files: StateFiles) -> None:
    with pytest.raises(ServerPaused, match="gave no answer in 2 tries"):
        capture_from_server(files, StateServer("http://127.0.0.1:9", tries=2, pause=0.01))
    with pytest.raises(ServerUnusable, match="no address"):
        capture_from_server(files, StateServer("localhost:8000"))
