"""Charts of an acceptance report: sources with their share in the mix, the ways to draft, rounds."""

from collections.abc import Mapping, Sequence

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from pages.components import charts


def sources_and_shares(
    names: Sequence[str], before: Sequence[float], after: Sequence[float], shares: Sequence[float | None], colours: Sequence[str]
) -> go.Figure:
    """Per source a bar up to `after` with a tick at `before`, and beside it the share it has in the mix (0 to 1)."""
    known = any(share is not None for share in shares)
    figure = make_subplots(
        rows=1, cols=2 if known else 1, shared_yaxes=True, column_widths=[0.7, 0.3] if known else [1], horizontal_spacing=0.04
    )
    bars = charts.before_and_after(names, before, after, colours, unit="tokens per round")
    for trace in bars.data:
        figure.add_trace(trace, row=1, col=1)
    figure.update_xaxes(title="tokens per round", range=[0, max([*after, 1.0]) * 1.18], row=1, col=1)
    if known:
        found = [share or 0.0 for share in shares]
        figure.add_trace(
            go.Bar(
                x=found,
                y=list(names),
                orientation="h",
                marker={"color": list(colours), "opacity": 0.45},
                text=[f"{share:.1%}" for share in found],
                textposition="outside",
                cliponaxis=False,
                hovertemplate="%{y}: %{x:.1%} of the mix<extra></extra>",
            ),
            row=1,
            col=2,
        )
        figure.update_xaxes(title="share of the mix", tickformat=".0%", range=[0, max(found) * 1.45 or 1], nticks=4, row=1, col=2)
    figure.update_yaxes(autorange="reversed", showgrid=False)
    figure.update_layout(showlegend=False)
    return figure


def ways(lengths: Mapping[str, float], speeds: Mapping[str, float]) -> go.Figure:
    """Tokens per round of each way to draft, with its speed on this machine beside the bar."""
    good, quiet = charts.DOMAIN_COLOURS["chat"], charts.DOMAIN_COLOURS["other"]
    figure = charts.bars(
        lengths,
        unit="tokens per round",
        colours=[quiet if name in ("plain", "prompt lookup") else good for name in lengths],
        texts=[f"{length:.2f}  ·  {speeds[name]:,.0f} tokens/s" for name, length in lengths.items()],
    )
    # Room for the speeds, which stand outside the bars.
    figure.update_xaxes(range=[0, max(lengths.values(), default=1.0) * 1.5])
    return figure
