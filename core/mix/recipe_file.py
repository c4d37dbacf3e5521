"""Recipes as TOML that people write by hand: read with errors that name line, key and fix; written with their comments kept.

It knows TOML and where a key stands in the text. What the values mean is `recipe`'s business.
"""

import difflib
import os
import re
import secrets
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import tomlkit
from pydantic import BaseModel, ValidationError
from tomlkit import TOMLDocument
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import AoT, Table

from core.errors import InputError
from core.mix.recipe import Budget, Recipe, RecipeSource, RecipeSupervision, RecipeTarget
from core.mix.rules import Contamination, Duplicates, Filters

_PARTS: dict[tuple[str, ...], type[BaseModel]] = {
    (): Recipe,
    ("target",): RecipeTarget,
    ("supervision",): RecipeSupervision,
    ("budget",): Budget,
    ("sources",): RecipeSource,
    ("sources", "filters"): Filters,
    ("filters",): Filters,
    ("duplicates",): Duplicates,
    ("contamination",): Contamination,
}


class RecipeError(InputError):
    """A recipe that cannot be read; the message has one line per mistake, each with line, key and fix."""


def load_recipe(path: Path) -> Recipe:
    """The recipe in a TOML file; raises `RecipeError`."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise RecipeError(f"There is no recipe at {path}; write one, or save one on the Mix page.") from error
    except (OSError, UnicodeDecodeError) as error:
        raise RecipeError(f"The recipe {path} cannot be read ({error}); it must be a UTF-8 text file in TOML.") from error
    return parse_recipe(text, str(path))


def parse_recipe(text: str, where: str = "the recipe") -> Recipe:
    """The recipe in TOML text; `where` names it in errors. Raises `RecipeError`."""
    try:
        value = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise RecipeError(f"{where} is not valid TOML: {error}.") from error
    return checked_recipe(value, where, text)


def checked_recipe(value: Mapping[str, Any], where: str = "the recipe", text: str | None = None) -> Recipe:
    """The recipe in a JSON-like value; with the `text` it stood in, errors name lines too. Raises `RecipeError`."""
    try:
        return Recipe.model_validate(value)
    except ValidationError as error:
        raise RecipeError("\n".join(_sentence(mistake, text, where) for mistake in error.errors())) from error


def recipe_schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of a recipe, by which editors complete and check the TOML file."""
    schema = Recipe.model_json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "A Mixdown recipe"}


def recipe_text(recipe: Recipe, previous: str | None = None) -> str:
    """The recipe as TOML. With the text of an earlier one, comments, layout and the order of sources are kept."""
    if previous is not None:
        try:
            kept = _written(recipe, tomlkit.parse(previous), set())
            again = parse_recipe(kept)
            if (again.name, again.digest) == (recipe.name, recipe.digest):
                return kept
        except (TOMLKitError, RecipeError):
            pass  # laid out in a way that cannot be changed in place, or no TOML at all: written anew
    return _written(recipe, tomlkit.document(), {"name", "seed", "validation"})


def dump_recipe(recipe: Recipe, path: Path) -> None:
    """Write the recipe to `path` in one step; the comments of a recipe that stands there already are kept."""
    try:
        previous = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        previous = None
    write_whole(path, recipe_text(recipe, previous))


def write_whole(path: Path, text: str) -> None:
    """Write a text file in one step, so that nobody ever reads half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with beside.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except OSError:
        beside.unlink(missing_ok=True)
        raise


def _worth_saying(value: dict[str, Any], default: Mapping[str, Any], present: Mapping[str, Any], always: set[str]) -> dict[str, Any]:
    """What differs from the defaults, and what the text names already."""
    said = {}
    for key, item in value.items():
        if isinstance(item, dict) and isinstance(default.get(key), dict) and item:
            said[key] = _worth_saying(item, default[key], present.get(key, {}), set())
            if not said[key] and key not in present:
                del said[key]
        elif key in always or key in present or key not in default or item != default[key]:
            said[key] = item
    return said


def _written(recipe: Recipe, document: TOMLDocument, always: set[str]) -> str:
    value = recipe.model_dump(mode="json", exclude_none=True)
    sources = value.pop("sources")
    value["domain_filters"] = {
        domain: filters.model_dump(mode="json", exclude_defaults=True) for domain, filters in recipe.domain_filters.items()
    }
    default = Recipe(target=recipe.target, sources=recipe.sources).model_dump(mode="json", exclude_none=True)
    wanted = _worth_saying(value, default, document, always) | {"target": _worth_saying(value["target"], {"args": {}}, {}, set())}
    _update(document, wanted)
    entries = document.get("sources")
    if not isinstance(entries, AoT):
        document.pop("sources", None)
        entries = tomlkit.aot()
        document["sources"] = entries
    _update_sources(entries, {source["name"]: source for source in sources})
    return tomlkit.dumps(document)


def _update(table: Any, wanted: dict[str, Any]) -> None:
    for key in [key for key in table if key not in wanted and key != "sources"]:
        del table[key]
    for key, item in wanted.items():
        if isinstance(item, dict):
            if not isinstance(table.get(key), dict):
                table[key] = tomlkit.table()
            _update(table[key], item)
        elif key not in table or table[key] != item:
            table[key] = item


def _update_sources(entries: AoT, wanted: dict[str, dict[str, Any]]) -> None:
    seen: set[str] = set()
    for index in reversed(range(len(entries))):
        name = str(entries[index].get("name"))
        if name not in wanted:
            del entries[index]
    for entry in entries:
        seen.add(str(entry["name"]))
        _update(entry, _worth_saying(wanted[str(entry["name"])], _SOURCE_DEFAULTS, entry, _SOURCE_ALWAYS))
    for name, source in wanted.items():
        if name not in seen:
            table: Table = tomlkit.table()
            _update(table, _worth_saying(source, _SOURCE_DEFAULTS, {}, _SOURCE_ALWAYS))
            entries.append(table)


_SOURCE_ALWAYS = {"name", "weight"}
_SOURCE_DEFAULTS = RecipeSource(name="any", weight=0).model_dump(mode="json", exclude_none=True)


def _sentence(mistake: Any, text: str | None, where: str) -> str:
    location = tuple(mistake["loc"])
    missing = mistake["type"] == "missing"
    place = where if text is None else f"{where}, line {_line(text, location[:-1] if missing else location)}"
    key = ".".join(str(part + 1) if isinstance(part, int) else part for part in location) or "the recipe"
    if mistake["type"] == "extra_forbidden":
        return f"{place}: {key} is not a key of a recipe; {_nearest(location)}."
    if missing:
        return f"{place}: {key} is missing; add it."
    found = "" if isinstance(mistake["input"], dict | list) else f" (found {mistake['input']!r})"
    said = str(mistake["msg"]).removeprefix("Value error, ").rstrip(".")
    return f"{place}: {key} is wrong{found}: {said[:1].lower() + said[1:]}."


def _nearest(location: Sequence[str | int]) -> str:
    part = tuple(item for item in location[:-1] if isinstance(item, str))
    if part[:1] == ("domain_filters",):
        part = ("filters",)
    fields = list(_PARTS[part].model_fields) if part in _PARTS else []
    near = difflib.get_close_matches(str(location[-1]), fields, n=1)
    return f"did you mean {near[0]}?" if near else f"remove it, or use one of {', '.join(fields)}"


def _line(text: str, location: Sequence[str | int]) -> int:
    """The line (from 1) on which the key stands, or the nearest table around it."""
    wanted = tuple(location)
    best, best_depth = 1, 0
    header: tuple[str | int, ...] = ()
    tables: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        bare = line.strip()
        if many := re.fullmatch(r"\[\[\s*([^\]]+?)\s*\]\]\s*(#.*)?", bare):
            tables[many[1]] = tables.get(many[1], -1) + 1
            path: tuple[str | int, ...] = (*_key(many[1]), tables[many[1]])
            header = path
        elif one := re.fullmatch(r"\[\s*([^\]]+?)\s*\]\s*(#.*)?", bare):
            path = header = _with_number(_key(one[1]), tables)
        elif pair := re.match(r"([A-Za-z0-9_.\"'-]+)\s*=", bare):
            path = (*header, *_key(pair[1]))
        else:
            continue
        shared = min(len(path), len(wanted))  # a table inside what is sought counts too: the sought one may have no line of its own
        depth = shared if path[:shared] == wanted[:shared] else 0
        if depth > best_depth:
            best, best_depth = number, depth
    return best


def _with_number(key: tuple[str, ...], tables: Mapping[str, int]) -> tuple[str | int, ...]:
    """A table inside the last entry of an array of tables: `sources.filters` is `("sources", 2, "filters")`."""
    return (key[0], tables[key[0]], *key[1:]) if key and key[0] in tables else key


def _key(text: str) -> tuple[str, ...]:
    return tuple(part.strip().strip("\"'") for part in text.split("."))
