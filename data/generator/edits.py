"""Conversations in which something is copied, changed and changed again: notes, lists, words, functions.

They teach the target to carry the prompt's own words, which tool calls need. It knows no facts.
"""

import random
from collections.abc import Callable

from core.conversation import Conversation, Message
from data.generator import functions
from data.generator.phrasing import CHANGES, OFFERS, settled
from data.generator.words import (
    ADJECTIVES,
    code,
    first_name,
    full_name,
    iso_date,
    joined,
    pick,
    plural,
    some,
    surname,
    thing,
    town,
    weekday,
)

Turns = list[tuple[str, str]]


def _note(rng: random.Random) -> tuple[str, str]:
    """A short note and its shorter form."""
    name, place, day, what = first_name(rng), town(rng), weekday(rng), f"{pick(rng, ADJECTIVES)} {thing(rng)}"
    return pick(
        rng,
        (
            (
                f"{name} will arrive in {place} on {day} and bring the {what}, because everybody asked for it.",
                f"{name} brings the {what} to {place} on {day}.",
            ),
            (
                f"We are very happy to tell you that the {what} is ready and that {name} can fetch it in {place}.",
                f"{name} can fetch the {what} in {place}.",
            ),
            (
                f"Please remember that on {day} all of us meet {name} in {place} to look at the {what} together.",
                f"On {day} we meet {name} in {place}.",
            ),
            (
                f"Yesterday {name} lost a {what} somewhere in {place}, and nobody has seen it since then.",
                f"{name} lost a {what} in {place}.",
            ),
            (
                f"I would like to say that {name} from {place} made the best {what} that we have ever seen.",
                f"{name} from {place} made the best {what}.",
            ),
        ),
    )


def _change(rng: random.Random, text: str, short: str) -> tuple[str, str]:
    """One change to a text: the request and the result."""
    first = short.split(" ", 1)[0]
    other = first_name(rng)
    named = next(
        (w.strip(".,") for w in text.split() if w[:1].isupper() and w.strip(".,") not in {"We", "Please", "Yesterday", "I", "On"}), first
    )
    changes: list[tuple[str, str]] = [
        (pick(rng, ("Now in upper case.", "Put it in upper case.", "Write it in capital letters.")), text.upper()),
        (pick(rng, ("Now in lower case.", "Put it in lower case.")), text.lower()),
        (pick(rng, (f"Replace {named} by {other}.", f"Change {named} to {other}.")), text.replace(named, other)),
        (pick(rng, ("Put it in quotes.", "Add quotation marks.")), f'"{text}"'),
        (pick(rng, ("Make it a bullet point.", "As a list item, please.")), f"- {text}"),
        (pick(rng, ("Add a greeting.", "Begin with a greeting.")), f"Hello! {text}"),
        (pick(rng, ("Add a thank you at the end.", "End it with thanks.")), f"{text} Thank you!"),
        (f"Sign it with {other}.", f"{text}\n\n{other}"),
        ("Say it once more.", text),
    ]
    return pick(rng, changes)


def note(rng: random.Random) -> Turns:
    """A note is shortened and changed again."""
    text, short = _note(rng)
    ask = pick(rng, ("Make this shorter: {}", "Please shorten this note: {}", "Say this in fewer words: {}")).format(text)
    turns = [(ask, f"Here is a shorter version of the note:\n\n{short}\n\n{CHANGES}")]
    current = short
    for _ in range(rng.randint(0, 2)):
        request, current = _change(rng, current, short)
        turns.append((request, _changed(current)))
    return turns


def _changed(text: str) -> str:
    return f"Here it is with the change that you asked for:\n\n{text}\n\n{CHANGES}"


def _listing(items: list[str], style: int) -> str:
    if style == 0:
        return "\n".join(f"- {item}" for item in items)
    return "\n".join(f"{i}. {item}" for i, item in enumerate(items, 1)) if style == 1 else ", ".join(items)


def listed(rng: random.Random) -> Turns:
    """A list is written, sorted, turned around, extended."""
    draw: Callable[[random.Random], str] = pick(rng, (first_name, town, lambda r: plural(thing(r)), surname))
    items = list(dict.fromkeys(draw(rng) for _ in range(rng.randint(3, 5))))
    style = rng.randrange(3)
    form = ("as bullet points", "as a numbered list", "separated by commas")[style]
    turns = [
        (
            pick(rng, ("Write {} {}.", "List {} {}.", "Give me {} {}.")).format(joined(items), form),
            f"Here is your list:\n\n{_listing(items, style)}\n\n{CHANGES}",
        )
    ]
    for _ in range(rng.randint(0, 2)):
        extra = draw(rng)
        kind = rng.randrange(4)
        if kind == 0:
            ask, items = pick(rng, ("Sort them.", "Sort them by name.")), sorted(items)
        elif kind == 1:
            ask, items = pick(rng, ("In reverse order.", "Turn the order around.")), items[::-1]
        elif kind == 2:
            ask, items = pick(rng, (f"Add {extra} at the end.", f"Add {extra}.")), [*items, extra]
        else:
            style = (style + 1) % 3
            ask = ("As bullet points, please.", "Number them.", "With commas, please.")[style]
        turns.append((ask, _changed(_listing(items, style))))
    return turns


def repeated(rng: random.Random) -> Turns:
    """Something is repeated word for word, or one named thing is found again."""
    draw = pick(rng, (full_name, code, iso_date, town, lambda r: f"{first_name(r)} {iso_date(r)} {code(r)}"))
    value = draw(rng)
    name, place, number, day = full_name(rng), town(rng), code(rng), iso_date(rng)
    sentence = pick(
        rng,
        (
            f"{name} lives in {place}. The number is {number} and the date is {day}.",
            f"On {day} {name} sent the parcel {number} to {place}.",
            f"The parcel {number} goes to {name} in {place} on {day}.",
        ),
    )
    field, answer = pick(rng, (("name", name), ("city", place), ("number", number), ("date", day)))
    return pick(
        rng,
        (
            [
                (
                    pick(rng, ("Repeat this: {}", "Say {}", "Write {} once more.", "Please copy this: {}")).format(value),
                    f"Here it is once more:\n\n{value}\n\n{OFFERS[0]}",
                )
            ],
            [(f"{sentence} What is the {field}?", f"The {field} in this text is {answer}. {settled(field, OFFERS)}")],
            [
                (f"{sentence} What is the {field}?", f"The {field} in this text is {answer}. {settled(field, OFFERS)}"),
                ("And the name?", f"The name in this text is {name}. {settled('name', OFFERS)}"),
            ],
            [
                (
                    f"Take {field}, city and number from this as JSON: {sentence}",
                    f'Here is the JSON:\n\n{{"{field}": "{answer}", "city": "{place}", "number": "{number}"}}\n\n{CHANGES}',
                )
            ]
            if field in ("name", "date")
            else [(f"Which number is in this text? {sentence}", f"The number in this text is {number}. {settled('number', OFFERS)}")],
        ),
    )


def function(rng: random.Random) -> Turns:
    """A function is written, renamed, given a docstring or an example."""
    item = functions.draft(rng, doctest=False)
    turns = [(functions.request(rng, item), functions.reply(item))]
    for _ in range(rng.randint(1, 2)):
        other = pick(rng, [n for n in item.operation.names if n != item.name])
        kind = rng.randrange(3)
        if kind == 0:
            new = item.code.replace(f"def {item.name}(", f"def {other}(")
            ask = pick(rng, (f"Rename the function to `{other}`.", f"Call it `{other}` instead.", f"Please rename it to `{other}`."))
            turns.append((ask, _changed(f"```python\n{new}\n```")))
            item = functions.Draft(
                other, item.params, item.what, item.why, new, item.call.replace(item.name, other, 1), item.result, item.operation
            )
        elif kind == 1:
            ask = pick(rng, ("Add an example.", "Show me an example call.", "How do I call it?"))
            turns.append((ask, f"Here is an example of how to call it:\n\n```python\n>>> {item.call}\n{item.result}\n```\n\n{CHANGES}"))
        else:
            ask = pick(rng, ("Explain how it works.", "Why does that work?", "Explain the line after the docstring."))
            turns.append((ask, f"Let me explain the code. {item.why} That is why the function `{item.name}` {item.what}. {CHANGES}"))
    return turns


def talk(rng: random.Random, weights: tuple[float, ...] = (0.34, 0.24, 0.22, 0.2)) -> Conversation:
    """One of the four kinds as a conversation; `weights` are for note, listed, repeated, function."""
    kind = rng.choices((note, listed, repeated, function), weights)[0]
    messages = [Message(role, text) for ask, answer in kind(rng) for role, text in (("user", ask), ("assistant", answer))]
    system = pick(rng, ("", "", "", "", "You edit texts.", "You do exactly what the user says."))
    return Conversation(tuple(([Message("system", system)] if system else []) + messages))


def greeted(rng: random.Random) -> Turns:
    """Small talk in which a name or a thing comes back."""
    name, place, liked = (
        first_name(rng),
        town(rng),
        joined([plural(w) for w in some(rng, ("apple", "pear", "plum", "kite", "book", "shell"), 1, 2)]),
    )
    return [
        (
            pick(rng, (f"Hi, I am {name} from {place}.", f"Hello! My name is {name} and I live in {place}.")),
            f"Hello {name}! It is nice to meet you. How is life in {place}?",
        ),
        (
            pick(rng, (f"Very good. I like {liked}.", f"Fine, and I collect {liked}.")),
            f"Nice! {liked[0].upper()}{liked[1:]} are a good thing to like, {name}. What else would you like to tell me?",
        ),
        pick(
            rng,
            (
                ("What is my name?", f"You told me that your name is {name}. {OFFERS[1]}"),
                ("Where do I live?", f"You told me that you live in {place}. {OFFERS[1]}"),
                ("What do I like?", f"You told me that you like {liked}. {OFFERS[1]}"),
            ),
        ),
    ]
