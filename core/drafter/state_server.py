"""Hidden states from a vLLM server with the hidden-states connector, by the protocol that speculators 0.9 uses.

`POST /v1/completions` with token ids and one token to say; the answer names a file that holds the states of the prompt. A server that
is dead, slow or serves something else stops the capture with a sentence; the rows that came stay, and the next start asks for the others.
"""

import http.client
import json
import threading
import time
from collections.abc import Mapping
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from core.drafter.hidden_states import StaleHiddenStates
from core.drafter.state_files import StateFiles
from core.errors import InputError, Paused
from core.watch import Progress, Unwatched, Watcher, stop_if_cancelled


class ServerUnusable(InputError):
    """The server answers, but not with the hidden states of what was asked: trying again would not help."""


class ServerPaused(Paused):
    """The server does not answer any more; what it gave is kept."""


@dataclass(frozen=True)
class StateServer:
    """A server at `url` (without `/v1`). One connection per thread is kept open."""

    url: str
    timeout: float = 120.0
    """seconds to wait for one answer"""
    tries: int = 4
    pause: float = 1.0
    """seconds before the second try; twice as long before each further one"""

    def model(self) -> str:
        """The name of the model it serves; raises `ServerPaused`, `ServerUnusable`."""
        try:
            return str(self._ask("GET", "/v1/models", None)["data"][0]["id"])
        except (KeyError, IndexError, TypeError) as error:
            raise ServerUnusable(f"{self.url}/v1/models lists no model: is this a vLLM server?") from error

    def states(self, model: str, ids: list[int]) -> Tensor:
        """The states [tokens, slots, hidden] of a prompt; the server's file is removed. Raises `ServerPaused`, `ServerUnusable`."""
        answer = self._ask("POST", "/v1/completions", {"model": model, "prompt": ids, "max_tokens": 1, "return_token_ids": True})
        try:
            said = answer["choices"][0]["prompt_token_ids"]
            named = (answer.get("kv_transfer_params") or {})["hidden_states_path"]
        except (KeyError, IndexError, TypeError) as error:
            raise ServerUnusable(f"{self.url} names no file of hidden states: start vLLM with the hidden-states connector.") from error
        if said != ids:
            raise ServerUnusable(f"{self.url} read other tokens than it was sent ({len(said)} for {len(ids)}): it serves another model.")
        path = Path(named)
        try:
            found = load_file(path)
            states = found["hidden_states"].clone()
            stored = found["token_ids"].tolist() if "token_ids" in found else ids
        except (OSError, KeyError, SafetensorError) as error:
            raise ServerUnusable(
                f"{path}, where {self.url} says the hidden states are, cannot be read ({error}): the server must share this file system."
            ) from error
        path.unlink(missing_ok=True)
        if stored != ids:
            raise ServerUnusable(f"{path} holds the states of other tokens than were sent to {self.url}.")
        return states

    def _ask(self, method: str, path: str, body: Mapping[str, Any] | None) -> Any:
        """The JSON answer; tries again where the server is away, slow or overloaded."""
        trouble = ""
        for number in range(self.tries):
            if number:
                time.sleep(self.pause * 2 ** (number - 1))
            try:
                status, text = self._send(method, path, json.dumps(body) if body is not None else None)
            except (OSError, http.client.HTTPException) as error:
                trouble = str(error) or type(error).__name__
                continue
            if status >= 500 or status == 429:
                trouble = f"HTTP {status}"
                continue
            if status != 200:
                raise ServerUnusable(f"{self.url}{path} answers HTTP {status}: {text[:200]}")
            try:
                return json.loads(text)
            except ValueError as error:
                raise ServerUnusable(f"{self.url}{path} does not answer in JSON: is this a vLLM server?") from error
        raise ServerPaused(f"{self.url} gave no answer in {self.tries} tries ({trouble}).")

    def _send(self, method: str, path: str, body: str | None) -> tuple[int, str]:
        """One request over this thread's connection, which is made anew after any trouble."""
        kept: dict[str, http.client.HTTPConnection] = _connections.__dict__.setdefault("kept", {})
        key = f"{self.url} {self.timeout}"
        if key not in kept:
            parts = urlsplit(self.url)
            if parts.scheme not in ("http", "https") or not parts.hostname:
                raise ServerUnusable(f"{self.url!r} is no address of a server: give one such as http://localhost:8000.")
            kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
            kept[key] = kind(parts.hostname, parts.port, timeout=self.timeout)
        try:
            kept[key].request(method, urlsplit(self.url).path.rstrip("/") + path, body, {"Content-Type": "application/json"})
            answer = kept[key].getresponse()
            return answer.status, answer.read().decode("utf-8", "replace")
        except (OSError, http.client.HTTPException):
            kept.pop(key).close()
            raise


_connections = threading.local()


def capture_from_server(files: StateFiles, server: StateServer, requests: int = 8, watcher: Watcher | None = None) -> None:
    """Ask for every row that `files` still lacks, `requests` at a time.

    Raises `NotEnoughDisk` before any work, `ServerPaused` and `ServerUnusable` with how far it came, `StaleHiddenStates` when the states
    are of another shape, `Cancelled`; rows that came are kept, and the next call asks for the others only.
    """
    watcher = watcher or Unwatched()
    files.prepare()
    missing = files.missing()
    came = len(files.rows) - len(missing)
    if not missing:
        return
    model = server.model()
    stopping = threading.Event()

    def ask(row: int) -> int:
        if not stopping.is_set():
            files.write(row, server.states(model, files.rows.row(row).tolist()))
            return 1
        return 0

    pool = ThreadPoolExecutor(requests)
    try:
        for start in range(0, len(missing), 4 * requests):
            stop_if_cancelled(watcher)
            asked = [pool.submit(ask, row) for row in missing[start : start + 4 * requests]]
            wait(asked, return_when=FIRST_EXCEPTION)
            if any(future.done() and future.exception() for future in asked):
                stopping.set()
            failures: list[BaseException] = [error for future in asked if (error := future.exception()) is not None]
            came += sum(future.result() for future in asked if future.exception() is None)
            watcher.progress(Progress("capture hidden states", came, len(files.rows), "rows"))
            if failures:
                raise _with_place(failures[0], came, len(files.rows))
    finally:
        stopping.set()
        pool.shutdown()


def _with_place(error: BaseException, came: int, total: int) -> BaseException:
    """The error with how far the capture came, for those a person can act on."""
    place = f"{came:,} of {total:,} rows are kept; start again to go on with the others."
    for kind in (ServerPaused, ServerUnusable, StaleHiddenStates):
        if isinstance(error, kind):
            return kind(f"{error} {place}")
    return error
