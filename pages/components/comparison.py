"""Trainings beside each other: their curves on one chart, and what came of them in one table."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import streamlit as st

from core.runs import Run
from pages.components import charts
from pages.components.curves import smooth
from pages.components.training_charts import Line, overlay

_CURVES = {
    "tokens per round in training, estimated": "acceptance",
    "tokens per round on rows kept apart, estimated": "validation/all",
    "loss": "loss",
    "tokens per second": "tokens_per_second",
}
_MOST = 300


def training_name(run: Run) -> str:
    """What a run's drafter is called."""
    out = run.spec.get("out") or run.spec.get("name") or run.id
    return Path(str(out)).name


def compare(runs: Sequence[Run], key: str) -> None:
    """Draw the comparison of two or more trainings."""
    with st.container(horizontal=True):
        wanted = st.selectbox("Curve", list(_CURVES), key=f"curve-{key}", persist_state="session")
        over = st.segmented_control("Over", ["steps", "seconds"], default="steps", key=f"over-{key}", persist_state="session")
    lines: dict[str, Line] = {}
    for run in runs:
        points = run.metrics()
        measure = _CURVES[wanted]
        found = [point for point in points if point.get(measure) is not None]
        if len(found) < 1:
            continue
        thin = found[:: max(1, len(found) // _MOST)]
        x = [_seconds(point, run) if over == "seconds" else point["step"] for point in thin]
        lines[_label(run, lines)] = (
            x,
            smooth([point[measure] for point in thin]) if len(thin) > 30 else [point[measure] for point in thin],
        )
    if lines:
        figure = overlay(lines, x_title="step" if over != "seconds" else "seconds since its start", y_title=wanted)
        charts.show(figure, key=f"compared-{key}", height=340, alt=f"{wanted} of {', '.join(lines)}")
    else:
        st.caption("None of them has reported such a curve yet.")
    results(runs)


def results(runs: Sequence[Run]) -> None:
    """One row per training: how it was made and what came of it."""
    number = st.column_config.NumberColumn
    st.dataframe(
        [_result(run) for run in runs],
        hide_index=True,
        column_config={
            "Parameters": number(format="localized"),
            "Steps": number(format="localized"),
            "Loss": number(format="%.3f"),
            "Tokens per round": number(format="%.2f"),
            "Best tree": number(format="%.2f"),
            "Seconds": number(format="%.0f"),
        },
    )


def _result(run: Run) -> dict[str, Any]:
    result: Mapping[str, Any] = run.result or {}
    trained, report = result.get("train") or {}, result.get("evaluation") or result.get("drafter") or {}
    worst = min(report.get("by_source", {}).items(), key=lambda item: item[1], default=None)
    return {
        "Drafter": training_name(run),
        "State": run.state,
        "Engine": run.spec.get("engine", "native"),
        "Dataset": Path(str(run.spec.get("data", run.spec.get("name", "")))).name,
        "Parameters": trained.get("parameters"),
        "Steps": trained.get("steps"),
        "Seconds": trained.get("seconds"),
        "Loss": trained.get("loss"),
        "Tokens per round": report.get("acceptance_length"),
        "Worst source": f"{worst[0]} {worst[1]:.2f}" if worst else None,
        "Best tree": max(report.get("tree", {}).values(), default=None),
    }


def _label(run: Run, taken: Mapping[str, Line]) -> str:
    name = training_name(run)
    return name if name not in taken else f"{name} ({run.id[-4:]})"


def _seconds(point: Mapping[str, Any], run: Run) -> float:
    return float(point["seconds"] if "seconds" in point else point["at"] - run.created_at)
