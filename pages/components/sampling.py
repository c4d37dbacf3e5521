"""What a sample of a source's rows becomes through the template and the mask; kept while source, target and supervision stay the same."""

import streamlit as st

from core.chat import FastPath, Forecast, Supervision, forecast
from core.mix import Recipe
from pages.components import current
from pages.components.planning import choices_of, imported_stamp, supervision_of, target_of, target_stamp

SAMPLE = 60
"""Rows looked at per source of a mix: enough to see what is frequent, few enough to be done while a page opens."""
LARGE_SAMPLE = 500
"""Rows looked at of the one source that a page shows: about half a second on one core."""


def sample_of(recipe: Recipe, source: str, supervision: Supervision | None = None, size: int = SAMPLE) -> Forecast:
    """The sample of one source; its rows are spread evenly over the source."""
    chosen = supervision or supervision_of(recipe)
    stamps = (imported_stamp(source), *target_stamp(recipe.target))
    return _sample(recipe, chosen, source, size, f"{choices_of(recipe)} {chosen}", stamps)


@st.cache_data(max_entries=200, show_spinner="Looking at a sample of rows")
def _sample(
    _recipe: Recipe,
    _supervision: Supervision,
    source: str,
    size: int,
    choices: str,  # noqa: ARG001  part of the cache's key, as the next one
    stamps: tuple[float, ...],  # noqa: ARG001
) -> Forecast:
    return forecast(current.library().source(source), FastPath(target_of(_recipe), _supervision), size)
