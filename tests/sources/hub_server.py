"""A hub on loopback: as much of the protocol as huggingface_hub's client speaks when a data set is listed and its files are fetched.

Requests seen from the client: `GET /api/datasets/ID[/revision/REV]?blobs=true` (listing with sizes and hashes),
`GET /api/datasets/ID/commits/main` (history), `GET /datasets/ID/resolve/COMMIT/PATH` with `Range` (bytes, redirected once, as the real one
does with large files). Errors carry the headers `X-Error-Code` and `X-Error-Message` that the client tells them by.
"""

import hashlib
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

TOKEN = "hf_secretsecretsecretsecretsecretsecret"
"""The token with access to gated data sets."""
OTHER_TOKEN = "hf_otherotherotherotherotherotherother"
"""A valid token of an account that accepted no terms."""


def commit_id(number: int) -> str:
    return hashlib.sha1(f"commit {number}".encode()).hexdigest()


@dataclass
class Dataset:
    """A data set: its files at each commit, oldest first. Large ones are those whose name is in `large`."""

    versions: list[dict[str, bytes]]
    card: dict[str, Any] | None = None
    gated: bool = False
    large: set[str] = field(default_factory=set)

    @property
    def head(self) -> str:
        return commit_id(len(self.versions) - 1)

    def at(self, revision: str) -> dict[str, bytes] | None:
        if revision == "main":
            return self.versions[-1]
        return next((files for number, files in enumerate(self.versions) if commit_id(number) == revision), None)


@dataclass
class HubServer:
    """What it serves, what it was asked, and how it misbehaves."""

    url: str = ""
    datasets: dict[str, Dataset] = field(default_factory=dict)
    asked: list[tuple[str, str | None, str | None]] = field(default_factory=list)
    """(path, Range, Authorization) of each request."""
    refusals: list[tuple[int, dict[str, str]]] = field(default_factory=list)
    """Answers (status, headers) for the next requests, before anything is served."""
    cuts: list[int] = field(default_factory=list)
    """After how many bytes the next bodies break off."""
    ranges: bool = True
    chunk: int = 65_536
    on_body: Callable[[str, int], None] = lambda path, sent: None
    """Called with path and bytes sent after each chunk of a body: the place to be slow, or to kill somebody."""
    on_listing: Callable[[], None] = lambda: None

    def add(self, repo: str, files: dict[str, bytes], **options: Any) -> Dataset:
        self.datasets[repo] = Dataset([files], **options)
        return self.datasets[repo]

    def served(self, ending: str) -> list[str | None]:
        """The ranges in which a file was asked for."""
        return [ranges for path, ranges, _ in self.asked if path.endswith(ending)]


@contextmanager
def hub_server() -> Iterator[HubServer]:
    hub = HubServer()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"hub": hub}))
    server.daemon_threads = True
    server.handle_error = lambda *_: None  # type: ignore[method-assign]  # a client that hangs up is no error here
    hub.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    hub: HubServer
    protocol_version = "HTTP/1.1"

    def log_message(self, *args: object) -> None:
        """Quiet."""

    def do_GET(self) -> None:
        path = unquote(urlsplit(self.path).path)
        self.hub.asked.append((path, self.headers.get("Range"), self.headers.get("Authorization")))
        if self.hub.refusals:
            status, headers = self.hub.refusals.pop(0)
            self._error(status, **headers)
            return
        pieces = path.strip("/").split("/")
        if pieces[:2] == ["api", "datasets"]:
            self._api("/".join(pieces[2:4]), pieces[4:])
        elif pieces[0] == "datasets" and pieces[3:4] == ["resolve"]:
            self._resolve("/".join(pieces[1:3]), pieces[4], "/".join(pieces[5:]))
        elif pieces[0] == "cdn":
            self._body(pieces[1], self.hub.datasets["/".join(pieces[1:3])].at(pieces[3])["/".join(pieces[4:])])  # type: ignore[index]
        else:
            self._error(404)

    def _dataset(self, repo: str) -> Dataset | None:
        found = self.hub.datasets.get(repo)
        if found is None:
            if self.headers.get("Authorization"):
                self._error(404, **{"X-Error-Code": "RepoNotFound", "X-Error-Message": "Repository not found"})
            else:
                self._error(401, **{"X-Error-Code": "RepoNotFound", "X-Error-Message": "Invalid username or password."})
        return found

    def _api(self, repo: str, rest: list[str]) -> None:
        found = self._dataset(repo)
        if found is None:
            return
        if rest[:1] == ["commits"]:
            commits = [
                {"id": commit_id(n), "authors": [], "date": "2026-01-01T00:00:00.000Z", "title": "c", "message": ""}
                for n in range(len(found.versions))
            ]
            self._json(commits[::-1])
            return
        revision = "/".join(rest[1:]) if rest[:1] == ["revision"] else "main"
        files = found.at(revision)
        if files is None:
            self._error(404, **{"X-Error-Code": "RevisionNotFound", "X-Error-Message": f"Invalid rev id: {revision}"})
            return
        siblings = [_sibling(name, data, name in found.large) for name, data in files.items()]
        value = {
            "id": repo,
            "sha": found.head if revision == "main" else revision,
            "gated": "auto" if found.gated else False,
            "siblings": siblings,
        }
        self._json({**value, **({"cardData": found.card} if found.card is not None else {})})
        self.hub.on_listing()

    def _resolve(self, repo: str, revision: str, name: str) -> None:
        found = self._dataset(repo)
        if found is None:
            return
        token = (self.headers.get("Authorization") or "").removeprefix("Bearer ")
        if found.gated and token != TOKEN and name != "README.md":
            self._error(
                403 if token else 401, **{"X-Error-Code": "GatedRepo", "X-Error-Message": f"Access to dataset {repo} is restricted."}
            )
            return
        files = found.at(revision)
        if files is None:
            self._error(404, **{"X-Error-Code": "RevisionNotFound", "X-Error-Message": f"Invalid rev id: {revision}"})
        elif name not in files:
            self._error(404, **{"X-Error-Code": "EntryNotFound", "X-Error-Message": "Entry not found"})
        elif name in found.large:
            self.send_response(302)
            self.send_header("Location", f"{self.hub.url}/cdn/{repo}/{revision}/{name}")
            self.send_header("Content-Length", "0")
            self.end_headers()
        else:
            self._body(name, files[name])

    def _body(self, name: str, data: bytes) -> None:
        wanted = self.headers.get("Range")
        total, status = len(data), 200
        start = 0
        if wanted and self.hub.ranges:
            first, _, last = wanted.removeprefix("bytes=").partition("-")
            start = int(first)
            if start >= total:
                self._error(416, **{"Content-Range": f"bytes */{total}"})
                return
            data, status = data[start : int(last) + 1 if last else None], 206
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Accept-Ranges", "bytes")
        if status == 206:
            self.send_header("Content-Range", f"bytes {start}-{start + len(data) - 1}/{total}")
        self.end_headers()
        cut = self.hub.cuts.pop(0) if self.hub.cuts else None
        sent = 0
        try:
            while sent < len(data):
                if cut is not None and sent >= cut:
                    self.close_connection = True
                    return
                piece = data[sent : sent + (min(self.hub.chunk, cut - sent) if cut is not None else self.hub.chunk)]
                self.wfile.write(piece)
                sent += len(piece)
                self.hub.on_body(name, start + sent)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def _json(self, value: Any) -> None:
        data = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _error(self, status: int, **headers: str) -> None:
        data = json.dumps({"error": headers.get("X-Error-Message", "")}).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **headers, "Content-Length": str(len(data))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)


def _sibling(name: str, data: bytes, large: bool) -> dict[str, Any]:
    blob = hashlib.sha1(f"blob {len(data)}\0".encode() + data).hexdigest()
    value: dict[str, Any] = {"rfilename": name, "size": len(data), "blobId": blob}
    if large:
        value["lfs"] = {"size": len(data), "sha256": hashlib.sha256(data).hexdigest(), "pointerSize": 130}
    return value
