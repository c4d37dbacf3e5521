"""Whether settings that came as JSON are of the kinds their annotations say. It knows no single setting."""

import math
import types
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from core.errors import InputError


class BadSettings(InputError):
    """A setting that cannot work, or that does not fit the target."""


MOST = 2**63 - 1
"""The largest number that seeds and counts may be everywhere."""

_WORDS = {int: "a whole number", float: "a number", str: "a text", bool: "true or false", type(None): "null"}


def check_kinds(settings: Any) -> None:
    """Refuse the first field of a dataclass whose value is of another kind than its annotation; numbers must be finite and fit 64 bits.

    Raises `BadSettings`. Lists may stand for tuples; a literal's values are left to whoever knows the choices.
    """
    hints = get_type_hints(type(settings))
    for field in fields(settings):
        value = getattr(settings, field.name)
        if not _is(value, hints[field.name]):
            raise BadSettings(f"{field.name} is {value!r}; it must be {_words(hints[field.name])}.")


def check_names(kind: type[Any], values: Mapping[str, Any]) -> None:
    """Refuse names that the dataclass `kind` has not; raises `BadSettings`."""
    known = sorted(field.name for field in fields(kind))
    for name in values:
        if name not in known:
            raise BadSettings(f"There is no setting {name!r}; those there are: {', '.join(known)}.")


def _is(value: object, hint: Any) -> bool:
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        return any(_is(value, part) for part in get_args(hint))
    if origin is tuple:
        return isinstance(value, Sequence) and not isinstance(value, str) and _are(value, get_args(hint))
    if hint in (int, float):
        kinds = int if hint is int else (int, float)
        return isinstance(value, kinds) and not isinstance(value, bool) and math.isfinite(value) and abs(value) <= MOST
    return isinstance(value, str if origin is Literal else origin or hint)


def _are(values: Sequence[object], parts: tuple[Any, ...]) -> bool:
    return (parts[-1] is ... or len(values) == len(parts)) and all(_is(value, parts[0]) for value in values)


def _words(hint: Any) -> str:
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        return " or ".join(_words(part) for part in get_args(hint))
    if origin is Literal:
        return f"one of {', '.join(map(str, get_args(hint)))}"
    if origin is tuple:
        parts = get_args(hint)
        many = "a list of numbers" if parts[-1] is ... else f"{len(parts)} numbers"
        return f"{many}, each {_words(parts[0])}"
    return _WORDS.get(hint, "names and values")
