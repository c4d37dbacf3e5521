"""Raw rows into files as published: Parquet, one JSON array, JSON lines. It knows formats and schemas, not what rows mean."""

import json
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from data.generator.broken import Spoiled

_MESSAGES = pa.list_(pa.struct([("content", pa.string()), ("role", pa.string())]))
_SESSION = ("session_id", "source_dataset", "source_id", "agent_framework", "recorded_model", "messages_json")
SCHEMAS = {
    "openorca": pa.schema([(name, pa.string()) for name in ("id", "system_prompt", "question", "response")]),
    "ultrachat": pa.schema([("prompt", pa.string()), ("prompt_id", pa.string()), ("messages", _MESSAGES)]),
    "agentic-coding": pa.schema(
        [(name, pa.string()) for name in _SESSION]
        + [(name, pa.int64()) for name in ("n_turns", "max_isl", "total_tokens")]
        + [("ground_truth_meta_json", pa.string())]
    ),
    "qwen35-tools": pa.schema([("messages", pa.list_(pa.struct([("role", pa.string()), ("content", pa.string())])))]),
}


def write_parquet(path: Path, name: str, rows: Sequence[Spoiled]) -> None:
    """One Parquet file with the source's schema."""
    pq.write_table(pa.Table.from_pylist(list(rows), schema=SCHEMAS[name]), path, compression="zstd")


def write_json(path: Path, _: str, rows: Sequence[Spoiled]) -> None:
    """One JSON array, a row on each line."""
    path.write_text("[\n" + ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows) + "\n]\n", encoding="utf-8")


def write_jsonl(path: Path, name: str, rows: Sequence[Spoiled]) -> None:
    """JSON lines; a spoiled line stands as its bytes, and ToolMind's file begins with a byte-order mark."""
    lines = [row if isinstance(row, bytes) else json.dumps(row, ensure_ascii=False).encode() for row in rows]
    path.write_bytes((b"\xef\xbb\xbf" if name == "toolmind" else b"") + b"\n".join(lines) + b"\n")
