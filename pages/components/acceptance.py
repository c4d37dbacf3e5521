"""What the target accepts from a drafter: the one number, before and after, where it is good and where not, and that nothing was lost."""

from typing import Any

import streamlit as st

from pages.components import charts
from pages.components.curves import training_curves
from pages.components.datasets import datasets
from pages.components.drafters import Drafter
from pages.components.numbers import count, duration
from pages.components.page import checks


def acceptance_report(drafter: Drafter) -> None:
    """Draw the report of one drafter."""
    st.subheader(drafter.name, anchor=False)
    after = drafter.after
    if after is None:
        st.info("This drafter was trained without being measured.", icon=":material/info:")
    else:
        _headline(after, drafter.before)
        _sources(drafter, after)
        left, right = st.columns(2)
        with left:
            st.markdown("**How far drafts survive**")
            shares = {str(place): share for place, share in enumerate(after["by_position"], 1)}
            charts.show(
                charts.columns(shares, x_title="place in the draft block", y_title="rounds that accept it"),
                key="survival",
                height=250,
                alt="Share of rounds in which each place of the block was accepted",
            )
        with right:
            st.markdown("**What a round gives**")
            total = sum(after["histogram"]) or 1
            shares = {str(tokens): rounds / total for tokens, rounds in enumerate(after["histogram"], 1)}
            charts.show(
                charts.columns(shares, x_title="tokens in a round", y_title="rounds"),
                key="rounds",
                height=250,
                alt="Rounds by the number of tokens they gave",
            )
    if drafter.run is not None:
        with st.expander("Training curves"):
            training_curves(drafter.run)


def _headline(after: dict[str, Any], before: dict[str, Any] | None) -> None:
    start = f'<span class="before">{before["acceptance_length"]:.2f} →</span>' if before else ""
    st.html(
        f'<div class="md-big">{start}<span class="after" data-testid="acceptance-length">{after["acceptance_length"]:.2f}</span>'
        '<span class="md-sentence" style="margin:0">tokens per round, '
        f"{'untrained and trained, ' if before else ''}on {count(after['prompts'])} prompts held out from training</span></div>"
    )
    plain, fast = after["plain_tokens_per_second"], after["tokens_per_second"]
    same = (
        f"the output equals plain greedy decoding, token by token, on all {count(after['prompts'])} prompts"
        if after["lossless"]
        else f"the output differs from plain greedy decoding on {count(after['mismatches'])} of {count(after['prompts'])} prompts"
    )
    checks(
        [
            (bool(after["lossless"]), same),
            (None, f"{count(fast)} tokens per second here, {count(plain)} without the drafter ({fast / max(plain, 1e-9):.1f} times)"),
        ]
    )


def _sources(drafter: Drafter, after: dict[str, Any]) -> None:
    overall = drafter.before["acceptance_length"] if drafter.before else 1.0
    before = drafter.before["by_source"] if drafter.before else {}
    domains = _domains()
    ranked = sorted(after["by_source"].items(), key=lambda item: item[1])
    names = [name for name, _ in ranked]
    st.markdown("**By source, the worst first**")
    charts.show(
        charts.before_and_after(
            names,
            [before.get(name, overall) for name in names],
            [value for _, value in ranked],
            [charts.domain_colour(domains.get(name, "other")) for name in names],
            unit="tokens per round",
        ),
        key="by-source",
        height=70 + 30 * len(names),
        alt="Acceptance length by source",
    )
    st.caption(f"The mark is the untrained drafter. Training took {duration(drafter.training.get('seconds'))}.")


def _domains() -> dict[str, str]:
    return {
        name: str(facts.get("domain") or "other") for dataset in reversed(datasets()) for name, facts in dataset.manifest.sources.items()
    }
