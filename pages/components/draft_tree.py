"""One round of speculative decoding as a picture: the drafted tokens as a chain or tree, and the path that the target accepted."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from pages.components import charts

Node = Mapping[str, Any]
"""`{"token", "parent", "depth", "probability", "accepted"}`, as `core.drafter.drafts.Round.to_json`."""


def heights(nodes: Sequence[Node]) -> list[float]:
    """Where each node stands from top to bottom: leaves in order one below the other, a parent in the middle of its children."""
    children: dict[int, list[int]] = {}
    for place, node in enumerate(nodes):
        children.setdefault(node["parent"], []).append(place)
    found = [0.0] * len(nodes)
    free = 0.0

    def settle(place: int) -> float:
        nonlocal free
        below = children.get(place, [])
        if not below:
            found[place], free = free, free + 1
        else:
            found[place] = sum(settle(child) for child in below) / len(below)
        return found[place]

    for root in children.get(-1, []):
        settle(root)
    return found


def round_picture(found: Mapping[str, Any], text_of: Callable[[int], str]) -> tuple[go.Figure, int]:
    """The picture and its height in pixels. Accepted nodes are filled and joined by a thick line; the rest are hollow."""
    nodes: Sequence[Node] = found["nodes"]
    rows = heights(nodes)
    roots = [row for row, node in zip(rows, nodes, strict=True) if node["parent"] < 0]
    start = sum(roots) / len(roots) if roots else 0.0
    good, quiet = charts.DOMAIN_COLOURS["code"], charts.DOMAIN_COLOURS["other"]
    figure = go.Figure()
    for accepted in (False, True):
        x: list[float | None] = []
        y: list[float | None] = []
        for row, node in zip(rows, nodes, strict=True):
            if node["accepted"] == accepted:
                x += [node["depth"] - 1, node["depth"], None]
                y += [start if node["parent"] < 0 else rows[node["parent"]], row, None]
        line = {"width": 4.0 if accepted else 1.2, "color": good if accepted else quiet}
        figure.add_trace(go.Scatter(x=x, y=y, mode="lines", line=line, hoverinfo="skip"))
    shown = [text_of(found["committed"]), *(text_of(node["token"]) for node in nodes)]
    likely = ["the token before", *(_likely(node) for node in nodes)]
    kept = [True, *(bool(node["accepted"]) for node in nodes)]
    figure.add_trace(
        go.Scatter(
            x=[0, *(node["depth"] for node in nodes)],
            y=[start, *rows],
            mode="markers+text",
            text=shown,
            textposition="top center",
            customdata=likely,
            marker={
                "size": 11,
                "symbol": ["circle" if one else "circle-open" for one in kept],
                "color": [good if one else quiet for one in kept],
                "line": {"width": 1.6},
            },
            cliponaxis=False,
            hovertemplate="%{text}<br>%{customdata}<extra></extra>",
        )
    )
    deepest = max((node["depth"] for node in nodes), default=1)
    figure.update_xaxes(title="place in the draft block", dtick=1, range=[-0.4, deepest + 0.6], showgrid=False)
    figure.update_yaxes(visible=False, range=[max(rows, default=0) + 0.6, -0.9])
    figure.update_layout(showlegend=False)
    return figure, 120 + int(34 * (max(rows, default=0) + 1))


def _likely(node: Node) -> str:
    said = "accepted by the target" if node["accepted"] else "not what the target says"
    return said if node["probability"] is None else f"{said}; the drafter gave it {node['probability']:.0%}"
