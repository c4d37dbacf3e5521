"""A recipe for the next round from a measured drafter: its report, the dataset it was trained on, and the recipe that made that."""

from pathlib import Path
from typing import Any

from core.errors import InputError
from core.jobs.evaluating import REPORT
from core.mix import Recipe, checked_recipe, recipe_names, save_recipe
from core.mix.suggest import Accepted, Given, Suggestion, accepted_by_source, suggest
from core.runs.files import read_json
from core.tokens import Manifest
from core.workspace import Workspace


class NotMeasured(InputError):
    """A drafter that no report or no dataset belongs to."""


def suggestion_for(workspace: Workspace, drafter: Path, name: str | None = None) -> Suggestion:
    """What to mix next after the drafter in a folder, as a recipe called `name` (default: a free name made of the old one).

    It follows the recipe of the dataset that the drafter was trained on, not a later version of it. Raises `NotMeasured`,
    `NothingToSuggest`, and the errors of manifests and recipes.
    """
    if not drafter.is_dir():
        raise NotMeasured(f"There is no drafter in {drafter}: name one of {workspace.drafters}, or the folder of one.")
    report = _record(drafter / REPORT).get("evaluation")
    if not report:
        raise NotMeasured(f"{drafter} was not measured: run `mixdown evaluate --drafter {drafter}` first.")
    accepted = _accepted(drafter, report)
    data = _record(drafter / "training_state.json").get("data")
    if not isinstance(data, str) or not data or not Path(data).is_dir():
        raise NotMeasured(
            f"The dataset of {drafter} ({data or 'unknown'}) is not there, so nobody knows its mix: name a drafter trained here."
        )
    manifest = Manifest.load(Path(data))
    recipe = checked_recipe(manifest.recipe)
    return suggest(recipe, accepted, _given(manifest), name=name or next_round(workspace, recipe.name))


def next_round(workspace: Workspace, name: str) -> str:
    """`demo-2` after `demo`, `demo-3` after `demo-2`: the first number that no recipe has."""
    base, _, number = name.rpartition("-")
    base, start = (base, int(number) + 1) if base and number.isdecimal() else (name, 2)
    taken = set(recipe_names(workspace))
    while f"{base}-{start}" in taken:
        start += 1
    return f"{base}-{start}"


def keep(workspace: Workspace, recipe: Recipe) -> Path:
    """Save a suggested recipe; returns its file."""
    save_recipe(workspace, recipe)
    return workspace.recipe(recipe.name)


def _record(file: Path) -> dict[str, Any]:
    """What a JSON file says; empty where it is missing or no object, as anything may lie in a folder of somebody else's."""
    found: Any = read_json(file)
    return found if isinstance(found, dict) else {}


def _accepted(drafter: Path, report: dict[str, Any]) -> dict[str, Accepted]:
    try:
        return accepted_by_source(report)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise NotMeasured(
            f"{drafter / REPORT} has no acceptance by source as Mixdown writes it: measure again, with "
            f"`mixdown evaluate --drafter {drafter}`."
        ) from error


def _given(manifest: Manifest) -> dict[str, Given]:
    planned: dict[str, dict[str, Any]] = {part["name"]: part for part in manifest.plan.get("sources", [])}
    return {
        name: Given(int(part["rows"]), int(part["available"]), int(manifest.sources.get(name, {}).get("trainable_tokens", 0)))
        for name, part in planned.items()
    }
