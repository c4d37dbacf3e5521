"""A recipe from what was imported, with weights by a named preset. It knows only the sources' sizes."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from core.errors import InputError
from core.mix.presets import ImpossibleWeights, equal, proportional, with_share
from core.mix.recipe import Recipe, RecipeSupervision, RecipeTarget
from core.mix.recipe_file import checked_recipe
from core.mix.usable import EmptyLibrary
from core.sources import DOMAINS, Library, Source

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
        weights = equal(sizes) if weights == "equal" else proportional(sizes)
    value = {
        "name": name,
        "target": {"path": target} if isinstance(target, str) else target.model_dump(),
        "supervision": (supervision or RecipeSupervision()).model_dump(),
        "budget": {"amount": amount},
        "sources": [{"name": source, "weight": float(weights.get(source, 0.0))} for source in sizes],
    }
    return checked_recipe(value | settings)


def with_weights(recipe: Recipe, weights: Mapping[str, float]) -> Recipe:
    """The recipe with other weights; sources that are not named keep theirs. Raises `RecipeError` where none is left above 0."""
    value = recipe.model_dump(mode="json")
    for entry in value["sources"]:
        entry["weight"] = weights.get(entry["name"], entry["weight"])
    return checked_recipe(value)


def sizes_of(recipe: Recipe, library: Library) -> dict[str, int]:
    """Source -> its kept rows, for weights by size. Raises `SourceMissing`."""
    return {entry.name: library.source(entry.name).rows for entry in recipe.sources}


def with_domain_share(recipe: Recipe, library: Library, domain: str, share: float) -> Recipe:
    """The recipe in which the sources of a domain have `share` (0 to 1) of the weights; all other weights stay.

    Raises `ImpossibleWeights`: no source of the domain, or weights in several units, whose shares are not those of the weights.
    """
    if len({entry.unit for entry in recipe.sources if entry.weight > 0}) > 1:
        raise ImpossibleWeights("The weights are in several units, so their sum means nothing: give all sources one unit first.")
    members = [entry.name for entry in recipe.sources if (library.source(entry.name).domain or "other") == domain]
    if not members:
        raise ImpossibleWeights(f"No source of the recipe is of the domain {domain!r}; the domains are {', '.join(DOMAINS)}.")
    weights = {entry.name: entry.weight for entry in recipe.sources}
    return with_weights(recipe, with_share(weights, members, share, sizes_of(recipe, library)))


def _usable(library: Library) -> list[Source]:
    return [source for source in library.sources() if source.rows > 0 and source.problem is None]
