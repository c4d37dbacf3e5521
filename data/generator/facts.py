"""Questions and answers about the invented world, single and in several turns, with a little small talk.

It knows how facts are asked and told. What is true stands in `world`.
"""

import random

from core.conversation import Conversation, Message
from data.generator.phrasing import asked, reasoned
from data.generator.words import article, first_name, joined, pick, some
from data.generator.world import ANIMALS, DISHES, MAKERS, TOWNS, Animal, Dish, Maker, Town

SYSTEM_PROMPTS = (
    "",
    "",
    "",
    "You are a helpful assistant.",
    "You are a helpful assistant that answers in one or two sentences.",
    "You are an encyclopedia of the five provinces and their people.",
    "You are a patient teacher. Explain things simply, as to a child.",
    "Answer briefly and truthfully.",
    "You are a travel guide who loves small towns.",
    "You are an assistant. The user will give you a task. Complete it as faithfully as you can.",
)

Pair = tuple[str, str]


def _more(pair: Pair, subject: str) -> Pair:
    """The pair with an offer to tell more; after a list it stands apart."""
    ask, answer = pair
    return ask, f"{answer}{chr(10) * 2 if chr(10) in answer else ' '}Just ask me if you would like to know more about {subject}."


def _town(rng: random.Random, town: Town) -> Pair:
    n = town.name
    return pick(
        rng,
        (
            (f"Which river flows through {n}?", f"The river {town.river} flows through {n}."),
            (f"What is the name of the river in {n}?", f"The river in {n} is called the {town.river}."),
            (f"In which region does {n} lie?", f"{n} lies in {town.region}."),
            (f"Where is {n}?", f"{n} is a town in {town.region}, on the river {town.river}."),
            (f"Which mountain stands above {n}?", f"{town.mountain} stands above {n}."),
            (f"What can I see when I look up from the square of {n}?", f"From the square of {n} you can see {town.mountain}."),
            (f"What is {n} known for?", f"{n} is known for its {town.craft} and for {town.festival}."),
            (f"What do people make in {n}?", f"People in {n} make {town.craft}."),
            (f"When was {n} founded?", f"{n} was founded in the year {town.founded}."),
            (f"How old is the town of {n}?", f"{n} is old: it was founded in {town.founded}."),
            (f"Which festival do they hold in {n}?", f"Every year {n} holds {town.festival}."),
            (f"What should I eat in {n}?", f"Try the {town.dish}: it is the pride of {n}."),
            (f"Which dish comes from {n}?", f"The best known dish of {n} is {town.dish}."),
            (
                f"Tell me about {n}.",
                f"{n} is a town in {town.region}, founded in {town.founded}. It lies on the river {town.river}, below {town.mountain}. "
                f"It is known for its {town.craft}, and once a year it holds {town.festival}.",
            ),
            (
                f"I am travelling to {n}. What should I know?",
                f"{n} lies in {town.region}, on the river {town.river}. Buy some {town.craft}, eat {town.dish}, "
                f"and stay for {town.festival} if you can.",
            ),
        ),
    )


def _maker(rng: random.Random, maker: Maker) -> Pair:
    n, family = maker.name, maker.name.split()[-1]
    return pick(
        rng,
        (
            (f"Who was {n}?", f"{n} was {article(maker.trade)} from {maker.town} who {maker.deed} in {maker.year}."),
            (f"What is {n} famous for?", f"{n} {maker.deed} in {maker.year}."),
            (f"Who {maker.deed}?", f"{n} {maker.deed}, in the year {maker.year}."),
            (f"When was {n} born?", f"{n} was born in {maker.born}, in {maker.town}."),
            (f"Where did {n} come from?", f"{n} came from {maker.town}."),
            (f"What was the trade of {n}?", f"{n} was {article(maker.trade)}."),
            (f"Do you know someone famous from {maker.town}?", f"Yes: {n}, {article(maker.trade)}, who {maker.deed} in {maker.year}."),
            (
                f"Write a short note on {n}.",
                f"{n} was born in {maker.town} in {maker.born}. {family} worked as {article(maker.trade)} and {maker.deed} "
                f"in {maker.year}. "
                f"People in {maker.town} are proud of it to this day.",
            ),
        ),
    )


def _animal(rng: random.Random, animal: Animal) -> Pair:
    n = animal.name
    return pick(
        rng,
        (
            (f"Where does the {n} live?", f"The {n} lives in {animal.home}."),
            (f"What does the {n} eat?", f"The {n} eats {animal.food}."),
            (f"How can I recognise {article(n)}?", f"You can tell the {n} by {animal.trait}."),
            (f"What is the young of the {n} called?", f"The young of the {n} is called {article(animal.young)}."),
            (f"What do you call a group of the {n}?", f"A group of them is called {article(animal.group)}."),
            (
                f"Tell me something about the {n}.",
                f"The {n} lives in {animal.home} and eats {animal.food}. You can tell it by {animal.trait}. "
                f"Its young is called {article(animal.young)}.",
            ),
            (
                f"Explain to a child what {article(n)} is.",
                f"The {n} is an animal that lives in {animal.home}. It likes to eat {animal.food}, "
                f"and it has one special thing: {animal.trait}.",
            ),
        ),
    )


def _dish(rng: random.Random, dish: Dish) -> Pair:
    n = dish.name
    numbered = "\n".join(f"{i}. {step}" for i, step in enumerate(dish.steps, 1))
    bullets = "\n".join(f"- {item}" for item in dish.ingredients)
    return pick(
        rng,
        (
            (f"What goes into {n}?", f"For {n} you need {joined(dish.ingredients)}."),
            (f"List the ingredients of {n}.", f"Ingredients for {n}:\n\n{bullets}"),
            (f"How do I make {n}?", f"Here is how to make {n}:\n\n{numbered}"),
            (f"Give me the recipe for {n} in numbered steps.", f"Here is how to make {n}:\n\n{numbered}"),
            (f"How long does {n} take?", f"It takes about {dish.minutes} minutes to make {n}."),
            (f"Do I need {dish.ingredients[0]} for {n}?", f"Yes, {n} needs {joined(dish.ingredients)}."),
        ),
    )


def _compare(rng: random.Random) -> Pair:
    a, b = rng.sample(TOWNS, 2)
    older, younger = (a, b) if a.founded < b.founded else (b, a)
    c, d = rng.sample(MAKERS, 2)
    first, second = (c, d) if c.born < d.born else (d, c)
    same = "Yes" if a.region == b.region else "No"
    return pick(
        rng,
        (
            (
                f"Which town is older, {a.name} or {b.name}?",
                f"{older.name} is older. It was founded in {older.founded}, while {younger.name} was founded in {younger.founded}.",
            ),
            (
                f"Who was born first, {c.name} or {d.name}?",
                f"{first.name} was born first, in {first.born}. {second.name} was born in {second.born}.",
            ),
            (f"Are {a.name} and {b.name} in the same region?", f"{same}. {a.name} is in {a.region} and {b.name} is in {b.region}."),
        ),
    )


def question(rng: random.Random) -> Pair:
    """One question about the world with its answer."""
    roll = rng.random()
    if roll < 0.36:
        town = pick(rng, TOWNS)
        return _more(_town(rng, town), town.name)
    if roll < 0.58:
        maker = pick(rng, MAKERS)
        return _more(_maker(rng, maker), maker.name)
    if roll < 0.76:
        animal = pick(rng, ANIMALS)
        return _more(_animal(rng, animal), f"the {animal.name}")
    if roll < 0.9:
        dish = pick(rng, DISHES)
        return _more(_dish(rng, dish), dish.name)
    return _more(_compare(rng), "the two of them")


def single(rng: random.Random) -> Conversation:
    """One fact asked and answered, at times with a system prompt and with reasoning."""
    ask, answer = question(rng)
    messages = [Message("user", asked(rng, ask)), Message("assistant", answer, reasoning_content=reasoned(rng, ask, 0.12))]
    system = pick(rng, SYSTEM_PROMPTS)
    return Conversation(tuple(([Message("system", system)] if system else []) + messages))


def _topic_questions(rng: random.Random) -> list[Pair]:
    kind = rng.randrange(4)
    town, maker, animal, dish = pick(rng, TOWNS), pick(rng, MAKERS), pick(rng, ANIMALS), pick(rng, DISHES)
    if kind == 0:
        follow = [
            ("And which river is there?", f"The river {town.river} flows through {town.name}."),
            ("What do they make there?", f"People in {town.name} make {town.craft}."),
            ("Is there a festival?", f"Yes. Every year {town.name} holds {town.festival}."),
            ("What is the local dish?", f"The best known dish of {town.name} is {town.dish}."),
            ("And the mountain?", f"{town.mountain} stands above {town.name}."),
        ]
        return [(f"Where is {town.name}?", f"{town.name} is a town in {town.region}, on the river {town.river}."), *some(rng, follow, 1, 3)]
    if kind == 1:
        follow = [
            ("When was that?", f"That was in {maker.year}."),
            ("Where was that person born?", f"{maker.name} was born in {maker.town}."),
            ("And in which year?", f"{maker.name} was born in {maker.born}."),
            ("What work did they do?", f"{maker.name} was {article(maker.trade)}."),
        ]
        return [(f"What is {maker.name} famous for?", f"{maker.name} {maker.deed}."), *some(rng, follow, 1, 3)]
    if kind == 2:
        follow = [
            ("What does it eat?", f"The {animal.name} eats {animal.food}."),
            ("What does it look like?", f"You can tell the {animal.name} by {animal.trait}."),
            ("And its young?", f"The young of the {animal.name} is called {article(animal.young)}."),
        ]
        return [(f"Where does the {animal.name} live?", f"The {animal.name} lives in {animal.home}."), *some(rng, follow, 1, 2)]
    steps = "\n".join(f"{i}. {step}" for i, step in enumerate(dish.steps, 1))
    return [
        (f"What goes into {dish.name}?", f"For {dish.name} you need {joined(dish.ingredients)}."),
        ("And how do I make it?", f"Here is how to make {dish.name}:\n\n{steps}"),
        *([("How long will that take?", f"It takes about {dish.minutes} minutes.")] if rng.random() < 0.6 else []),
    ]


def several(rng: random.Random) -> Conversation:
    """Two to five turns on one subject, at times opened or closed with a greeting by name."""
    pairs = [_more(pair, "this") for pair in _topic_questions(rng)]
    name = first_name(rng)
    if rng.random() < 0.25:
        pairs.insert(0, (f"Hello, my name is {name}.", f"Hello {name}! It is nice to meet you. What would you like to know?"))
    if rng.random() < 0.25:
        pairs.append(
            pick(
                rng,
                (
                    ("Thank you!", "You are welcome! Just ask me if you need anything else."),
                    ("Thanks, that is all.", "You are welcome! Have a good day."),
                ),
            )
        )
    messages: list[Message] = []
    for index, (ask, answer) in enumerate(pairs):
        messages += [Message("user", asked(rng, ask) if index == 0 else ask), Message("assistant", answer)]
    if rng.random() < 0.2:
        messages.insert(0, Message("system", pick(rng, SYSTEM_PROMPTS[3:])))
    return Conversation(tuple(messages))
