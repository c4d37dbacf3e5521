"""Charts of trainings: lines with x axes of their own laid over each other, and one small chart per place of the draft block."""

import math
from collections.abc import Mapping, Sequence

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from pages.components import charts

Line = tuple[Sequence[float], Sequence[float | None]]
"""x and y."""

DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
"""So that colour is not the only thing that tells lines apart."""


def overlay(lines: Mapping[str, Line], *, x_title: str, y_title: str) -> go.Figure:
    """Named lines over each other; five or fewer are named at their ends, more in a legend."""
    colours = [colour for name, colour in charts.DOMAIN_COLOURS.items() if name not in ("prompt-only", "evaluation")]
    figure = go.Figure()
    for number, (name, (x, y)) in enumerate(lines.items()):
        figure.add_trace(
            go.Scatter(
                x=list(x),
                y=list(y),
                name=name,
                mode="lines+markers" if len(x) <= 12 else "lines",
                line={"width": 2.2, "color": colours[number % len(colours)], "dash": DASHES[number // len(colours) % len(DASHES)]},
                connectgaps=True,
                hovertemplate=f"{name}: %{{y:,.4g}} at %{{x:,}}<extra></extra>",
            )
        )
    figure.update_xaxes(title=x_title)
    figure.update_yaxes(title=y_title)
    figure.update_layout(showlegend=len(lines) > 1)
    return figure


def multiples(x: Sequence[float], series: Mapping[str, Sequence[float | None]], *, columns: int = 4) -> go.Figure:
    """One small chart of a share (0 to 1) per name, all with the same axes."""
    rows = math.ceil(len(series) / columns)
    figure = make_subplots(
        rows=rows,
        cols=min(columns, len(series)),
        shared_xaxes=True,
        shared_yaxes=True,
        subplot_titles=list(series),
        horizontal_spacing=0.03,
        vertical_spacing=0.22 / max(1, rows - 1) if rows > 1 else 0,
    )
    for number, (name, values) in enumerate(series.items()):
        figure.add_trace(
            go.Scatter(
                x=list(x),
                y=list(values),
                mode="lines",
                connectgaps=True,
                line={"width": 1.8, "color": charts.DOMAIN_COLOURS["chat"]},
                hovertemplate=f"{name}: %{{y:.1%}} at step %{{x:,}}<extra></extra>",
            ),
            row=number // columns + 1,
            col=number % columns + 1,
        )
    figure.update_yaxes(range=[0, 1], tickformat=".0%", nticks=3)
    figure.update_xaxes(nticks=3)
    figure.update_annotations(font_size=12)
    figure.update_layout(showlegend=False)
    return figure
