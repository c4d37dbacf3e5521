"""Training batches for the demo target: rows as served, of like length, padded on the right, answers marked.

Right padding and causal attention need no attention mask. It knows token ids; it does not know the model.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from core.conversation import Conversation
from data.generator import calls
from data.generator.corpus import conversations
from data.generator.drills import drill
from data.generator.rendering import served_rows
from data.generator.words import pick

ROWS_PER_CONVERSATION = 2
LEAN_SHARE = 0.6
"""In this share of the conversations unused tools are left out: most of such a row is schemas, which teach nothing new."""
POOL = 1500


@dataclass(frozen=True)
class Batch:
    """`ids` and `answer` are `[rows, length]`; `answer` marks the tokens the target has to produce."""

    ids: NDArray[np.int64]
    answer: NDArray[np.bool_]


Row = tuple[list[int], list[bool]]


@dataclass(frozen=True)
class Diet:
    """Shares of conversations that are drills (without them names and sums were still wrong after 2,000 steps) and harder tool talks."""

    drills: float = 0.35
    tools: float = 0.15

    def draw(self, rng: random.Random, stream: Iterator[Conversation]) -> Conversation:
        """The next conversation: a drill, a tool talk with more reasoning and more calls than usual, or the stream's next."""
        roll = rng.random()
        if roll < self.drills:
            return drill(rng)
        if roll < self.drills + self.tools:
            return pick(rng, (calls.single, calls.parallel, calls.several))(rng, 0.35)
        return next(stream)


def encoded(tokenizer: Tokenizer, conversation: Conversation) -> list[Row]:
    """Token ids and answer marks of each served row."""
    rows: list[Row] = []
    for row in served_rows(conversation):
        ids: list[int] = []
        marks: list[bool] = []
        end = 0
        for start, stop in row.answers:
            for text, mark in ((row.text[end:start], False), (row.text[start:stop], True)):
                part = tokenizer.encode(text, add_special_tokens=False).ids
                ids += part
                marks += [mark] * len(part)
            end = stop
        rows.append((ids, marks))
    return rows


def _padded(rows: list[Row], pad: int) -> Batch:
    length = max(len(ids) for ids, _ in rows)
    ids = np.full((len(rows), length), pad, dtype=np.int64)
    answer = np.zeros((len(rows), length), dtype=np.bool_)
    for index, (row, marks) in enumerate(rows):
        ids[index, : len(row)] = row
        answer[index, : len(row)] = marks
    return Batch(ids, answer)


def lean(conversation: Conversation) -> Conversation:
    """The conversation with only the tools it calls, or one tool where it calls none."""
    called = {call.name for message in conversation.messages for call in message.tool_calls}
    used = tuple(tool for tool in conversation.tools if tool["function"]["name"] in called)
    return replace(conversation, tools=used or conversation.tools[:1])


def batches(tokenizer: Tokenizer, seed: str, tokens: int, longest: int, diet: Diet | None = None) -> Iterator[Batch]:
    """Batches of at most `tokens` padded tokens, without end; rows longer than `longest` are left out."""
    pad = tokenizer.token_to_id("<|endoftext|>")
    diet = diet or Diet()
    rng = random.Random(seed)
    stream = conversations(seed)
    while True:
        pool: list[Row] = []
        while len(pool) < POOL:
            talk = diet.draw(rng, stream)
            rows = encoded(tokenizer, lean(talk) if rng.random() < LEAN_SHARE else talk)
            rows = [row for row in rows if len(row[0]) <= longest]
            pool += rng.sample(rows, min(ROWS_PER_CONVERSATION, len(rows)))
        pool.sort(key=lambda row: len(row[0]))
        groups: list[list[Row]] = [[]]
        for row in pool:
            if len(row[0]) * (len(groups[-1]) + 1) > tokens:
                groups.append([])
            groups[-1].append(row)
        rng.shuffle(groups)
        yield from (_padded(group, pad) for group in groups)
