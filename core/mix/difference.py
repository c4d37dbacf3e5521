"""What differs between two recipes, in lines a person reads. It compares content, never formatting."""

from collections.abc import Iterator, Mapping
from typing import Any

from core.mix.recipe import Recipe


def difference(old: Recipe, new: Recipe) -> list[str]:
    """One line per difference: `openorca: weight 40.6 → 30`, `+ glaive: weight 5`, `- sharegpt`; empty when they ask for the same."""
    before, after = old.model_dump(mode="json"), new.model_dump(mode="json")
    was = {source["name"]: source for source in before.pop("sources")}
    now = {source["name"]: source for source in after.pop("sources")}
    lines = _changes(before, after, "")
    for name in sorted(was.keys() | now.keys()):
        if name not in now:
            lines.append(f"- {name}")
        elif name not in was:
            entry = new.source(name)
            said = entry.model_dump(mode="json", exclude_defaults=True, exclude={"name"}) if entry else {}
            lines.append(f"+ {name}: " + ", ".join(f"{key} {_shown(value)}" for key, value in _flat(said)))
        else:
            lines += _changes(was[name], now[name], f"{name}: ")
    return lines


def _changes(old: Mapping[str, Any], new: Mapping[str, Any], where: str) -> list[str]:
    was, now = dict(_flat(old)), dict(_flat(new))
    keys = [*was, *(key for key in now if key not in was)]
    return [f"{where}{key} {_shown(was.get(key))} → {_shown(now.get(key))}" for key in keys if was.get(key) != now.get(key)]


def _flat(value: Mapping[str, Any], where: str = "") -> Iterator[tuple[str, Any]]:
    """(dotted key, value) of everything that is not a table."""
    for key, item in value.items():
        if isinstance(item, Mapping):
            yield from _flat(item, f"{where}{key}.")
        else:
            yield f"{where}{key}", item


def _shown(value: Any) -> str:
    if value is None or value == []:
        return "(none)"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
