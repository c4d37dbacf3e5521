"""What differs between two recipes, in lines a person reads. It compares content, never formatting."""

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
            rest = {key: value for key, value in now[name].items() if key != "name" and value is not None and value != {}}
            lines.append(f"+ {name}: " + ", ".join(f"{key} {_shown(value)}" for key, value in rest.items()))
        else:
            lines += _changes(was[name], now[name], f"{name}: ")
    return lines


def _changes(old: dict[str, Any], new: dict[str, Any], where: str) -> list[str]:
    lines = []
    for key in [*old, *(key for key in new if key not in old)]:
        a, b = old.get(key), new.get(key)
        if isinstance(a, dict) and isinstance(b, dict):
            lines += _changes(a, b, f"{where}{key}.")
        elif a != b:
            lines.append(f"{where}{key} {_shown(a)} → {_shown(b)}")
    return lines


def _shown(value: Any) -> str:
    if value is None:
        return "(none)"
    return f"{value:g}" if isinstance(value, float) else str(value)
