"""Runs beside each other: what was asked as a diff, curves, results; and where what a run made comes from. It reads their records."""

import html
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import streamlit as st

from core.errors import MixdownError
from core.mix import Recipe, checked_recipe, difference, parse_recipe
from core.runs import Run
from core.runs.files import read_json
from core.tokens import Manifest
from pages.components.comparison import compare
from pages.components.numbers import count, short
from pages.components.outcomes import outcome
from pages.components.run_card import state_word

_TRAIN = ("train", "demo")


def runs_beside(runs: Sequence[Run]) -> None:
    """Draw two or more runs: the first selected is what the others differ from."""
    first, *others = runs
    for other in others:
        st.markdown(f"**What differs in {other.title}, beside {first.title}**")
        lines = _settings(first, other) + _recipes(first, other)
        if lines:
            st.html('<pre class="md-diff">' + "\n".join(html.escape(line) for line in lines) + "</pre>")
        else:
            st.caption("The same was asked.")
    trainings = [run for run in runs if run.kind in _TRAIN]
    if len(trainings) > 1:
        compare(trainings, "runs")
    rest = [run for run in runs if run not in trainings] if len(trainings) > 1 else list(runs)
    if rest:
        st.dataframe(
            [{"Run": run.title, "State": state_word(run), "What came of it": outcome(run), "Seconds": run.seconds} for run in rest],
            hide_index=True,
            column_config={"Seconds": st.column_config.NumberColumn(format="%.1f")},
        )


def lineage(run: Run) -> None:
    """Sources → recipe → dataset → drafter, as far as this run has them."""
    manifest, recipe = _manifest(run), recipe_of(run)
    steps: list[tuple[str, str, str]] = []
    if recipe is not None:
        names = [entry.name for entry in recipe.sources if entry.weight > 0]
        steps.append(("sources", f"{count(len(names))} sources", ", ".join(names)))
        steps.append(("recipe", recipe.name, recipe.digest[:12]))
    if manifest is not None:
        steps.append(("dataset", _dataset(run).name, f"{count(manifest.rows)} rows, {short(manifest.tokens)} tokens"))
    drafter = run.spec.get("drafter") or (run.spec.get("out") if run.kind == "train" else None)
    if drafter or run.kind == "demo":
        steps.append(("drafter", Path(str(drafter or run.spec["name"])).name, outcome(run)))
    if len(steps) < 2:
        return
    st.markdown("**Where it comes from**")
    boxes = [
        f'<div class="box"><span>{kind}</span><b>{html.escape(name)}</b><em title="{html.escape(more)}">{html.escape(more)}</em></div>'
        for kind, name, more in steps
    ]
    st.html('<div class="md-lineage">' + '<i aria-hidden="true">→</i>'.join(boxes) + "</div>")


def recipe_of(run: Run) -> Recipe | None:
    """The recipe that a run worked on; None where it had none, or its dataset is gone."""
    try:
        if run.kind == "tokenize":
            return parse_recipe(str(run.spec["recipe"]))
        manifest = _manifest(run)
        return None if manifest is None else checked_recipe(manifest.recipe)
    except MixdownError:
        return None


def _dataset(run: Run) -> Path:
    if run.kind == "demo":
        return Path(str(run.spec["home"])) / "datasets" / str(run.spec["name"])
    if run.kind == "evaluate":
        trained = read_json(Path(str(run.spec["drafter"])) / "training_state.json") or {}
        return Path(str(trained.get("data", "")))
    return Path(str(run.spec.get("data") or run.spec.get("out", "")))


def _manifest(run: Run) -> Manifest | None:
    if run.kind not in ("train", "tokenize", "demo", "evaluate"):
        return None
    try:
        return Manifest.load(_dataset(run))
    except MixdownError:
        return None


def _recipes(one: Run, other: Run) -> list[str]:
    was, now = recipe_of(one), recipe_of(other)
    if was is None or now is None:
        return []
    return [f"recipe: {line}" for line in difference(was, now)]


def _settings(one: Run, other: Run) -> list[str]:
    """What was asked otherwise, without the recipe's text, which is compared as a recipe."""
    was, now = dict(_flat(one.spec)), dict(_flat(other.spec))
    names = [name for name in {**was, **now} if name not in ("recipe", "home") and was.get(name) != now.get(name)]
    return [f"{name}: {_said(was, name)} → {_said(now, name)}" for name in names]


def _flat(value: Mapping[str, Any], where: str = "") -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for key, item in value.items():
        found += _flat(item, f"{where}{key}.") if isinstance(item, Mapping) else [(f"{where}{key}", item)]
    return found


def _said(values: Mapping[str, Any], name: str) -> str:
    value = values.get(name)
    return "(none)" if value is None else str(value)
