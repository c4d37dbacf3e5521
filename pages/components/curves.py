"""The curves of a training, while it runs and afterwards: loss and rate, estimated acceptance, accuracy by place, speed, sources."""

from collections.abc import Sequence
from typing import Any

import streamlit as st

from core.runs import Run
from pages.components import charts
from pages.components.numbers import count, short
from pages.components.page import figures
from pages.components.training_charts import Line, multiples, overlay

_MOST = 300
"""Points per curve; more cannot be seen and would be sent to the browser every second."""

Points = Sequence[dict[str, Any]]


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
    _numbers(steps, measured)
    left, right = st.columns(2)
    with left:
        charts.show(
            charts.curve(_x(thin), {"loss": smooth([point["loss"] for point in thin])}, x_title="step", y_title="loss"),
            key=f"loss-{run.id}",
            height=240,
            alt="Training loss by step",
        )
    with right:
        lines: dict[str, Line] = {"in training": (_x(thin), smooth([point.get("acceptance") for point in thin]))}
        if measured:
            lines["on rows kept apart"] = (_x(measured), [point["validation/all"] for point in measured])
        figure = overlay(lines, x_title="step", y_title="tokens per round, estimated")
        charts.show(figure, key=f"acceptance-{run.id}", height=240, alt="Estimated acceptance length by step")
    _positions(run, thin)
    _more(run, thin, measured)


def _numbers(steps: Points, measured: Points) -> None:
    last = steps[-1]
    recent = [point["tokens_per_second"] for point in steps[-20:] if point.get("tokens_per_second")]
    shown = [(count(last["step"]), "steps"), (f"{smooth([point['loss'] for point in steps[-20:]])[-1]:.3f}", "loss")]
    if measured:
        shown.append((f"{measured[-1]['validation/all']:.2f}", "tokens per round on rows kept apart, estimated"))
    if recent:
        shown.append((short(sum(recent) / len(recent)), "tokens per second"))
    figures(shown)


def _positions(run: Run, points: Points) -> None:
    """Accuracy by place of the block: small multiples over the steps."""
    places = [slot for slot in range(1, 64) if any(point.get(f"accuracy_{slot}") is not None for point in points)]
    if not places:
        return
    st.markdown("**Right guesses by place in the draft block**")
    series = {f"place {slot}": smooth([point.get(f"accuracy_{slot}") for point in points], 15) for slot in places}
    height = 150 * -(-len(places) // 4) + 40
    charts.show(multiples(_x(points), series), key=f"positions-{run.id}", height=height, alt="Share of right guesses by place in the block")


def _more(run: Run, thin: Points, measured: Points) -> None:
    """What is looked at now and then: each source's rows kept apart, the learning rate, the speed."""
    sources = sorted({name.removeprefix("validation/") for point in measured for name in point if name.startswith("validation/")} - {"all"})
    if sources and len(measured) > 1:
        lines: dict[str, Line] = {
            name: (_x(measured), [point.get(f"validation/{name}") for point in measured])
            for name in sorted(sources, key=lambda name: measured[-1].get(f"validation/{name}") or 0.0)
        }
        st.markdown("**Rows kept apart, by source, the worst first**")
        figure = overlay(lines, x_title="step", y_title="tokens per round, estimated")
        charts.show(figure, key=f"by-source-{run.id}", height=300, alt="Estimated acceptance length by source and step")
    elif sources:
        values = {name: measured[-1].get(f"validation/{name}") or 0.0 for name in sources}
        ranked = dict(sorted(values.items(), key=lambda item: item[1]))
        st.markdown("**Rows kept apart, by source, the worst first**")
        figure = charts.bars(ranked, unit="tokens per round, estimated", texts=[f"{value:.2f}" for value in ranked.values()])
        charts.show(figure, key=f"by-source-{run.id}", height=60 + 24 * len(ranked), alt="Estimated acceptance length by source")
    left, right = st.columns(2)
    with left:
        rates = [point.get("learning_rate") for point in thin]
        if any(rate is not None for rate in rates):
            figure = charts.curve(_x(thin), {"rate": rates}, x_title="step", y_title="learning rate")
            charts.show(figure, key=f"rate-{run.id}", height=190, alt="Learning rate by step")
    with right:
        speed = smooth([point.get("tokens_per_second") for point in thin], 15)
        if any(value is not None for value in speed):
            figure = charts.curve(_x(thin), {"speed": speed}, x_title="step", y_title="drafted tokens per second")
            figure.update_yaxes(rangemode="tozero")
            charts.show(figure, key=f"speed-{run.id}", height=190, alt="Tokens per second by step")


def _x(points: Points) -> list[float]:
    return [point["step"] for point in points]


def smooth(values: Sequence[float | None], window: int = 7) -> list[float | None]:
    """The mean over the last few points, so that a trend can be seen; gaps stay gaps."""
    smoothed: list[float | None] = []
    for index in range(len(values)):
        near = [value for value in values[max(0, index - window + 1) : index + 1] if value is not None]
        smoothed.append(sum(near) / len(near) if near else None)
    return smoothed
