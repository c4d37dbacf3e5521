"""The curves of a training, while it runs and afterwards: loss, estimated acceptance, accuracy by place in the block."""

from typing import Any

import streamlit as st

from core.runs import Run
from pages.components import charts

_MOST = 300
"""Points per curve; more cannot be seen and would be sent to the browser every second."""


def training_curves(run: Run) -> None:
    """Draw what the run has reported so far."""
    points = run.metrics()
    steps = [point for point in points if "loss" in point]
    if len(steps) < 2:
        if run.active:
            st.caption("Curves begin with the first steps; before that the target's hidden states are computed once.")
        return
    thin = steps[:: max(1, len(steps) // _MOST)]
    measured = [point for point in points if "validation/all" in point]
    left, right = st.columns(2)
    with left:
        figure = charts.curve(
            [point["step"] for point in thin], {"loss": _smooth([point["loss"] for point in thin])}, x_title="step", y_title="loss"
        )
        charts.show(figure, key=f"loss-{run.id}", height=240, alt="Training loss by step")
    with right:
        series = {"in training": _smooth([point.get("acceptance") for point in thin])}
        figure = charts.curve([point["step"] for point in thin], series, x_title="step", y_title="tokens per round, estimated")
        if measured:
            figure.add_scatter(
                x=[point["step"] for point in measured],
                y=[point["validation/all"] for point in measured],
                mode="lines+markers",
                name="on rows kept apart",
                line={"color": charts.DOMAIN_COLOURS["code"], "width": 2.2},
                hovertemplate="validation %{y:.2f} at %{x:,}<extra></extra>",
            )
            figure.update_layout(showlegend=True)
        charts.show(figure, key=f"acceptance-{run.id}", height=240, alt="Estimated acceptance length by step")
    _positions(run, thin)


def _positions(run: Run, points: list[dict[str, Any]]) -> None:
    last = [points[-1].get(f"accuracy_{slot}") for slot in range(1, 64)]
    shares = {f"place {slot}": share for slot, share in enumerate(last, 1) if share is not None}
    if not shares:
        return
    recent = points[-10:]
    mean = {name: sum(point.get(f"accuracy_{slot}") or 0.0 for point in recent) / len(recent) for slot, name in enumerate(shares, 1)}
    figure = charts.columns(mean, y_title="right guesses", x_title="place in the draft block")
    charts.show(figure, key=f"positions-{run.id}", height=220, alt="Share of right guesses by place in the block")


def _smooth(values: list[float | None], window: int = 7) -> list[float | None]:
    """The mean over the last few points, so that a trend can be seen; gaps stay gaps."""
    smoothed: list[float | None] = []
    for index in range(len(values)):
        near = [value for value in values[max(0, index - window + 1) : index + 1] if value is not None]
        smoothed.append(sum(near) / len(near) if near else None)
    return smoothed
