"""Named recipes in a workspace, and every version each of them had.

    recipes/<name>.toml                        the recipe as it is
    recipes/.history/<name>/00001.toml, …      what it was, in the order it was saved; the newest is what it is

Files that were edited by hand join the history at the next save or look. It knows files, not what a recipe means.
"""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from core.errors import InputError
from core.mix.difference import difference
from core.mix.recipe import Recipe
from core.mix.recipe_file import RecipeError, dump_recipe, load_recipe, parse_recipe, write_whole
from core.workspace import Workspace, checked_name


class NoSuchVersion(InputError):
    """A recipe, or a version of one, that the workspace does not have."""


@dataclass(frozen=True)
class Version:
    """One saved state of a recipe. `saved_at` is seconds since 1970; `changes` is how many lines differ from the version before."""

    name: str
    number: int
    saved_at: float
    digest: str | None
    """None for a text that is no recipe."""
    changes: int | None


def recipe_names(workspace: Workspace) -> list[str]:
    """The recipes of a workspace, in alphabetical order."""
    return sorted(path.stem for path in workspace.recipes.glob("*.toml") if not path.name.startswith("."))


def save_recipe(workspace: Workspace, recipe: Recipe) -> int:
    """Save a recipe under its name, comments kept; returns the number of its newest version (the same again where nothing changed)."""
    with _alone(workspace, recipe.name):
        _note(workspace, recipe.name)  # what somebody wrote by hand since
        dump_recipe(recipe, workspace.recipe(recipe.name))
        return _note(workspace, recipe.name)


def save_recipe_text(workspace: Workspace, text: str, where: str = "the recipe") -> Recipe:
    """Save a recipe as somebody wrote it, comments and layout and all, under the name it says. Raises `RecipeError`."""
    recipe = parse_recipe(text, where)
    with _alone(workspace, recipe.name):
        _note(workspace, recipe.name)
        write_whole(workspace.recipe(recipe.name), text)
        _note(workspace, recipe.name)
    return recipe


def recipe_versions(workspace: Workspace, name: str) -> list[Version]:
    """All versions of a recipe, the newest first. Raises `NoSuchVersion`."""
    if not _noted(workspace, name):
        raise NoSuchVersion(_no_recipe(workspace, name))
    found: list[Version] = []
    before: Recipe | None = None
    for path in _files(workspace, name):
        recipe = _parsed(path)
        changes = len(difference(before, recipe)) if before is not None and recipe is not None else None
        found.append(Version(name, int(path.stem), path.stat().st_mtime, recipe.digest if recipe else None, changes))
        before = recipe or before
    return found[::-1]


def recipe_version(workspace: Workspace, name: str, number: int | None = None) -> Recipe:
    """A version of a recipe (None: as it is). Raises `NoSuchVersion`, and `RecipeError` for a text that is no recipe."""
    if number is None:
        if not workspace.recipe(name).is_file():
            raise NoSuchVersion(_no_recipe(workspace, name))
        return load_recipe(workspace.recipe(name))
    _noted(workspace, name)
    path = _folder(workspace, name) / f"{number:05d}.toml"
    if not path.is_file():
        numbers = [int(file.stem) for file in _files(workspace, name)]
        have = f"it has {numbers[0]} to {numbers[-1]}" if numbers else _no_recipe(workspace, name)
        raise NoSuchVersion(f"The recipe {name} has no version {number}: {have}.")
    return parse_recipe(path.read_text(encoding="utf-8"), f"version {number} of {name}")


def restore_recipe(workspace: Workspace, name: str, number: int) -> int:
    """Make an older version the newest one, comments and all; returns its new number. Raises `NoSuchVersion`, `RecipeError`."""
    recipe_version(workspace, name, number)
    text = (_folder(workspace, name) / f"{number:05d}.toml").read_text(encoding="utf-8")
    with _alone(workspace, name):
        write_whole(workspace.recipe(name), text)
        return _note(workspace, name)


@contextmanager
def _alone(workspace: Workspace, name: str) -> Iterator[None]:
    """Nobody else saves this recipe meanwhile, or a version would take another's number or be passed over."""
    folder = _folder(workspace, name)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = (folder / ".lock").open("a")
    except OSError:
        yield  # a workspace that can only be read
        return
    with file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _noted(workspace: Workspace, name: str) -> int:
    """`_note` for who only looks: a name that was never saved leaves no folder behind."""
    if not workspace.recipe(name).exists() and not _folder(workspace, name).exists():
        return 0
    with _alone(workspace, name):
        return _note(workspace, name)


def _note(workspace: Workspace, name: str) -> int:
    """Put the recipe's file into its history where the newest version says something else; the newest number, 0 for none."""
    files = _files(workspace, name)
    newest = int(files[-1].stem) if files else 0
    try:
        text = workspace.recipe(name).read_text(encoding="utf-8")
        if files and files[-1].read_text(encoding="utf-8") == text:
            return newest
    except (OSError, UnicodeDecodeError):
        return newest
    try:
        write_whole(_folder(workspace, name) / f"{newest + 1:05d}.toml", text)
    except OSError:
        return newest  # a workspace that can only be read keeps no history
    return newest + 1


def _files(workspace: Workspace, name: str) -> list[Path]:
    return sorted(path for path in _folder(workspace, name).glob("*.toml") if path.stem.isdecimal())


def _folder(workspace: Workspace, name: str) -> Path:
    return workspace.recipes / ".history" / checked_name(name)


def _parsed(path: Path) -> Recipe | None:
    try:
        return parse_recipe(path.read_text(encoding="utf-8"))
    except (RecipeError, UnicodeDecodeError):
        return None


def _no_recipe(workspace: Workspace, name: str) -> str:
    names = recipe_names(workspace)
    return f"there is no recipe {name!r} here" + (f"; there are {', '.join(names)}." if names else ": save one on the Mix page.")
