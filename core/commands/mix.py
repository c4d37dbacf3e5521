"""`mixdown recipe` and `plan`: weights in, integer counts out; and the options by which every command takes a mix."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from core.commands.inputs import template_args
from core.commands.output import AsJSON, Home, TerminalWatcher, emit, say, table
from core.errors import InputError
from core.workspace import BUNDLED_RECIPES, BUNDLED_TARGET, Workspace

if TYPE_CHECKING:
    from core.mix import Plan, Recipe

RecipeName = Annotated[
    str, typer.Argument(metavar="RECIPE", help="A recipe's TOML file, its name in the workspace (NAME@3: its version 3), or an example.")
]
RecipeArgument = Annotated[str | None, typer.Argument(help="A recipe's TOML file, or its name in the workspace.")]
SourceOption = Annotated[
    list[str] | None,
    typer.Option("--source", help="NAME or NAME=WEIGHT instead of a recipe; a path imports that file first. May be given several times."),
]


class BadMix(InputError):
    """A mix that is neither a recipe nor sources given by hand."""


@dataclass(frozen=True)
class MixOptions:
    """What can be said by hand instead of, or on top of, a recipe. None leaves the recipe's value."""

    sources: tuple[str, ...] = ()
    target: str | None = None
    template: Path | None = None
    args: tuple[str, ...] = ()
    supervision: Mapping[str, Any] = field(default_factory=dict)
    """keys of the recipe's supervision; None leaves the recipe's value"""
    budget: int | None = None
    seed: int | None = None
    validation: float | None = None

    def settings(self) -> dict[str, dict[str, Any]]:
        """The recipe's tables and keys that are overridden."""
        target = {
            "path": self.target,
            "template": None if self.template is None else str(self.template.resolve()),
            "args": template_args(list(self.args)) or None,
        }
        top = {"seed": self.seed, "validation": self.validation}
        budget, supervision = {"amount": self.budget}, dict(self.supervision)
        given: dict[str, dict[str, Any]] = {"target": target, "supervision": supervision, "budget": budget, "": top}
        return {part: {key: value for key, value in values.items() if value is not None} for part, values in given.items()}


def register(app: typer.Typer) -> None:
    """Add `plan`, and the group `mix`."""
    from core.commands import recipes, rules

    app.command()(plan)
    group = typer.Typer(help="Recipes and what they do: weights, filters, duplicates, contamination, licences.", no_args_is_help=True)
    recipes.register(group)
    rules.register(group)
    app.add_typer(group, name="mix")


def plan(
    recipe: RecipeArgument = None,
    source: SourceOption = None,
    budget: Annotated[int | None, typer.Option(help="Conversations in all.", min=1)] = None,
    target: Annotated[str | None, typer.Option("--target", help="Instead of the recipe's.")] = None,
    estimate: Annotated[bool, typer.Option(help="Measure tokens per conversation on a sample of each source.")] = True,
    as_json: AsJSON = False,
    home: Home = None,
) -> None:
    """Turn a recipe's weights into rows per source, with shares requested and realised."""
    from core.mix import plan as make_plan
    from core.mix import usable_rows
    from core.sources import Library
    from core.tokens import row_tokens, sample_estimate

    workspace = Workspace.at(home)
    chosen = chosen_recipe(workspace, recipe, MixOptions(sources=tuple(source or ()), budget=budget, target=target))
    library, watcher = Library(workspace), TerminalWatcher(quiet=as_json)
    usable = usable_rows(chosen, library, row_tokens(chosen, watcher), watcher)
    made = make_plan(chosen, library, sample_estimate(chosen, library, usable=usable) if estimate else None, usable)
    if as_json:
        emit(made.to_json())
        return
    table(
        f"Plan of {chosen.name}",
        ["source", "domain", "rows", "epochs", "asked %", "got %", "tokens", "trainable"],
        [
            [
                part.name,
                part.domain,
                part.rows,
                part.epochs,
                100 * part.share_requested,
                100 * part.share_realised,
                part.tokens,
                part.trainable_tokens,
            ]
            for part in made.sources
        ],
    )
    say(f"{made.total:,} conversations in all{_in_tokens(made)}")
    for part in made.sources:
        if part.removed:
            say(f"{part.name}: not usable are {', '.join(f'{count:,} by {rule}' for rule, count in part.removed.items())}")
        if part.shortfall:
            say(f"{part.name}: {part.shortfall:,} rows fewer than its weight asks ({part.limit}); the others give them")


def _in_tokens(made: "Plan") -> str:
    if made.tokens is None or made.trainable_tokens is None:
        return ""
    error = made.trainable_error
    how = "counted" if error == 0 else f"± {error or 0:.0%}, from samples"
    return f", {made.tokens:,} tokens, {made.trainable_tokens:,} of them trained on ({how})"


def chosen_recipe(workspace: Workspace, recipe: str | None, options: MixOptions) -> "Recipe":
    """The recipe that the arguments name, or one made from `--source`, with what the options override."""
    from core.mix import checked_recipe, recipe_for
    from core.sources import Library

    if (recipe is None) == (not options.sources):
        raise BadMix("Give a recipe (a TOML file or a name in the workspace) or --source NAME=WEIGHT, and not both.")
    if recipe is not None:
        base = saved_recipe(workspace, recipe)
    else:
        weights = dict(_weighted(workspace, text) for text in options.sources)
        sizes = {name: Library(workspace).source(name).rows for name in weights}
        # Without a weight by hand, a source counts by its size: all of its rows, once.
        chosen = {name: float(sizes[name]) if weight is None else weight for name, weight in weights.items()}
        target = options.target or str(BUNDLED_TARGET)
        base = recipe_for(Library(workspace), "by-hand", target, sources=list(chosen), weights=chosen)
    content = base.model_dump(mode="json")
    for part, values in options.settings().items():
        (content[part] if part else content).update(values)
    return checked_recipe(content)


def saved_recipe(workspace: Workspace, recipe: str) -> "Recipe":
    """The recipe that a file, a name of the workspace (`NAME@3`: its version 3) or an example's name stands for."""
    from core.mix import load_recipe, recipe_version

    name, at, number = recipe.rpartition("@")
    if at and number.isdecimal() and not Path(recipe).exists():
        return recipe_version(workspace, name, int(number))
    return load_recipe(recipe_path(workspace, recipe))


def recipe_path(workspace: Workspace, recipe: str) -> Path:
    """The file of a recipe: the path itself, the workspace's recipe of that name, else the example of that name."""
    path = Path(recipe)
    if path.suffix == ".toml" or path.is_file():
        return path
    name = recipe.rpartition("@")[0] or recipe
    own, shipped = workspace.recipe(name), BUNDLED_RECIPES / f"{name}.toml"
    return shipped if shipped.is_file() and not own.is_file() else own


def _weighted(workspace: Workspace, text: str) -> tuple[str, float | None]:
    """`NAME=WEIGHT` or `NAME`; a path to a file is imported under the file's name first."""
    from core.jobs import ImportItem, ImportJob, perform_here
    from core.sources import import_name

    name, equals, weight = text.rpartition("=")
    if not equals:
        name, weight = text, ""
    try:
        number = float(weight) if equals else None
    except ValueError:
        raise BadMix(f"--source {text!r}: {weight!r} is not a number; write for example --source glaive=2.") from None
    if not (("/" in name) or Path(name).is_file()):
        return name, number
    origin = Path(name).resolve()
    job = ImportJob(home=workspace.home, items=(ImportItem(name=import_name(origin), origin=origin),))
    perform_here(job)
    return job.items[0].name, number
