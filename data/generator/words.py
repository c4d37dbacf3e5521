"""Pools of names and things, and seeded draws from them. It knows words; it does not know what is said with them."""

import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")

FIRST_NAMES = tuple(
    ["Ada", "Aidan", "Alba", "Alma", "Amir", "Anika", "Anton", "Ariel", "Asta", "Aylin", "Bela", "Ben", "Bianca", "Boris", "Bruno", "Carla", "Carmen", "Cato", "Celia", "Chiara", "Clara", "Cosmo", "Dana", "Daria", "David", "Delia", "Dora", "Edda", "Edgar", "Elena", "Elias", "Emil", "Emma", "Enzo", "Erik", "Esra", "Eva", "Fatima", "Felix", "Fiona", "Flora", "Frida", "Gita", "Greta", "Gustav", "Hana", "Hanno", "Hector", "Hilda", "Hugo", "Ida", "Ilya", "Ines", "Ingrid", "Iris", "Isaac", "Ivan", "Jana", "Jasper", "Jonas", "Judith", "Julia", "Kai", "Karim", "Katja", "Kenji", "Kira", "Kofi", "Lara", "Lars", "Leila", "Leo", "Lina", "Livia", "Louis", "Lucia", "Luka", "Maja", "Malik", "Mara", "Marco", "Marta", "Mateo", "Maya", "Mila", "Mina", "Mira", "Nadia", "Naomi", "Nils", "Nina", "Noah", "Nora", "Odile", "Olga", "Omar", "Oskar", "Otto", "Pablo", "Paula", "Pedro", "Petra", "Pia", "Quentin", "Ramona", "Rania", "Rafael", "Rita", "Robin", "Rosa", "Ruben", "Ruth", "Sami", "Sara", "Selma", "Silas", "Simon", "Sofia", "Sven", "Talia", "Tariq", "Tessa", "Theo", "Tilda", "Tomas", "Uma", "Valentin", "Vera", "Viktor", "Wanda", "Wim", "Xenia", "Yara", "Yusuf", "Zoe"]
)

CITIES = tuple(
    ["Aarhus", "Accra", "Algiers", "Amsterdam", "Antwerp", "Athens", "Auckland", "Bari", "Basel", "Beirut", "Bergen", "Berlin", "Bern", "Bilbao", "Bologna", "Bordeaux", "Boston", "Bremen", "Brest", "Bristol", "Brno", "Brussels", "Budapest", "Cairo", "Calgary", "Cardiff", "Chennai", "Chicago", "Cologne", "Cork", "Dakar", "Dallas", "Delhi", "Denver", "Dresden", "Dublin", "Durban", "Florence", "Gdansk", "Geneva", "Genoa", "Ghent", "Glasgow", "Graz", "Haifa", "Halifax", "Hamburg", "Hanoi", "Havana", "Helsinki", "Kyoto", "Kobe", "Krakow", "Lagos", "Leeds", "Leipzig", "Lille", "Lima", "Lisbon", "Ljubljana", "London", "Lyon", "Madrid", "Malaga", "Manila", "Marseille", "Melbourne", "Milan", "Montreal", "Mumbai", "Munich", "Nairobi", "Nantes", "Naples", "Nice", "Oslo", "Osaka", "Oxford", "Paris", "Perth", "Porto", "Prague", "Quito", "Riga", "Rome", "Rotterdam", "Salzburg", "Santiago", "Seoul", "Seville", "Sofia", "Split", "Stockholm", "Sydney", "Tallinn", "Tampere", "Tokyo", "Toronto", "Trieste", "Tunis", "Turin", "Utrecht", "Valencia", "Venice", "Vienna", "Vilnius", "Warsaw", "York", "Zagreb", "Zurich"]
)

THINGS = tuple(
    ["apple", "pear", "plum", "lemon", "peach", "melon", "carrot", "potato", "onion", "pumpkin", "cabbage", "radish", "mushroom", "walnut", "chestnut", "almond", "egg", "loaf", "biscuit", "pancake", "candle", "lantern", "button", "ribbon", "basket", "bottle", "jar", "bucket", "barrel", "hammer", "nail", "screw", "brush", "needle", "spoon", "fork", "plate", "cup", "bowl", "kettle", "teapot", "blanket", "pillow", "scarf", "glove", "hat", "boot", "sock", "coat", "umbrella", "ticket", "stamp", "letter", "postcard", "notebook", "pencil", "crayon", "marker", "eraser", "ruler", "book", "magazine", "poster", "map", "coin", "medal", "marble", "pebble", "shell", "feather", "leaf", "acorn", "seed", "flower", "tulip", "rose", "daisy", "rabbit", "duck", "goose", "hen", "sheep", "goat", "horse", "kitten", "puppy", "turtle", "frog", "fish", "crab", "snail", "beetle", "butterfly", "kite", "balloon", "drum", "flute", "violin", "trumpet", "bicycle", "wagon", "sled", "canoe", "tent", "rope", "ladder", "brick", "tile", "plank", "stone", "cushion", "chair", "stool", "table", "shelf", "mirror", "clock", "battery", "cable", "lamp", "magnet", "wheel"]
)

ADJECTIVES = tuple(
    ["red", "blue", "green", "yellow", "white", "black", "silver", "golden", "small", "large", "old", "new", "round", "square", "heavy", "light", "wooden", "glass", "paper", "plastic", "painted", "striped", "plain", "bright", "dark", "soft", "smooth", "rough", "shiny", "dusty", "tiny", "huge", "cheap", "clean", "broken", "spare", "folded", "frozen", "fresh"]
)

MODULES = tuple(
    ["orders", "parser", "report", "billing", "ledger", "router", "cache", "queue", "reader", "writer", "scanner", "filters", "events", "loader", "search", "colours", "dates", "prices", "geometry", "matrix", "text", "tokens", "rows", "tables", "users", "session", "invoice", "stock", "weather", "tides", "maps", "music", "recipes", "scores", "games", "timer", "units"]
)

PROJECTS = tuple(
    ["acorn-db", "bluebird", "brickwork", "candlelight", "copperline", "dovetail", "driftwood", "emberkit", "fernwood", "foxglove", "gearbox", "harbour", "hazelnut", "inkwell", "ironbark", "juniper", "kingfisher", "lanternjs", "lighthouse", "marigold", "mosswood", "nightjar", "oakley", "papercut", "pinecone", "quillpy", "rainbarrel", "saltmarsh", "snowdrop", "sparrow", "tinderbox", "umbrella-py", "velvet", "wavelet", "woodpile", "yarrow", "zephyr"]
)

_ONSETS = ("b", "br", "d", "dr", "f", "g", "gr", "h", "k", "kl", "l", "m", "n", "p", "pr", "r", "s", "st", "t", "tr", "v", "w", "z", "th", "sh")
_VOWELS = ("a", "e", "i", "o", "u", "ai", "ea", "ou")
_CODAS = ("", "", "", "n", "r", "l", "s", "m", "nd", "rk", "ld", "st", "ck")
_TAILS = ("son", "man", "berg", "feld", "well", "ton", "ley", "ford", "mark", "dal", "wick", "stad", "ova", "ini", "ez", "ic", "ara", "ello")
_MONTHS = ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"]
_WEEKDAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]


def pick(rng: random.Random, choices: Sequence[T]) -> T:
    """One of `choices`, evenly."""
    return choices[rng.randrange(len(choices))]


def some(rng: random.Random, choices: Sequence[T], low: int, high: int) -> list[T]:
    """Between `low` and `high` different ones of `choices`, in drawn order."""
    return rng.sample(list(choices), rng.randint(low, high))


def syllables(rng: random.Random, count: int) -> str:
    """An invented lower-case word of `count` syllables."""
    return "".join(pick(rng, _ONSETS) + pick(rng, _VOWELS) + (pick(rng, _CODAS) if rng.random() < 0.5 else "") for _ in range(count))


def surname(rng: random.Random) -> str:
    """An invented surname; there are tens of thousands, so that a reader has to copy it rather than know it."""
    return (syllables(rng, 1) + pick(rng, _TAILS)).capitalize()


def first_name(rng: random.Random) -> str:
    """A first name from the pool."""
    return pick(rng, FIRST_NAMES)


def full_name(rng: random.Random) -> str:
    """First name and invented surname."""
    return f"{first_name(rng)} {surname(rng)}"


def town(rng: random.Random) -> str:
    """A city, at times an invented place."""
    return pick(rng, CITIES) if rng.random() < 0.8 else syllables(rng, 2).capitalize()


def thing(rng: random.Random) -> str:
    """A thing one can count, in the singular."""
    return pick(rng, THINGS)


def plural(word: str) -> str:
    """The plural of a word of `THINGS`."""
    irregular = {"loaf": "loaves", "leaf": "leaves", "shelf": "shelves", "fish": "fish", "sheep": "sheep", "goose": "geese", "knife": "knives"}
    if word in irregular:
        return irregular[word]
    if word.endswith(("s", "sh", "ch", "x")) or word == "potato":
        return word + "es"
    if word.endswith("y") and word[-2] not in "aeiou":
        return word[:-1] + "ies"
    return word + "s"


def counted(count: int, word: str) -> str:
    """`1 pear`, `3 pears`."""
    return f"{count} {word if count == 1 else plural(word)}"


def article(word: str) -> str:
    """The word with `a` or `an`."""
    return f"{'an' if word[0] in 'aeiou' else 'a'} {word}"


def iso_date(rng: random.Random) -> str:
    """A date as `2026-03-14`."""
    return f"{rng.randint(2024, 2027)}-{rng.randint(1, 12):02d}-{rng.randint(1, 28):02d}"


def month(rng: random.Random) -> str:
    """A month's name."""
    return pick(rng, _MONTHS)


def weekday(rng: random.Random) -> str:
    """A weekday's name."""
    return pick(rng, _WEEKDAYS)


def clock(rng: random.Random) -> str:
    """A time as `09:30`."""
    return f"{rng.randint(6, 21):02d}:{pick(rng, (0, 15, 30, 45)):02d}"


def code(rng: random.Random) -> str:
    """An identifier as on a label: `KT-4821`."""
    letters = "ABCDEFGHKLMNPRSTUVWXYZ"
    return "".join(pick(rng, letters) for _ in range(2)) + "-" + "".join(str(rng.randrange(10)) for _ in range(4))


def email(rng: random.Random) -> str:
    """An address at a made-up host."""
    host = pick(rng, ("example.com", "example.org", "post.example", "mail.example"))
    return f"{first_name(rng).lower()}.{surname(rng).lower()}@{host}"


def joined(words: Sequence[str]) -> str:
    """`a, b and c`."""
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1]


def lowered(sentence: str) -> str:
    """The sentence to stand after a comma: its first letter small, unless it is `I` or a name."""
    head = sentence.split(" ", 1)[0]
    keep = head.rstrip("'s") in FIRST_NAMES or head in {"I", "I'd", "I'm", "I've"} or head.isupper()
    return sentence if keep else sentence[:1].lower() + sentence[1:]
