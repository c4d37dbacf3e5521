"""Openings and closings around a request, and what an assistant says around an answer. It knows manners, not subjects."""

import random
import zlib
from collections.abc import Sequence

from data.generator.words import lowered, pick

_OPENINGS = (
    "Hi! {}",
    "Hello, {0}",
    "Good morning. {}",
    "Please help me: {0}",
    "Quick question: {0}",
    "I have a question. {}",
    "Hey, {0}",
    "One more thing I wonder about: {0}",
    "My friend asked me this. {}",
    "For a quiz: {0}",
    "I forgot, so tell me: {0}",
    "Dear assistant, {0}",
)
_CLOSINGS = (
    "{} Thank you.",
    "{} Thanks!",
    "{} Please be brief.",
    "{} I am curious.",
    "{} It is for school.",
    "{} Just the answer, please.",
)

_REASONS = (
    "The user asks for something that I know. I will answer it directly.",
    "I remember the answer to this question. I can give it in a few words.",
    "Let me recall what I know. Then I can answer the question.",
)

OFFERS = (
    "Let me know if you need anything else.",
    "Is there anything else that I can do for you?",
    "I hope that this helps. Just ask me if you need more.",
)

"""How an assistant ends; which one follows from the subject (`settled`)."""

CHANGES = "Let me know if I should change anything else in it."
"""How it ends after it changed a text, a list or code."""


def settled(key: str, choices: Sequence[str]) -> str:
    """The one of `choices` that `key` always gets: where wording follows from the subject, a small model can be sure of it."""
    return choices[zlib.crc32(key.encode()) % len(choices)]


def asked(rng: random.Random, ask: str) -> str:
    """The request with, at times, an opening or a closing."""
    roll = rng.random()
    if roll < 0.3:
        opening = pick(rng, _OPENINGS)
        return opening.format(lowered(ask)) if "{0}" in opening else opening.format(ask)
    if roll < 0.42:
        return pick(rng, _CLOSINGS).format(ask)
    return ask


def reasoned(rng: random.Random, ask: str, share: float) -> str | None:
    """Short reasoning before an answer in `share` of the cases, else None."""
    if rng.random() >= share:
        return None
    return settled(ask.split(" ", 1)[0], _REASONS)
