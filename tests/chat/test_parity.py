"""The rows of speculators, from its own code run as a program: set MIXDOWN_SPECULATORS_07 and _09 to interpreters that have it.

MIXDOWN_PARITY_ROWS says how many bundled and how many generated conversations are compared (200 by default).
"""

import json
import os
import random
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from core.chat import FastPath, Supervision, Target
from core.conversation import Conversation, messages_json
from tests.chat.test_fast_sources import bundled, run, trace

PROGRAM = Path(__file__).with_name("reference_rows.py")
ROWS = int(os.environ.get("MIXDOWN_PARITY_ROWS", "200"))
OLD, NEW = (os.environ.get(f"MIXDOWN_SPECULATORS_{version}", "") for version in ("07", "09"))


def chats(kind: str) -> list[Conversation]:
    rng = random.Random(kind)
    return rng.sample(bundled(), min(ROWS, len(bundled()))) if kind == "bundled" else [trace(rng) for _ in range(ROWS)]


def reference(interpreter: str, target: Target, folder: Path, conversations: list[Conversation], *endpoint: str) -> list[object]:
    file = folder / "conversations.jsonl"
    lines = (json.dumps({"messages": messages_json(chat.messages), "tools": list(chat.tools)}) for chat in conversations)
    file.write_text("\n".join(lines), encoding="utf-8")
    command = [interpreter, str(PROGRAM), str(target.path), str(file), *endpoint]
    made = subprocess.run(command, check=True, capture_output=True, text=True, cwd=folder)
    found = [json.loads(line) for line in made.stdout.splitlines() if line.startswith(("[", '"'))]
    assert len(found) == len(conversations), made.stderr[-2000:]
    return found


def ours(target: Target, choices: Supervision, conversations: list[Conversation]) -> list[object]:
    made = run(FastPath(target, choices), conversations)
    return [[[row.input_ids.tolist(), row.loss_mask.astype(int).tolist()] for row in one.rows] for one in made]


@contextmanager
def rendering(target: Target) -> Iterator[str]:
    """A loopback server that renders as vLLM's `/v1/chat/completions/render` does."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            text = target.template.render((asked["messages"], asked.get("tools")), add_generation_prompt=asked["add_generation_prompt"])
            body = json.dumps({"token_ids": target.encoder.encode(text)[: asked.get("truncate_prompt_tokens")]}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()


@pytest.mark.skipif(not OLD, reason="MIXDOWN_SPECULATORS_07 names no interpreter with speculators 0.7.0.2")
@pytest.mark.parametrize("kind", ["bundled", "generated"])
def test_content_of_whole_conversations_is_trained_as_by_speculators_0_7(kind, targets, tmp_path):
    target, conversations = targets("demo"), chats(kind)
    choices = Supervision(supervise="content", layout="conversation", thinking="default", seq_length=100_000)
    expected = reference(OLD, target, tmp_path, conversations)
    for chat, mine, theirs in zip(conversations, ours(target, choices, conversations), expected, strict=True):
        assert mine == theirs, chat


@pytest.mark.skipif(not NEW, reason="MIXDOWN_SPECULATORS_09 names no interpreter with speculators 0.9")
@pytest.mark.parametrize("kind", ["bundled", "generated"])
def test_turns_are_trained_past_their_boundary_as_by_speculators_0_9(kind, targets, tmp_path):
    target, conversations = targets("demo"), chats(kind)
    choices = Supervision(supervise="boundary", layout="turn", thinking="default", seq_length=100_000)
    with rendering(target) as endpoint:
        expected = reference(NEW, target, tmp_path, conversations, endpoint)
    for chat, mine, theirs in zip(conversations, ours(target, choices, conversations), expected, strict=True):
        assert mine == theirs, chat
