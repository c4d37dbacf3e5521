"""`mixdown mix …` on recipes themselves: check, schema, diff, weigh, save, versions, restore."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from core.commands.mix import RecipeArgument, RecipeName, recipe_path, saved_recipe
from core.commands.output import AsJSON, Home, emit, emit_lines, say, table
from core.errors import InputError
from core.workspace import BUNDLED_RECIPES, Workspace

if TYPE_CHECKING:
    from core.mix import Recipe


class BadWeights(InputError):
    """Options about weights that do not go together or cannot be read."""


def register(group: typer.Typer) -> None:
    """Add the commands to the group `mix`."""
    group.command("list")(list_recipes)
    group.command()(check)
    group.command()(schema)
    group.command()(diff)
    group.command()(weigh)
    group.command()(save)
    group.command()(versions)
    group.command()(restore)


def list_recipes(as_json: AsJSON = False, home: Home = None) -> None:
    """List the recipes of the workspace and the examples that ship."""
    from core.mix import load_recipe, recipe_names

    workspace = Workspace.at(home)
    files = [(name, workspace.recipe(name), False) for name in recipe_names(workspace)]
    files += [(path.stem, path, True) for path in sorted(BUNDLED_RECIPES.glob("*.toml"))]
    found: list[dict[str, Any]] = []
    for name, path, shipped in files:
        try:
            made: Recipe | None = load_recipe(path)
        except InputError:
            made = None
        digest, sources = (made.digest, len(made.sources)) if made else (None, None)
        found.append({"name": name, "path": str(path), "example": shipped, "digest": digest, "sources": sources})
    if as_json:
        emit_lines(found)
    else:
        rows = [
            [entry["name"], "example" if entry["example"] else "", entry["sources"], (entry["digest"] or "unreadable")[:12]]
            for entry in found
        ]
        table("Recipes", ["name", "", "sources", "hash"], rows)


def check(recipe: RecipeName, as_json: AsJSON = False, home: Home = None) -> None:
    """Read a recipe and say what it is; a mistake is named with line, key and fix (exit code 2)."""
    made = saved_recipe(Workspace.at(home), recipe)
    if as_json:
        emit({"name": made.name, "digest": made.digest, "recipe": made.model_dump(mode="json")})
    else:
        say(f"{made.name}: {len(made.sources)} sources, hash {made.digest[:12]}")


def schema() -> None:
    """Print the JSON Schema of a recipe, for editors."""
    from core.mix import recipe_schema

    emit(recipe_schema())


def diff(
    old: Annotated[str, typer.Argument(help="A recipe's file or name; NAME@3 is its version 3.")],
    new: Annotated[str, typer.Argument(help="The other one.")],
    as_json: AsJSON = False,
    home: Home = None,
) -> None:
    """Say what differs between two recipes, or two versions of one."""
    from core.mix import difference

    workspace = Workspace.at(home)
    one, other = saved_recipe(workspace, old), saved_recipe(workspace, new)
    lines = difference(one, other)
    if as_json:
        emit({"old": one.digest, "new": other.digest, "changes": lines})
        return
    for line in lines or ["They ask for the same."]:
        say(line)


def weigh(
    recipe: RecipeName,
    equal: Annotated[bool, typer.Option("--equal", help="Every source the same.")] = False,
    proportional: Annotated[bool, typer.Option("--proportional", help="Every source by its size.")] = False,
    temperature: Annotated[float | None, typer.Option(help="size^(1/T): 1 is proportional, higher evens out.")] = None,
    like: Annotated[str | None, typer.Option(help="The weights of another recipe.")] = None,
    share: Annotated[list[str] | None, typer.Option(help='DOMAIN=PERCENT, as "tool calling=12.4"; nothing else changes.')] = None,
    move: Annotated[list[str] | None, typer.Option("--set", help="SOURCE=WEIGHT; the others scale so that the sum stays.")] = None,
    lock: Annotated[list[str] | None, typer.Option(help="A source whose weight stays while others scale.")] = None,
    save_it: Annotated[bool, typer.Option("--save", help="Save it under the recipe's name in the workspace.")] = False,
    as_json: AsJSON = False,
    home: Home = None,
) -> None:
    """Weigh a recipe's sources anew: a preset first, then shares of domains, then single weights. Prints the recipe's TOML."""
    from core import mix
    from core.sources import Library

    workspace = Workspace.at(home)
    library, made = Library(workspace), saved_recipe(workspace, recipe)
    if sum([equal, proportional, temperature is not None, like is not None]) > 1:
        raise BadWeights("Give one of --equal, --proportional, --temperature and --like; each sets all weights.")
    if equal:
        made = mix.with_weights(made, mix.equal(mix.sizes_of(made, library)))
    elif proportional:
        made = mix.with_weights(made, mix.proportional(mix.sizes_of(made, library)))
    elif temperature is not None:
        made = mix.with_weights(made, mix.tempered(mix.sizes_of(made, library), temperature))
    elif like is not None:
        other = {entry.name: entry.weight for entry in saved_recipe(workspace, like).sources}
        made = mix.with_weights(made, mix.like([entry.name for entry in made.sources], other))
    for text in share or ():
        domain, percent = _pair(text, "--share", "tool calling=12.4")
        made = mix.with_domain_share(made, library, domain, percent / 100)
    for text in move or ():
        name, weight = _pair(text, "--set", "glaive=2")
        weights = {entry.name: entry.weight for entry in made.sources}
        if unknown := [one for one in (name, *(lock or ())) if one not in weights]:
            raise BadWeights(f"{', '.join(unknown)} is no source of the recipe; it has {', '.join(weights)}.")
        made = mix.with_weights(made, mix.moved(weights, name, weight, lock or ()))
    if save_it:
        mix.save_recipe(workspace, made)
    if as_json:
        weights = {entry.name: entry.weight for entry in made.sources}
        emit({"name": made.name, "digest": made.digest, "weights": weights, "shares": mix.shares(weights)})
    else:
        path = recipe_path(workspace, recipe)
        typer.echo(mix.recipe_text(made, path.read_text(encoding="utf-8") if path.is_file() else None), nl=False)


def save(
    recipe: RecipeArgument,
    name: Annotated[str | None, typer.Option(help="Save it under another name.")] = None,
    as_json: AsJSON = False,
    home: Home = None,
) -> None:
    """Save a recipe (a file, an example) in the workspace, as a new version of its name; comments stay."""
    from core.mix import Recipe, parse_recipe, recipe_text, save_recipe

    workspace = Workspace.at(home)
    made = saved_recipe(workspace, str(recipe))
    if name is not None:
        made = Recipe.model_validate(made.model_dump() | {"name": name})
    path = recipe_path(workspace, str(recipe))
    if path.is_file() and not workspace.recipe(made.name).exists():
        text = recipe_text(made, path.read_text(encoding="utf-8"))
        assert parse_recipe(text) == made
        workspace.recipes.mkdir(parents=True, exist_ok=True)
        workspace.recipe(made.name).write_text(text, encoding="utf-8")
    number = save_recipe(workspace, made)
    if as_json:
        emit({"name": made.name, "version": number, "digest": made.digest, "path": str(workspace.recipe(made.name))})
    else:
        say(f"Saved as version {number} of {made.name}.")


def versions(name: Annotated[str, typer.Argument(help="A recipe of the workspace.")], as_json: AsJSON = False, home: Home = None) -> None:
    """List every version of a recipe, the newest first."""
    import time

    from core.mix import recipe_versions

    found = recipe_versions(Workspace.at(home), name)
    if as_json:
        emit_lines(vars(version) for version in found)
        return
    rows = [
        [
            version.number,
            time.strftime("%Y-%m-%d %H:%M", time.localtime(version.saved_at)),
            version.changes,
            (version.digest or "unreadable")[:12],
        ]
        for version in found
    ]
    table(f"Versions of {name}", ["version", "saved", "changes", "hash"], rows)


def restore(
    name: Annotated[str, typer.Argument(help="A recipe of the workspace.")],
    number: Annotated[int, typer.Argument(help="The version to go back to; nothing is lost, it becomes the newest.")],
    as_json: AsJSON = False,
    home: Home = None,
) -> None:
    """Make an older version of a recipe the newest."""
    from core.mix import restore_recipe

    made = restore_recipe(Workspace.at(home), name, number)
    if as_json:
        emit({"name": name, "version": made, "restored": number})
    else:
        say(f"Version {number} of {name} is its newest now (version {made}).")


def _pair(text: str, option: str, example: str) -> tuple[str, float]:
    name, _, number = text.rpartition("=")
    try:
        return name.strip(), float(number.strip().removesuffix("%"))
    except ValueError:
        raise BadWeights(f"{option} {text!r} is not NAME=NUMBER; write for example {option} '{example}'.") from None
