"""Writes the bundled sources: seeded rows in each data set's raw dialect and file type, about two in a hundred broken.

    python -m data.generator.sources [FOLDER]

The same code gives the same bytes (Parquet: with the same pyarrow). `expected.json` records how many rows there are and what was planted.
"""

import json
import random
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from core.conversation import Conversation, JSONObject
from data.generator import arithmetic, calls, corpus, edits, facts, functions, trajectories
from data.generator.broken import BREAKS, Break, Spoiled
from data.generator.dialects import chat, code, tooling
from data.generator.files import write_json, write_jsonl, write_parquet

FOLDER = Path(__file__).resolve().parent.parent / "sources"
Maker = Callable[[random.Random], Conversation]


def _one_of(*shares: tuple[Maker, float]) -> Maker:
    makers, weights = zip(*shares, strict=True)
    return lambda rng: rng.choices(makers, weights)[0](rng)


def _unthought(maker: Maker, turns: int | None = None, system: bool = True) -> Maker:
    """Draws until no turn has reasoning, and there are as many `turns` and a `system` prompt only where allowed."""

    def draw(rng: random.Random) -> Conversation:
        while True:
            talk = maker(rng)
            spoken = [m for m in talk.messages if m.role != "system"]
            fits = (turns is None or len(spoken) == turns) and (system or len(spoken) == len(talk.messages))
            if fits and not any(m.reasoning_content for m in talk.messages):
                return talk

    return draw


def _calls(*shares: tuple[Callable[[random.Random, float], Conversation], float], thinking: float = 0.0) -> Maker:
    makers, weights = zip(*shares, strict=True)
    return lambda rng: rng.choices(makers, weights)[0](rng, thinking)


def _fresh(rng: random.Random, _: float) -> Conversation:
    return calls.unneeded(rng) if rng.random() < 0.6 else calls.missing(rng)


_ONE_FACT = _unthought(facts.single, 2)
_CHATS = _unthought(_one_of((facts.several, 0.5), (edits.talk, 0.38), (corpus.small_talk, 0.12)))
_FUNCTION = _unthought(functions.single, 2, system=False)
_ANY_CALLS = ((calls.single, 0.55), (calls.parallel, 0.2), (calls.several, 0.25))


@dataclass(frozen=True)
class Source:
    """A bundled source: its file below `data/sources/<name>/`, how many conversations, and how one becomes raw rows."""

    file: str
    conversations: int
    rows: Callable[[random.Random, int], list[JSONObject]]


def _plain(writer: Callable[[random.Random, Conversation], JSONObject], maker: Maker) -> Callable[[random.Random, int], list[JSONObject]]:
    return lambda rng, _: [writer(rng, maker(rng))]


SOURCES: dict[str, Source] = {
    "openorca": Source(
        "1M-GPT4-Augmented.parquet",
        240,
        _plain(chat.openorca, _one_of((_ONE_FACT, 0.5), (_unthought(arithmetic.single, 2), 0.4), (_unthought(corpus.copying, 2), 0.1))),
    ),
    "evol-codealpaca": Source("train.jsonl", 220, _plain(code.evol_codealpaca, _FUNCTION)),
    "magicoder": Source("data-oss_instruct-decontaminated.jsonl", 220, _plain(code.magicoder, _FUNCTION)),
    "code-alpaca": Source("code_alpaca_20k.json", 220, _plain(code.code_alpaca, _one_of((_FUNCTION, 0.5), (functions.explained, 0.5)))),
    "sharegpt": Source("sg_90k_part1.json", 180, _plain(chat.sharegpt, _CHATS)),
    "ultrachat": Source("train_sft-00000-of-00001.parquet", 180, _plain(chat.ultrachat, _CHATS)),
    "openassistant": Source("messages.jsonl", 170, lambda rng, _: chat.openassistant(rng, _unthought(_CHATS, system=False)(rng))),
    "agentic-coding": Source(
        "sessions.parquet", 160, _plain(code.agentic_coding, _one_of((trajectories.trajectory, 0.8), (trajectories.spoken, 0.2)))
    ),
    "glaive": Source(
        "glaive-function-calling-v2.json",
        180,
        _plain(
            tooling.glaive,
            _one_of((_calls((calls.single, 0.7), (calls.several, 0.3)), 0.7), (lambda rng: _fresh(rng, 0), 0.2), (_ONE_FACT, 0.1)),
        ),
    ),
    "hermes": Source("func-calling.json", 160, _plain(tooling.hermes, _calls(*_ANY_CALLS))),
    "hermes-single": Source(
        "func-calling-singleturn.json", 180, _plain(tooling.hermes_single, _calls((calls.single, 0.7), (calls.parallel, 0.3)))
    ),
    "qwen35-tools": Source("train-00000-of-00001.parquet", 160, _plain(tooling.qwen35_tools, _calls(*_ANY_CALLS, thinking=0.7))),
    "toolmind": Source("graph_syn_datasets.jsonl", 160, _plain(tooling.toolmind, _calls(*_ANY_CALLS, (_fresh, 0.1), thinking=0.5))),
    "xlam": Source(
        "xlam_function_calling_60k.json",
        180,
        lambda rng, number: [tooling.xlam(number, _calls((calls.single, 0.65), (calls.parallel, 0.35))(rng))],
    ),
    "gsm8k": Source("train.jsonl", 200, lambda rng, _: [code.gsm8k(rng)]),
}
WRITERS = {".parquet": write_parquet, ".jsonl": write_jsonl, ".json": write_json}


def _planted(rng: random.Random, rows: list[JSONObject], breaks: tuple[Break, ...]) -> tuple[list[Spoiled], list[JSONObject]]:
    spoiled: list[Spoiled] = list(rows)
    planted: list[JSONObject] = []
    taken: set[int] = set()
    for item in breaks:
        free = [i for i, row in enumerate(rows) if i not in taken and item.fits(row)]
        position = rng.choice(free)
        taken.add(position)
        spoiled[position] = item.spoil(rng, rows[position])
        planted.append({"row": position, "kind": item.kind, "handling": item.handling})
    return spoiled, sorted(planted, key=lambda entry: entry["row"])


def source_rows(name: str) -> tuple[list[Spoiled], list[JSONObject]]:
    """All rows of a source in order, and what was planted where (`row` counts from 0)."""
    rng = random.Random(f"source {name}")
    source = SOURCES[name]
    rows = [row for number in range(source.conversations) for row in source.rows(rng, number)]
    return _planted(rng, rows, BREAKS[name])


def write(folder: Path = FOLDER) -> JSONObject:
    """Writes every source below `folder` and returns what `expected.json` says."""
    expected: JSONObject = {}
    for name, source in SOURCES.items():
        rows, planted = source_rows(name)
        path = folder / name / source.file
        path.parent.mkdir(parents=True, exist_ok=True)
        WRITERS[path.suffix](path, name, rows)
        expected[name] = {"file": source.file, "raw_rows": len(rows), "conversations": source.conversations, "planted": planted}
    (folder / "expected.json").write_text(json.dumps(expected, indent=1) + "\n", encoding="utf-8")
    return expected


if __name__ == "__main__":
    for name, facts_about in write(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER).items():
        print(f"{name}: {facts_about['raw_rows']} rows, {len(facts_about['planted'])} broken")  # noqa: T201
