"""The evaluation set that goes with a dataset: one prompt per held-out conversation, as the server would send it.

It knows which answer of a conversation is asked for. How a prompt is rendered is `core.chat`'s business.
"""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import xxhash

from core.chat import Supervision, Target, TemplateRefused, generation_prompt, supervise
from core.conversation import Conversation
from core.tokens.manifest import HeldOutCounts
from core.tokens.shards import write_whole
from core.tokens.units import Drop, Pulse, Unit, Workbench

HELDOUT_FILE = "heldout.parquet"
ANSWER_ROOM = 128
"""Tokens left for the answer within `seq_length` (a quarter of it where that is less)."""

HELDOUT_SCHEMA = pa.schema(
    {
        "source": pa.string(),
        "domain": pa.string(),
        "row_id": pa.string(),
        "turn": pa.int64(),
        "prompt_ids": pa.list_(pa.int32()),
    }
)


@dataclass(frozen=True)
class HeldOutPrompt:
    """What the target is asked: the ids of its prompt for the assistant turn at `turn` (an index into the messages)."""

    source: str
    row_id: str
    turn: int
    prompt_ids: list[int]


@dataclass(frozen=True)
class HeldOutRecord:
    """What a unit of held-out conversations became; written when it is done."""

    number: int
    counts: HeldOutCounts
    by_source: dict[str, int]
    prompts: list[HeldOutPrompt]
    drops: list[Drop] = field(default_factory=list)

    def save(self, path: Path) -> None:
        """Write it as JSON, whole or not at all."""
        write_whole(path, orjson.dumps(self))

    @classmethod
    def load(cls, path: Path) -> "HeldOutRecord":
        """The inverse of `save`."""
        value = orjson.loads(path.read_bytes())
        value["counts"] = HeldOutCounts(**value["counts"])
        value["prompts"] = [HeldOutPrompt(**prompt) for prompt in value["prompts"]]
        value["drops"] = [Drop(**drop) for drop in value["drops"]]
        return cls(**value)


def hold_out(unit: Unit, bench: Workbench, pulse: Pulse) -> HeldOutRecord:
    """One prompt per conversation of the unit: of its assistant turns in the order of a seeded hash, the first whose prompt fits."""
    prompts: list[HeldOutPrompt] = []
    drops: list[Drop] = []
    by_source: dict[str, int] = {}
    for index, conversation in bench.conversations(unit):
        name = bench.names[index]
        made = _prompt(conversation, bench.target, bench.supervision, bench.seed)
        if isinstance(made, Drop):
            drops.append(Drop(name, conversation.row_id, made.turn, made.reason, made.detail))
        else:
            prompts.append(HeldOutPrompt(name, conversation.row_id, *made))
            by_source[name] = by_source.get(name, 0) + 1
        pulse(1)
    reasons = {reason: sum(drop.reason == reason for drop in drops) for reason in sorted({drop.reason for drop in drops})}
    return HeldOutRecord(unit.number, HeldOutCounts(len(unit.row), len(prompts), reasons), dict(sorted(by_source.items())), prompts, drops)


def turns_in_order(conversation: Conversation, seed: int) -> list[int]:
    """Indices of the assistant messages after the first user message, by xxh3_64 of "seed:row_id:index"."""
    roles = [message.role for message in conversation.messages]
    asked = roles.index("user") if "user" in roles else len(roles)
    turns = [index for index, role in enumerate(roles) if role == "assistant" and index > asked]
    return sorted(turns, key=lambda turn: (xxhash.xxh3_64_intdigest(f"{seed}:{conversation.row_id}:{turn}".encode()), turn))


def longest_prompt(seq_length: int) -> int:
    """Tokens a held-out prompt may have so that an answer still fits."""
    return seq_length - min(ANSWER_ROOM, seq_length // 4)


def write_heldout(path: Path, records: Iterable[HeldOutRecord], domains: dict[str, str]) -> None:
    """Write `heldout.parquet` from the units in order, one row group per unit."""
    beside = path.with_name(path.name + ".writing")
    with pq.ParquetWriter(beside, HELDOUT_SCHEMA) as writer:
        for record in records:
            writer.write_table(_table(record.prompts, domains))
    _settle(beside, path)


def _settle(beside: Path, path: Path) -> None:
    with beside.open("rb") as file:
        os.fsync(file.fileno())
    beside.replace(path)


def _table(prompts: Sequence[HeldOutPrompt], domains: dict[str, str]) -> pa.Table:
    columns: dict[str, list[Any]] = {
        "source": [prompt.source for prompt in prompts],
        "domain": [domains[prompt.source] for prompt in prompts],
        "row_id": [prompt.row_id for prompt in prompts],
        "turn": [prompt.turn for prompt in prompts],
        "prompt_ids": [prompt.prompt_ids for prompt in prompts],
    }
    return pa.table(columns, schema=HELDOUT_SCHEMA)


def _prompt(conversation: Conversation, target: Target, supervision: Supervision, seed: int) -> tuple[int, list[int]] | Drop:
    """(turn, prompt ids), or why there is none. Only turns that could be trained on are asked for."""
    made = supervise(conversation, target, supervision)
    unusable = {drop.turn for drop in made.dropped}
    trouble = next(
        (Drop("", "", drop.turn, drop.reason, drop.detail) for drop in made.dropped), Drop("", "", None, "no_assistant_turn", "")
    )
    if not made.rows:
        return trouble
    room = longest_prompt(supervision.seq_length)
    for turn in turns_in_order(conversation, seed):
        if turn in unusable:
            continue
        try:
            ids = generation_prompt(conversation, turn, target, supervision)
        except TemplateRefused as refusal:
            trouble = Drop("", "", turn, f"refused:{refusal.code}", refusal.message)
            continue
        if len(ids) <= room:
            return turn, [int(token) for token in ids]
        trouble = Drop("", "", turn, "prompt_too_long", f"{len(ids):,} tokens; {room:,} leave room for an answer")
    return trouble
