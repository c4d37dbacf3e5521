"""Decoding of one prompt at a time, plain and speculative. It knows nothing about prompts' origin or reports.

A round drafts tokens after the committed one, lets the target read them in one pass and keeps the longest path the target would have
said itself, plus the target's next token: so the output is the target's own, whatever the drafter says.
"""

import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import torch

from core.drafter.drafts import Looker, Round
from core.drafter.proposers import Drafter
from core.drafter.sampling import GREEDY, Chooser
from core.drafter.target import TargetModel


@dataclass(frozen=True)
class Decoded:
    """A response and how it came about."""

    tokens: tuple[int, ...]
    """the stop token included, when one was said"""
    rounds: tuple[int, ...]
    """tokens of each speculative round: drafts accepted + 1, not counting what was drafted past a stop token; empty when plain"""
    prompt_seconds: float = field(default=0.0, compare=False)
    """spent on reading the prompt and choosing the first token"""
    seconds: float = field(default=0.0, compare=False)
    """in all"""


@torch.inference_mode()
def decode_plain(
    target: TargetModel,
    prompt: Sequence[int],
    max_new_tokens: int,
    stop: Collection[int],
    chooser: Chooser = GREEDY,
    *,
    in_transformers: bool = False,
) -> Decoded:
    """The target's own response to a prompt, one token per pass; on demand run by transformers, however it is decoded else."""
    began = time.perf_counter()
    session = target.start_in_transformers() if in_transformers else target.start(())
    logits, _ = session.feed(prompt, last_only=True)
    tokens = [chooser.choose(logits[-1])]
    read = time.perf_counter()
    while len(tokens) < max_new_tokens and tokens[-1] not in stop:
        logits, _ = session.feed(tokens[-1:])
        tokens.append(chooser.choose(logits[-1]))
    return Decoded(tuple(tokens), (), read - began, time.perf_counter() - began)


@torch.inference_mode()
def decode_speculative(
    target: TargetModel,
    drafter: Drafter,
    prompt: Sequence[int],
    max_new_tokens: int,
    stop: Collection[int],
    chooser: Chooser = GREEDY,
    look: Looker | None = None,
) -> Decoded:
    """The same response (drawn: one of the same distribution), drafted in rounds, each shown to `look`.

    A last round that passes `max_new_tokens` counts whole, its surplus is cut off.
    """
    began = time.perf_counter()
    session = target.start(drafter.layers)
    logits, features = session.feed(prompt, last_only=True)
    drafter.extend(prompt, features)
    tokens = [chooser.choose(logits[-1])]
    read = time.perf_counter()
    rounds: list[int] = []
    while len(tokens) < max_new_tokens and tokens[-1] not in stop:
        committed = tokens[-1]
        draft = drafter.propose(committed)
        before = session.length
        logits, features = session.feed_draft(committed, draft)
        path, following = chooser.verify(draft, logits)
        gained = [*(draft.tokens[place] for place in path), following]
        ended = next((number for number, token in enumerate(gained) if token in stop), None)
        if ended is not None:
            gained = gained[: ended + 1]
        # What is settled now is the committed token and all gained ones but the newest: as many as were gained.
        kept = [0, *(place + 1 for place in path[: len(gained) - 1])]
        session.keep(before, kept)
        tokens += gained
        rounds.append(len(gained))
        settled = features[: len(kept)] if draft.parents is None else features[kept]
        drafter.extend([committed, *gained[:-1]], settled)
        if look is not None:
            look(Round(committed, draft, tuple(path[: len(gained)]), tuple(gained)))
    return Decoded(tuple(tokens[:max_new_tokens]), tuple(rounds), read - began, time.perf_counter() - began)
