"""What a tool of the generator is: its schema, how people ask for it, what it returns and how the answer tells it.

It knows the form and how values of each kind are drawn. The tools themselves stand in `tools_daily.toml` and `tools_work.toml`.
"""

import random
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from core.conversation import JSONObject
from core.conversation import Tool as ToolSchema
from data.generator import words
from data.generator.phrasing import settled
from data.generator.words import pick

Value = str | int | float | bool | list[str]

_ENUMS: dict[str, tuple[str, ...]] = {
    "unit": ("celsius", "fahrenheit"),
    "currency": ("EUR", "USD", "GBP", "JPY", "CHF", "SEK", "NOK", "PLN", "CZK", "CAD"),
    "language": ("French", "German", "Spanish", "Italian", "Dutch", "Polish", "Swedish", "Turkish"),
    "colour": ("red", "blue", "green", "white", "yellow", "orange", "purple"),
    "room": ("kitchen", "bedroom", "bathroom", "hallway", "office", "garden", "cellar"),
    "priority": ("low", "normal", "high", "urgent"),
    "status": ("open", "closed", "waiting", "shipped", "delayed", "paid"),
    "sky": ("sunny", "cloudy", "rainy", "foggy", "windy", "snowy", "clear"),
    "genre": ("jazz", "rock", "folk", "classical", "blues", "techno"),
    "subject": ("whales", "volcanoes", "castles", "bridges", "comets", "bees", "glaciers", "trains", "mosaics", "lighthouses"),
    "food": (
        "soup",
        "pasta",
        "noodles",
        "dumplings",
        "pizza",
        "pancakes",
        "sushi",
        "curry",
        "fish",
        "cheese",
        "mushrooms",
        "lentils",
        "rice",
        "cake",
    ),
    "extension": ("txt", "csv", "json", "md", "log", "py"),
    "size": ("small", "medium", "large"),
    "trait": ("tidy", "kind", "busy", "calm", "quick", "curious"),
    "metric": ("km", "miles", "metres", "feet", "kg", "pounds", "litres", "gallons"),
    "weekday": ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
}

_DRAWS: dict[str, Callable[[random.Random], Value]] = {
    "city": words.town,
    "person": words.full_name,
    "name": words.first_name,
    "item": words.thing,
    "items": lambda rng: words.plural(words.thing(rng)),
    "product": lambda rng: f"{pick(rng, words.ADJECTIVES)} {words.thing(rng)}",
    "date": words.iso_date,
    "time": words.clock,
    "code": words.code,
    "email": words.email,
    "path": lambda rng: f"{pick(rng, words.MODULES)}/{pick(rng, words.MODULES)}.{pick(rng, _ENUMS['extension'])}",
    "folder": lambda rng: f"{pick(rng, words.MODULES)}/{pick(rng, words.MODULES)}",
    "module": lambda rng: pick(rng, words.MODULES),
    "project": lambda rng: pick(rng, words.PROJECTS),
    "title": lambda rng: f"The {pick(rng, words.ADJECTIVES).capitalize()} {words.thing(rng).capitalize()}",
    "word": lambda rng: pick(rng, words.ADJECTIVES),
    "small": lambda rng: rng.randint(1, 9),
    "count": lambda rng: rng.randint(2, 60),
    "amount": lambda rng: rng.randint(1, 90) * 10,
    "price": lambda rng: rng.randint(1, 99) + 0.5,
    "degrees": lambda rng: rng.randint(3, 34),
    "percent": lambda rng: rng.randint(1, 99),
    "year": lambda rng: rng.randint(1950, 2026),
    "flag": lambda rng: rng.random() < 0.5,
    "names": lambda rng: rng.sample(words.FIRST_NAMES, 2),
    "list": lambda rng: [words.plural(w) for w in rng.sample(words.THINGS, 2)],
}

_TYPES = {"small": "integer", "count": "integer", "amount": "integer", "degrees": "integer", "percent": "integer", "year": "integer"}
_TYPES |= {"price": "number", "flag": "boolean", "names": "array", "list": "array"}
_FIELD = re.compile(r"{(\w+)}")


def draw(rng: random.Random, kind: str) -> Value:
    """A value of a kind."""
    return pick(rng, _ENUMS[kind]) if kind in _ENUMS else _DRAWS[kind](rng)


def shown(value: Value) -> str:
    """The value as people write it in a sentence."""
    if isinstance(value, list):
        return words.joined(value)
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def fields(template: str) -> list[str]:
    """The placeholders of a template."""
    return _FIELD.findall(template)


@dataclass(frozen=True)
class Parameter:
    """One parameter: its name, the kind its values are drawn from, what it means, whether it may be left out."""

    name: str
    kind: str
    description: str
    optional: bool

    @property
    def type(self) -> str:
        """The JSON Schema type."""
        return _TYPES.get(self.kind, "string")

    def schema(self) -> JSONObject:
        """The property's JSON Schema."""
        value: JSONObject = {"type": self.type, "description": self.description}
        if self.type == "array":
            value["items"] = {"type": "string"}
        if self.kind in ("unit", "priority", "size"):
            value["enum"] = list(_ENUMS[self.kind])
        return value


@dataclass(frozen=True)
class Tool:
    """A tool with everything that is said around it. Placeholders are parameter names and result fields."""

    name: str
    description: str
    parameters: tuple[Parameter, ...]
    asks: tuple[str, ...]
    result: Mapping[str, str] = field(hash=False)
    says: tuple[str, ...]

    def schema(self) -> ToolSchema:
        """The tool as an OpenAI function tool."""
        return {
            "type": "function",
            "function": {
                "name": self.name,
                "description": self.description,
                "parameters": {
                    "type": "object",
                    "properties": {p.name: p.schema() for p in self.parameters},
                    "required": [p.name for p in self.parameters if not p.optional],
                },
            },
        }

    def request(self, rng: random.Random) -> tuple[str, dict[str, Value]]:
        """A way to ask for it, and the arguments that the asking names, in the schema's order."""
        template = pick(rng, self.asks)
        named = set(fields(template))
        arguments = {p.name: draw(rng, p.kind) for p in self.parameters if p.name in named}
        return template.format(**{k: shown(v) for k, v in arguments.items()}), arguments

    def returned(self, rng: random.Random, arguments: Mapping[str, Value]) -> dict[str, Value]:
        """A drawn result; a field named like an argument repeats it."""
        return {field: arguments[field] if field in arguments else draw(rng, kind) for field, kind in self.result.items()}

    def told(self, arguments: Mapping[str, Value], result: Mapping[str, Value]) -> str:
        """A sentence that tells the result, using only values that are there; always the same for the same values."""
        known = {k: shown(v) for k, v in {**arguments, **result}.items()}
        usable = [s for s in self.says if set(fields(s)) <= known.keys()]
        return settled(self.name, usable).format(**known)


def _read(name: str) -> tuple[Tool, ...]:
    rows = tomllib.loads(Path(__file__).with_name(name).read_text(encoding="utf-8"))["tool"]
    return tuple(
        Tool(
            row["name"],
            row["description"],
            tuple(Parameter(**parameter) for parameter in row["parameters"]),
            tuple(row["asks"]),
            row["result"],
            tuple(row["says"]),
        )
        for row in rows
    )


TOOLS: tuple[Tool, ...] = _read("tools_daily.toml") + _read("tools_work.toml")
"""Every tool there is: those of daily life, then those of work."""
