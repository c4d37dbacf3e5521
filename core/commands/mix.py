"""`mixdown recipe` and `plan`: weights in, integer counts out; and the options by which every command takes a mix."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from core.commands.inputs import template_args
from core.commands.output import AsJSON, Home, emit, say, table
from core.errors import InputError
from core.workspace import BUNDLED_TARGET, Workspace

if TYPE_CHECKING:
    from core.mix import Recipe

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
    layout: str | None = None
    supervise: str | None = None
    thinking: str | None = None
    seq_length: int | None = None
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
        supervision = {"layout": self.layout, "supervise": self.supervise, "thinking": self.thinking, "seq_length": self.seq_length}
        top = {"seed": self.seed, "validation": self.validation}
        given: dict[str, dict[str, Any]] = {"target": target, "supervision": supervision, "budget": {"amount": self.budget}, "": top}
        return {part: {key: value for key, value in values.items() if value is not None} for part, values in given.items()}


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(plan)


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
    from core.sources import Library
    from core.tokens import sample_estimate

    workspace = Workspace.at(home)
    chosen = chosen_recipe(workspace, recipe, MixOptions(sources=tuple(source or ()), budget=budget, target=target))
    library = Library(workspace)
    made = make_plan(chosen, library, sample_estimate(chosen, library) if estimate else None)
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
    say(f"{made.total:,} conversations in all")


def chosen_recipe(workspace: Workspace, recipe: str | None, options: MixOptions) -> "Recipe":
    """The recipe that the arguments name, or one made from `--source`, with what the options override."""
    from core.mix import checked_recipe, load_recipe, recipe_for
    from core.sources import Library

    if (recipe is None) == (not options.sources):
        raise BadMix("Give a recipe (a TOML file or a name in the workspace) or --source NAME=WEIGHT, and not both.")
    if recipe is not None:
        base = load_recipe(_recipe_file(workspace, recipe))
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


def _recipe_file(workspace: Workspace, recipe: str) -> Path:
    path = Path(recipe)
    if path.suffix == ".toml" or path.exists():
        return path
    return workspace.recipe(recipe)


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
