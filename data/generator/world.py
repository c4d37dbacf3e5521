"""The fact base: an invented but consistent world of towns, makers, animals and dishes that a small model can memorise.

It reads what is true from `world.toml`. It does not know how it is asked or answered.
"""

import tomllib
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Town:
    """A town of the invented country and what it is known for."""

    name: str
    region: str
    river: str
    mountain: str
    craft: str
    founded: int
    festival: str
    dish: str


@dataclass(frozen=True)
class Maker:
    """An inventor, writer or traveller."""

    name: str
    born: int
    town: str
    deed: str
    year: int
    trade: str


@dataclass(frozen=True)
class Animal:
    """An animal, its home and habits."""

    name: str
    home: str
    food: str
    trait: str
    young: str
    group: str


@dataclass(frozen=True)
class Dish:
    """A dish: what goes in and the steps."""

    name: str
    ingredients: tuple[str, ...]
    steps: tuple[str, ...]
    minutes: int


_DATA = tomllib.loads(Path(__file__).with_name("world.toml").read_text(encoding="utf-8"))

TOWNS = tuple(Town(**row) for row in _DATA["town"])
MAKERS = tuple(Maker(**row) for row in _DATA["maker"])
ANIMALS = tuple(Animal(**row) for row in _DATA["animal"])
DISHES = tuple(Dish(row["name"], tuple(row["ingredients"]), tuple(row["steps"]), row["minutes"]) for row in _DATA["dish"])
