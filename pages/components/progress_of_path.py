"""The five steps of the path with what each has come to in this workspace. It reads; it draws nothing."""

from dataclasses import dataclass

from core.errors import MixdownError
from core.mix import Recipe
from core.runs import Run
from pages.components import current
from pages.components.datasets import datasets
from pages.components.drafters import drafters
from pages.components.numbers import count, percent, plural, short


@dataclass(frozen=True)
class Step:
    """A step: where it is done, the words of the button that leads there, and its state in one or two short lines (plain text)."""

    name: str
    page: str
    call: str
    done: bool
    lines: tuple[str, ...]


def steps(runs: list[Run]) -> list[Step]:
    """The five steps, in order."""
    problem = ""
    try:
        recipe = current.recipe()
    except MixdownError:
        recipe, problem = None, "the recipe cannot be read"
    return [_sources(), _mix(recipe, problem), *_preview_and_tokenize(recipe), _train(runs)]


def _sources() -> Step:
    imported = current.library().sources()
    lines = ["nothing imported yet"]
    if imported:
        kept, bad = sum(source.ledger.kept for source in imported), sum(source.ledger.quarantined for source in imported)
        lines = [f"{len(imported)} imported", f"{plural(kept, 'conversation')}, {count(bad)} quarantined"]
    return Step("Sources", "pages/sources.py", "Look at the sources", bool(imported), tuple(lines))


def _mix(recipe: Recipe | None, problem: str) -> Step:
    if recipe is None:
        return Step("Mix", "pages/mix.py", "Weigh the sources", False, (problem or "no recipe yet",))
    used = sum(entry.weight > 0 for entry in recipe.sources)
    return Step("Mix", "pages/mix.py", "Weigh the sources", True, (f"recipe {recipe.name}", plural(used, "source")))


def _preview_and_tokenize(recipe: Recipe | None) -> list[Step]:
    made = datasets()
    mine = next((dataset for dataset in made if recipe is not None and dataset.manifest.recipe_hash == recipe.digest), None)
    looked = Step(
        "Preview",
        "pages/preview.py",
        "Look at rows",
        mine is not None,
        (current.target_label(recipe.target.path), "see what is trained on") if recipe else ("needs a recipe",),
    )
    lines = ["no dataset of this recipe yet"]
    if mine is not None:
        manifest = mine.manifest
        lines = [mine.name, f"{short(manifest.tokens)} tokens, {percent(manifest.trainable_tokens / max(manifest.tokens, 1), 0)} trainable"]
    return [looked, Step("Tokenize", "pages/tokenize.py", "Tokenize the mix", mine is not None, tuple(lines))]


def _train(runs: list[Run]) -> Step:
    measured = [drafter for drafter in drafters(runs) if drafter.after]
    lines = ["no drafter yet"]
    if measured and measured[0].after:
        report = measured[0].after
        worst = min(report["by_source"].items(), key=lambda item: item[1], default=None)
        lines = [f"{measured[0].name}: {report['acceptance_length']:.2f} tokens per round"]
        if worst is not None:
            lines.append(f"worst: {worst[0]} {worst[1]:.2f}")
    return Step("Train", "pages/train.py", "Train a drafter" if not measured else "See the report", bool(measured), tuple(lines))
