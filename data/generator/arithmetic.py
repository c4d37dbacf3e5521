"""Sums in words with one short worked step, as chat and as prompt-only rows with a gold answer.

It knows small numbers only: sums below 100, so that a model of two million parameters can get them right.
"""

import random
from dataclasses import dataclass

from core.conversation import Conversation, Message
from data.generator.phrasing import OFFERS
from data.generator.words import FIRST_NAMES, counted, first_name, pick, plural, thing, town


@dataclass(frozen=True)
class Problem:
    """A word problem: the question, the worked steps (`12 + 7 = 19`), the result and the closing sentence."""

    question: str
    steps: tuple[str, ...]
    result: int
    closing: str


_OPENERS = ("has", "owns", "starts with", "begins with", "collected", "brought", "counts", "found")
_GAINS = (
    "gets {} more",
    "buys {} more",
    "finds {} more",
    "is given {} more",
    "picks up {} more",
    "receives another {}",
    "adds {} more",
    "borrows {} more",
)
_LOSSES = ("gives away {}", "loses {}", "sells {}", "breaks {}", "lends {} to a friend", "leaves {} at home")
_QUESTIONS = (
    "How many {things} does {name} have now?",
    "How many {things} are there in all?",
    "How many {things} is that altogether?",
    "What is the total number of {things}?",
    "How many {things} does {name} end up with?",
)


def _added(numbers: list[int]) -> tuple[tuple[str, ...], int]:
    total, steps = numbers[0], []
    for number in numbers[1:]:
        steps.append(f"{total} + {number} = {total + number}")
        total += number
    return tuple(steps), total


def _story(rng: random.Random) -> Problem:
    name, word = first_name(rng), thing(rng)
    numbers = [rng.randint(2, 40), rng.randint(2, 30)] + ([rng.randint(2, 20)] if rng.random() < 0.35 else [])
    gains = rng.sample(_GAINS, len(numbers) - 1)
    where = f" in {town(rng)}" if rng.random() < 0.25 else ""
    story = f"{name} {pick(rng, _OPENERS)} {counted(numbers[0], word)}{where}"
    parts = [gain.format(number) for gain, number in zip(gains, numbers[1:], strict=True)]
    middle = f" and {parts[0]}." if len(parts) == 1 else f", {parts[0]} and then {parts[1]}."
    steps, total = _added(numbers)
    ask = pick(rng, _QUESTIONS).format(things=plural(word), name=name)
    return Problem(f"{story}{middle} {ask}", steps, total, f"{name} has {counted(total, word)}.")


def _people(rng: random.Random) -> Problem:
    word = thing(rng)
    names = rng.sample(FIRST_NAMES, 3 if rng.random() < 0.35 else 2)
    numbers = [rng.randint(2, 40), rng.randint(2, 40), rng.randint(2, 15)][: len(names)]
    clauses = [f"{name} has {counted(number, word)}" for name, number in zip(names, numbers, strict=True)]
    steps, total = _added(numbers)
    who = "two" if len(names) == 2 else "three"
    ask = pick(rng, ("How many do they have together?", f"How many {plural(word)} do the {who} of them have?", "How many is that in all?"))
    story = ", ".join(clauses[:-1]) + " and " + clauses[-1]
    return Problem(f"{story}. {ask}", steps, total, f"Together they have {counted(total, word)}.")


def _bare(rng: random.Random) -> Problem:
    numbers = [rng.randint(2, 49), rng.randint(2, 49)] + ([rng.randint(2, 20)] if rng.random() < 0.3 else [])
    steps, total = _added(numbers)
    plus, word = " + ".join(map(str, numbers)), " plus ".join(map(str, numbers))
    listed = ", ".join(map(str, numbers[:-1])) + f" and {numbers[-1]}"
    ask = pick(rng, (f"What is {plus}?", f"What is {word}?", f"Add {listed}.", f"Calculate {plus}.", f"What is the sum of {listed}?"))
    return Problem(ask, steps, total, f"The sum is {total}.")


def _taken(rng: random.Random) -> Problem:
    name, word = first_name(rng), thing(rng)
    start = rng.randint(8, 40)
    less = rng.randint(2, start - 2)
    story = f"{name} {pick(rng, _OPENERS)} {counted(start, word)} and {pick(rng, _LOSSES).format(less)}."
    left = start - less
    return Problem(f"{story} How many {plural(word)} are left?", (f"{start} - {less} = {left}",), left, f"{counted(left, word)} are left.")


def problem(rng: random.Random) -> Problem:
    """One problem; nine in ten are sums, the others take away."""
    roll = rng.random()
    if roll < 0.4:
        return _story(rng)
    if roll < 0.65:
        return _people(rng)
    return _bare(rng) if roll < 0.9 else _taken(rng)


def solution(rng: random.Random, item: Problem) -> Message:
    """The worked answer; at times the step stands in the reasoning."""
    steps = ", then ".join(item.steps)
    told = f"{item.closing} The answer is {item.result}. {OFFERS[0]}"
    if rng.random() < 0.12:
        return Message("assistant", told, reasoning_content=f"I need to calculate this step by step: {steps}. Now I can answer.")
    return Message("assistant", f"Let us calculate this step by step: {steps}. {told}")


def single(rng: random.Random) -> Conversation:
    """One problem asked and solved."""
    item = problem(rng)
    ask = (
        item.question
        if rng.random() < 0.8
        else pick(rng, ("Please solve this: {}", "Help me with this sum. {}", "{} Show the step.")).format(item.question)
    )
    system = pick(rng, ("", "", "", "", "You are good at mental arithmetic.", "Solve the problem and show one step."))
    return Conversation((*([Message("system", system)] if system else []), Message("user", ask), solution(rng, item)))


def gold(item: Problem) -> str:
    """The gold answer as grade-school sets write it: `<<12+7=19>>` notes and the result after `####`."""
    notes = []
    for step in item.steps:
        left, result = step.split(" = ")
        notes.append(f"{left} = <<{left.replace(' ', '')}={result}>>{result}")
    return "\n".join([*notes, item.closing, f"#### {item.result}"])
