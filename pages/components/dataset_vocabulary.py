"""Which tokens a dataset trains on most, and what a smaller draft vocabulary would cover."""

from pathlib import Path

import streamlit as st

from core.errors import MixdownError
from core.mix import Recipe
from core.tokens import coverage, read_frequencies
from pages.components import charts
from pages.components.datasets import Dataset
from pages.components.numbers import count, percent
from pages.components.page import figures
from pages.components.planning import target_of

_POINTS = 24
"""Points of the coverage curve, each a quarter octave below the next, the last at every token that is supervised at all."""
_MOST = 20
"""Tokens shown by name."""


def vocabulary(dataset: Dataset) -> None:
    """Draw both, and the command that writes the mappings of the chosen size."""
    frequencies = _frequencies(dataset.folder, dataset.made_at)
    left, right = st.columns(2, gap="large")
    with left:
        _coverage(dataset, frequencies)
    with right:
        _frequent(dataset, frequencies)


def _coverage(dataset: Dataset, frequencies: dict[int, int]) -> None:
    st.markdown("**What a smaller draft vocabulary would cover**")
    if not frequencies:
        return
    sizes = sorted({max(1, round(len(frequencies) * 2 ** (-step / 4))) for step in range(_POINTS)})
    begin = next((size for size in sizes if size * 2 >= len(frequencies)), sizes[-1])
    size = st.select_slider("Draft vocabulary", sizes, value=begin, format_func=count, key=f"draft-vocabulary-{dataset.name}")
    [share] = coverage(frequencies, [size])
    figures([(count(size), "draft tokens"), (percent(share, 2), "of supervised tokens covered")])
    figure = charts.curve(sizes, {"covered": coverage(frequencies, sizes)}, x_title="tokens in the draft vocabulary", y_title="covered")
    figure.add_vline(x=size, line={"color": charts.TROUBLE, "width": 2, "dash": "dash"})
    figure.update_yaxes(tickformat=".0%", range=[0, 1.05])
    figure.update_xaxes(rangemode="tozero")
    charts.show(figure, key="dataset-coverage", height=260, alt="Share of supervised tokens that a draft vocabulary of each size covers")
    st.caption(f"{count(len(frequencies))} different tokens are supervised at least once.")
    st.code(f"mixdown vocabulary {dataset.folder} --size {size} --out {dataset.name}-{size}", language="sh", wrap_lines=True)


def _frequent(dataset: Dataset, frequencies: dict[int, int]) -> None:
    st.markdown("**The tokens trained on most**")
    most = sorted(frequencies.items(), key=lambda item: (-item[1], item[0]))[:_MOST]
    total = sum(frequencies.values())
    try:
        target = target_of(Recipe.model_validate(dataset.manifest.recipe))
    except MixdownError:
        names = {token: f"id {token}" for token, _ in most}
    else:
        names = {token: f"{_shown(target.encoder.token(token))}  {token}" for token, _ in most}
    figure = charts.bars(
        {names[token]: 100 * number / total for token, number in most},
        unit="% of supervised tokens",
        texts=[f"{number / total:.2%}" for _, number in most],
    )
    charts.show(figure, key="dataset-frequent", height=60 + 22 * len(most), alt="The most frequent supervised tokens")


def _shown(text: str) -> str:
    """A token's text on one line, its white space visible; markup of the chart's labels is taken out."""
    marked = text.replace("\n", "⏎").replace("\t", "⇥").replace(" ", "·")
    return "".join(character if character.isprintable() else "�" for character in marked).replace("<", "‹").replace(">", "›")[:24]


@st.cache_data(max_entries=20, show_spinner=False)
def _frequencies(folder: Path, made_at: float) -> dict[int, int]:  # noqa: ARG001  the time is part of the cache's key
    return read_frequencies(folder / "token_freq.pt")
