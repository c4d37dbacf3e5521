"""Plans for the screens, made at once: what they need from disk is kept while it stays the same, what nobody worked out is left out.

Samples are measured only where a page asks for it, so that a screen shows its counts first.
"""

import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import streamlit as st
import xxhash

from core.chat import Supervision, Target
from core.errors import MixdownError
from core.mix import (
    Plan,
    Recipe,
    RecipeTarget,
    Shortfall,
    Supply,
    Usable,
    Waiting,
    kept_rows,
    load_measured,
    measured_stamp,
    plan,
    supply_of,
    trained_order,
    usable_rows,
    waiting_for,
    without_waiting,
)
from core.sources import Source
from core.tokens import SAMPLE, Meter, figures_key, known_estimate, row_tokens
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


@dataclass(frozen=True)
class Planned:
    """A plan for a screen: as it is (`shortfall` where it fails for want of rows), what was left out, and why tokens are not known."""

    plan: Plan
    usable: Mapping[str, Usable]
    waiting: Waiting
    shortfall: Shortfall | None = None
    unmeasured: bool = False
    """Samples would have to be measured before tokens are known."""
    no_tokens: str | None = None
    """What keeps them from being measured."""
    training_rows: int | None = None
    """Rows of the dataset: a conversation may become several. None while nobody measured."""


def planned(recipe: Recipe) -> Plan:
    """The recipe's plan with token figures, measured where nobody did. Raises what `plan` raises."""
    found = plan_now(recipe, measure=True)
    if found.shortfall is not None:
        raise found.shortfall
    return found.plan


def plan_now(recipe: Recipe, *, measure: bool) -> Planned:
    """The plan from what is known; with `measure`, samples that are missing are measured, seconds the first time.

    Raises what `plan` raises but for a shortfall, which a screen shows beside the plan.
    """
    library, waiting = current.library(), waiting_of(recipe)
    usable = usable_rows(without_waiting(recipe, waiting), library, row_tokens(recipe))
    supplies, no_tokens = None, None
    try:
        supplies = _supplies(recipe, usable, measure=measure)
    except MixdownError as error:
        no_tokens = str(error)
    shortfall = None
    try:
        made = plan(recipe, library, usable=usable, supplies=supplies)
    except Shortfall as error:
        made, shortfall = error.plan, error
    unmeasured = supplies is None and no_tokens is None
    return Planned(made, usable, waiting, shortfall, unmeasured, no_tokens, _training_rows(made, supplies) if supplies else None)


def waiting_of(recipe: Recipe) -> Waiting:
    """What the recipe's rules wait for."""
    return waiting_for(recipe, current.library(), lambda source: _all_known(recipe, source))


def _training_rows(made: Plan, supplies: Mapping[str, Supply]) -> int:
    known = [(part.rows * supplies[part.name].trained, supplies[part.name].figures) for part in made.sources]
    return round(sum(rows * figures.training_rows for rows, figures in known if figures is not None))


def _supplies(recipe: Recipe, usable: Mapping[str, Usable], *, measure: bool) -> dict[str, Supply] | None:
    """What each source gives, from what is measured of it; None while a sample is missing and not to be measured."""
    if not measure and not _loaded_before(recipe):
        return None
    key = _figures_key(recipe, choices_of(recipe), target_stamp(recipe.target))
    found: dict[str, Supply] = {}
    for name, part in usable.items():
        supply = _supply(recipe, part, key)
        if supply is None:
            if not measure:
                return None
            _measure(recipe, part)
            supply = _supply(recipe, part, key)
        found[name] = supply or Supply(name, part.count)
    return found


_LOADED: set[tuple[str, tuple[float, float]]] = set()
"""Targets that were loaded once, or were found not to load: their figures' names are known at once from then on."""


def _loaded_before(recipe: Recipe) -> bool:
    return (recipe.target.model_dump_json(), target_stamp(recipe.target)) in _LOADED


def _figures_key(recipe: Recipe, choices: str, stamp: tuple[float, float]) -> str:
    found = _key_or_problem(recipe, choices, stamp)
    _LOADED.add((recipe.target.model_dump_json(), stamp))
    if isinstance(found, MixdownError):
        raise found
    return found


@st.cache_resource(max_entries=50, ttl=60, show_spinner="Loading the target")
def _key_or_problem(_recipe: Recipe, choices: str, stamp: tuple[float, float]) -> str | MixdownError:  # noqa: ARG001  the cache's key
    try:
        return figures_key(_recipe, target_of(_recipe))
    except MixdownError as error:
        return error


_MOST = 120
_SUPPLIES: OrderedDict[tuple[str | float, ...], Supply] = OrderedDict()
"""Sixteen bytes a row each: what makes a plan over a million rows a matter of milliseconds."""
_lock, _measuring = threading.Lock(), threading.Lock()


def _supply(recipe: Recipe, part: Usable, key: str) -> Supply | None:
    """What is known of a source's usable rows; None where its sample is not measured."""
    source = part.source
    rows = "all" if part.chosen is None else xxhash.xxh3_64_hexdigest(part.chosen.tobytes())
    stamp = measured_stamp(source, key)
    wanted = (str(current.workspace().home), source.name, source.version, rows, key, stamp, recipe.seed, recipe.validation)
    with _lock:
        if wanted in _SUPPLIES:
            _SUPPLIES.move_to_end(wanted)
            return _SUPPLIES[wanted]
    order = trained_order(recipe, part)
    if not len(order):
        return Supply(source.name, part.count)
    measured = load_measured(source, key) if stamp else None
    estimate = known_estimate(measured, order) if measured is not None and measured.places(order[:SAMPLE])[1].all() else None
    if estimate is None:
        return None
    supply = supply_of(recipe, part, lambda _: estimate)
    with _lock:
        _SUPPLIES[wanted] = supply
        while len(_SUPPLIES) > _MOST:
            _SUPPLIES.popitem(last=False)
    return supply


def _measure(recipe: Recipe, part: Usable) -> None:
    """Count the sample of a source through the target; what is found is kept beside it."""
    with _measuring:
        _meter(recipe, choices_of(recipe), target_stamp(recipe.target)).measured(part.source, trained_order(recipe, part)[:SAMPLE])


@st.cache_resource(max_entries=4, show_spinner=False)
def _meter(_recipe: Recipe, choices: str, stamp: tuple[float, float]) -> Meter:  # noqa: ARG001  the cache's key
    return Meter(_recipe)


def _all_known(recipe: Recipe, source: Source) -> bool:
    """Whether the tokens of every row are known, so that a filter by them takes no time."""
    try:
        key = _figures_key(recipe, choices_of(recipe), target_stamp(recipe.target))
    except MixdownError:
        return False
    measured = load_measured(source, key)
    return measured is not None and bool(measured.places(kept_rows(source))[1].all()) and len(measured) >= len(source.index())


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
