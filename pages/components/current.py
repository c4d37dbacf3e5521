"""What all screens work on: the workspace, its runs and library, and the recipe that the sidebar names.

Everything is read from disk at each run of a page, so that a reload, a second tab and the command line agree.
"""

from collections.abc import Sequence
from pathlib import Path

import streamlit as st

from core.mix import Recipe, load_recipe, recipe_for, save_recipe
from core.runs import Run, RunStore
from core.sources import Library
from core.workspace import BUNDLED_TARGET, Workspace

RECIPE_KEY = "recipe"
"""The sidebar's choice, in the session and in the address bar."""
FIRST = "first"
"""The name of the recipe that a newcomer gets."""


def workspace() -> Workspace:
    """The workspace that the server was started for."""
    return Workspace.at()


def store() -> RunStore:
    """Its runs."""
    return RunStore(workspace().runs)


def library() -> Library:
    """Its imported sources."""
    return Library(workspace())


def recipe_names() -> list[str]:
    """The saved recipes, the one changed last first."""
    files = [path for path in workspace().recipes.glob("*.toml") if not path.name.startswith(".")]
    return [path.stem for path in sorted(files, key=lambda path: (-path.stat().st_mtime, path.stem))]


def recipe_name() -> str | None:
    """The chosen recipe, else the one changed last; None where none was saved yet."""
    names = recipe_names()
    chosen = st.session_state.get(RECIPE_KEY)
    return chosen if chosen in names else next(iter(names), None)


def recipe() -> Recipe | None:
    """The chosen recipe as it stands in its file; raises `RecipeError` when somebody wrote nonsense into it."""
    name = recipe_name()
    return None if name is None else load_recipe(workspace().recipe(name))


def save(changed: Recipe) -> None:
    """Write a recipe under its own name; comments in the file stay, and the version before it is kept."""
    save_recipe(workspace(), changed)


def first_recipe() -> Recipe:
    """Make and save the recipe to begin with: every imported source by its size, the bundled target."""
    made = recipe_for(library(), FIRST, target=str(BUNDLED_TARGET))
    save(made)
    return made


def target_label(path: str) -> str:
    """How a target is called on screen."""
    return "demo target" if Path(path) == BUNDLED_TARGET else Path(path).name if Path(path).is_absolute() else path


def latest(kind: str, among: Sequence[Run] | None = None) -> Run | None:
    """The newest run of a kind."""
    return next((run for run in (store().list() if among is None else among) if run.kind == kind), None)
