"""Plans, targets and samples for the screens, kept for as long as what they were made from does not change."""

from pathlib import Path
from typing import Any

import streamlit as st

from core.chat import Supervision, Target
from core.mix import Plan, Recipe, RecipeTarget, TokenEstimate, plan
from core.tokens import sample_estimate
from pages.components import current


def target_of(recipe: Recipe) -> Target:
    """The recipe's target, loaded once while its files stay the same. Raises what `Target.load` raises."""
    return loaded(recipe.target)


def loaded(wanted: RecipeTarget) -> Target:
    """A target as recipes name it, loaded once while its files stay the same. Raises what `Target.load` raises."""
    return _target(wanted.model_dump_json(), *target_stamp(wanted))


def target_stamp(wanted: RecipeTarget) -> tuple[float, float]:
    """Changes whenever a local target's files or its template file do."""
    return _stamp(wanted.path), _stamp(wanted.template)


@st.cache_resource(max_entries=4, show_spinner=False)
def _target(described: str, path_stamp: float, template_stamp: float) -> Target:  # noqa: ARG001  stamps are part of the cache's key
    wanted = RecipeTarget.model_validate_json(described)
    return Target.load(wanted.path, Path(wanted.template) if wanted.template else None, wanted.args)


def supervision_of(recipe: Recipe) -> Supervision:
    """The recipe's supervision in the words of core.chat."""
    return Supervision(**recipe.supervision.model_dump())


def planned(recipe: Recipe, *, tokens: bool = True) -> Plan:
    """The recipe's plan, with token figures from a sample unless they are not wanted. Raises what `plan` raises."""
    return plan(recipe, current.library(), (lambda source: estimate(recipe, source)) if tokens else None)


def estimate(recipe: Recipe, source: str) -> TokenEstimate | None:
    """What a conversation of the source becomes on average, sampled once per import, target and supervision; None where unknown."""
    return _estimate(recipe, source, choices_of(recipe), imported_stamp(source), _stamp(recipe.target.path))


@st.cache_data(max_entries=500, show_spinner="Measuring a sample")
def _estimate(_recipe: Recipe, source: str, choices: str, imported: float, target_stamp: float) -> Any:  # noqa: ARG001  all but the first are the cache's key
    return sample_estimate(_recipe, current.library())(source)


def choices_of(recipe: Recipe) -> str:
    """What decides how a single row is rendered and masked, as text."""
    return recipe.model_dump_json(include={"target", "supervision"})


def imported_stamp(source: str) -> float:
    """Changes whenever the source is imported again."""
    return _stamp(str(current.workspace().source(source)))


def _stamp(path: str | None) -> float:
    """When a folder or a file in it last changed; 0 for what is no local path."""
    place = Path(path) if path else None
    if place is None or not place.exists():
        return 0.0
    inside = [file.stat().st_mtime for file in place.iterdir()] if place.is_dir() else []
    return max([place.stat().st_mtime, *inside])
