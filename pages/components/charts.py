"""Every chart of the dashboard, with one look in light and dark, and one colour per domain on all screens.

The functions take plain numbers and return Plotly figures; they know nothing of recipes, runs or files.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise

import plotly.graph_objects as go
import streamlit as st

DOMAIN_COLOURS = {
    "chat": "#0072B2",
    "code": "#009E73",
    "agentic": "#E69F00",
    "tool calling": "#CC79A7",
    "math": "#56B4E9",
    "prompt-only": "#F0E442",
    "evaluation": "#C9B79C",
    "other": "#999999",
}
"""Okabe and Ito's palette: apart for colour-blind readers, and never the only cue."""
TROUBLE = "#D55E00"


def domain_colour(domain: str) -> str:
    """The colour of a domain; what has none is "other"."""
    return DOMAIN_COLOURS.get(domain, DOMAIN_COLOURS["other"])


def _on(domain: str) -> str:
    """Text colour that can be read on a domain's colour (contrast above 5:1)."""
    return "#ffffff" if domain_colour(domain) == DOMAIN_COLOURS["chat"] else "#101418"


def _dark() -> bool:
    return st.context.theme.type == "dark"


def _ink() -> tuple[str, str, str]:
    """Text, quiet text and line colours, as in style.css."""
    return ("#e3e7ea", "#9aa5af", "#303a43") if _dark() else ("#1d2730", "#5d6873", "#dedad1")


def _template() -> go.layout.Template:
    ink, quiet, line = _ink()
    axis = {
        "gridcolor": line,
        "linecolor": line,
        "zeroline": False,
        "ticks": "",
        "title": {"font": {"color": quiet, "size": 13}, "standoff": 10},
        "tickfont": {"color": quiet, "size": 12},
        "ticklabelstandoff": 6,
        "automargin": True,
    }
    return go.layout.Template(
        layout={
            "font": {"family": '"Source Sans", "Source Sans Pro", sans-serif', "color": ink, "size": 13},
            "paper_bgcolor": "rgba(0,0,0,0)",
            "plot_bgcolor": "rgba(0,0,0,0)",
            "margin": {"l": 8, "r": 12, "t": 16, "b": 8},
            "xaxis": axis | {"showgrid": False},
            "yaxis": axis,
            "colorway": list(DOMAIN_COLOURS.values()),
            "hoverlabel": {"bgcolor": "#222a32" if _dark() else "#ffffff", "bordercolor": line, "font": {"color": ink, "size": 13}},
            "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0, "font": {"color": quiet}},
            "bargap": 0.35,
            "uirevision": "keep",
        }
    )


def show(figure: go.Figure, *, key: str, height: int, alt: str) -> None:
    """Draw a figure with the shared look; `alt` is what a reader who cannot see it is told."""
    figure.update_layout(template=_template(), height=height, modebar={"remove": ["lasso2d", "select2d", "autoscale"]})
    st.plotly_chart(figure, key=key, theme=None, config={"displaylogo": False, "displayModeBar": False}, alt=alt)


def bars(values: Mapping[str, float], *, unit: str, colours: Sequence[str] | None = None, texts: Sequence[str] | None = None) -> go.Figure:
    """Horizontal bars, the first on top, each with its exact value beside it."""
    names = list(values)
    amounts = list(values.values())
    figure = go.Figure(
        go.Bar(
            x=amounts,
            y=names,
            orientation="h",
            marker={"color": list(colours) if colours else DOMAIN_COLOURS["chat"]},
            text=list(texts) if texts else [f"{amount:,.4g}" if amount < 1000 else f"{amount:,.0f}" for amount in amounts],
            textposition="outside",
            cliponaxis=False,
            hovertemplate="%{y}: %{x:,} " + unit + "<extra></extra>",
        )
    )
    figure.update_yaxes(autorange="reversed", showgrid=False)
    figure.update_xaxes(title=unit, range=[0, max(amounts, default=1) * 1.18 or 1])
    return figure


def treemap(parts: Sequence[tuple[str, str, float]], *, unit: str) -> go.Figure:
    """Nested areas domain → source from `(domain, source, amount)`."""
    domains: dict[str, float] = {}
    for domain, _, amount in parts:
        domains[domain] = domains.get(domain, 0.0) + amount
    total = sum(domains.values()) or 1.0
    ids = [f"domain {domain}" for domain in domains] + [f"source {name}" for _, name, _ in parts]
    figure = go.Figure(
        go.Treemap(
            ids=ids,
            labels=[*domains, *(name for _, name, _ in parts)],
            parents=["" for _ in domains] + [f"domain {domain}" for domain, _, _ in parts],
            values=[*domains.values(), *(amount for _, _, amount in parts)],
            branchvalues="total",
            marker={
                "colors": [domain_colour(domain) for domain in domains] + [domain_colour(domain) for domain, _, _ in parts],
                "line": {"width": 1.5, "color": "#13181d" if _dark() else "#fbfaf8"},
                "cornerradius": 4,
            },
            text=[f"{amount / total:.1%}" for amount in [*domains.values(), *(amount for _, _, amount in parts)]],
            textinfo="label+text",
            textfont={"color": [_on(domain) for domain in domains] + [_on(domain) for domain, _, _ in parts]},
            hovertemplate="%{label}: %{value:,.0f} " + unit + ", %{text}<extra></extra>",
            tiling={"pad": 2},
            pathbar={"visible": False},
        )
    )
    figure.update_layout(margin={"l": 0, "r": 0, "t": 0, "b": 0})
    return figure


def asked_and_got(names: Sequence[str], asked: Sequence[float], got: Sequence[float], colours: Sequence[str]) -> go.Figure:
    """Requested share as a tick over the bar of the realised share, per source (shares 0 to 1)."""
    ink, _, _ = _ink()
    figure = go.Figure(
        go.Bar(
            x=list(got),
            y=list(names),
            orientation="h",
            marker={"color": list(colours)},
            name="got",
            hovertemplate="%{y}: got %{x:.2%}<extra></extra>",
        )
    )
    figure.add_trace(
        go.Scatter(
            x=list(asked),
            y=list(names),
            mode="markers",
            name="asked",
            marker={"symbol": "line-ns", "size": 15, "line": {"width": 2.5, "color": ink}},
            hovertemplate="%{y}: asked %{x:.2%}<extra></extra>",
        )
    )
    figure.update_yaxes(autorange="reversed", showgrid=False)
    figure.update_xaxes(title="share of the mix", tickformat=".0%", rangemode="tozero")
    figure.update_layout(showlegend=False)
    return figure


def histogram(
    edges: Sequence[float], counts: Sequence[int], *, x: str, y: str, limit: float | None = None, limit_text: str = ""
) -> go.Figure:
    """Counts between neighbouring `edges` ([bins + 1] for [bins]), with a limit drawn in where there is one."""
    widths = [right - left for left, right in pairwise(edges)]
    figure = go.Figure(
        go.Bar(
            x=list(edges[:-1]),
            y=list(counts),
            width=widths,
            offset=0,
            marker={"color": DOMAIN_COLOURS["chat"], "line": {"width": 0}},
            customdata=list(edges[1:]),
            hovertemplate="%{x:,.0f} to %{customdata:,.0f}: %{y:,}<extra></extra>",
        )
    )
    figure.update_layout(bargap=0.04)
    figure.update_xaxes(title=x)
    figure.update_yaxes(title=y, rangemode="tozero")
    if limit is not None:
        figure.add_vline(
            x=limit, line={"color": TROUBLE, "width": 2, "dash": "dash"}, annotation={"text": limit_text, "font": {"color": TROUBLE}}
        )
    return figure


def curve(x: Sequence[float], series: Mapping[str, Sequence[float | None]], *, x_title: str, y_title: str) -> go.Figure:
    """Lines over a shared x axis; one that is alone is not named again."""
    figure = go.Figure()
    for (name, values), colour in zip(series.items(), DOMAIN_COLOURS.values(), strict=False):
        figure.add_trace(
            go.Scatter(
                x=list(x),
                y=list(values),
                name=name,
                mode="lines" if len(x) > 12 else "lines+markers",
                line={"width": 2.2, "color": colour},
                connectgaps=True,
                hovertemplate=f"{name} %{{y:,.4g}} at %{{x:,}}<extra></extra>",
            )
        )
    figure.update_xaxes(title=x_title)
    figure.update_yaxes(title=y_title)
    figure.update_layout(showlegend=len(series) > 1)
    return figure


def before_and_after(
    names: Sequence[str], before: Sequence[float], after: Sequence[float], colours: Sequence[str], *, unit: str
) -> go.Figure:
    """Per name a bar up to `after`, with a tick where it stood before."""
    _, quiet, _ = _ink()
    figure = bars(dict(zip(names, after, strict=True)), unit=unit, colours=colours, texts=[f"{value:.2f}" for value in after])
    figure.add_trace(
        go.Scatter(
            x=list(before),
            y=list(names),
            mode="markers",
            marker={"symbol": "line-ns", "size": 15, "line": {"width": 2.5, "color": quiet}},
            hovertemplate="%{y}: untrained %{x:.2f}<extra></extra>",
        )
    )
    figure.update_layout(showlegend=False)
    return figure


def columns(values: Mapping[str, float], *, x_title: str, y_title: str) -> go.Figure:
    """Upright bars of shares (0 to 1), each with its value above it."""
    figure = go.Figure(
        go.Bar(
            x=list(values),
            y=list(values.values()),
            marker={"color": DOMAIN_COLOURS["chat"]},
            text=[f"{share:.0%}" for share in values.values()],
            textposition="outside",
            cliponaxis=False,
            hovertemplate="%{x}: %{y:.1%}<extra></extra>",
        )
    )
    figure.update_xaxes(title=x_title)
    figure.update_yaxes(title=y_title, tickformat=".0%", range=[0, max([*values.values(), 0.05]) * 1.2])
    return figure
