"""A recipe from what was imported, with weights by a named preset. It knows only the sources' sizes."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from core.errors import InputError
from core.mix.recipe import Recipe, RecipeSupervision, RecipeTarget
from core.mix.recipe_file import checked_recipe
from core.mix.usable import EmptyLibrary
from core.sources import Library, Source

Preset = Literal["equal", "proportional"]


class UnknownPreset(InputError):
    """A preset of weights that does not exist."""


def recipe_for(
    library: Library,
    name: str,
    target: str | RecipeTarget,
    *,
    sources: Sequence[str] | None = None,
    weights: Preset | Mapping[str, float] = "proportional",
    amount: int | None = None,
    supervision: RecipeSupervision | None = None,
    **settings: Any,
) -> Recipe:
    """A recipe over the imported sources (those named, else all that `plan` takes, in alphabetical order).

    `proportional` gives each source its number of kept rows as weight (so without a budget every row is used once), `equal` gives
    each 1; a mapping gives them by name. `amount` is the budget in conversations; `settings` are further keys of `Recipe`.
    Raises `EmptyLibrary`, `SourceMissing`, `UnknownPreset`, `RecipeError`.
    """
    chosen = [library.source(source) for source in sources] if sources else _usable(library)
    if not chosen:
        raise EmptyLibrary("No imported source has rows to train on; import one (`mixdown import`, or the Sources page) and try again.")
    if isinstance(weights, str) and weights not in ("equal", "proportional"):
        raise UnknownPreset(f"{weights!r} is not a way to weigh sources; use 'equal' or 'proportional'.")
    sizes = {source.name: source.rows for source in sorted(chosen, key=lambda source: source.name)}
    if isinstance(weights, str):
        weights = {name: 1.0 if weights == "equal" else float(rows) for name, rows in sizes.items()}
    value = {
        "name": name,
        "target": {"path": target} if isinstance(target, str) else target.model_dump(),
        "supervision": (supervision or RecipeSupervision()).model_dump(),
        "budget": {"amount": amount},
        "sources": [{"name": source, "weight": float(weights.get(source, 0.0))} for source in sizes],
    }
    return checked_recipe(value | settings)


def _usable(library: Library) -> list[Source]:
    return [source for source in library.sources() if source.rows > 0 and source.problem is None]
