"""Openings and closings around a request, and the short reasoning before an answer. It knows manners, not subjects."""

import random

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
    "The user asks: {ask} I know this one.",
    "The question is: {ask} I remember the answer.",
    "Let me recall what I know. The user wants to know: {ask}",
    "I should answer this directly: {ask}",
)


def asked(rng: random.Random, ask: str) -> str:
    """The request with, at times, an opening or a closing."""
    roll = rng.random()
    if roll < 0.3:
        opening = pick(rng, _OPENINGS)
        return opening.format(lowered(ask)) if "{0}" in opening else opening.format(ask)
    if roll < 0.42:
        return pick(rng, _CLOSINGS).format(ask)
    return ask


def reasoned(rng: random.Random, ask: str, answer: str, share: float) -> str | None:
    """Short reasoning before an answer in `share` of the cases, else None."""
    if rng.random() >= share:
        return None
    if rng.random() < 0.3 and len(answer) < 120:
        return f"The user asks: {ask} As far as I know: {answer}"
    return pick(rng, _REASONS).format(ask=ask)
