"""What the target accepts from a drafter: the one number, before and after, where it is good and where not, and that nothing was lost."""

from typing import Any

import streamlit as st

from pages.components import charts
from pages.components.acceptance_charts import sources_and_shares, ways
from pages.components.curves import training_curves
from pages.components.datasets import datasets
from pages.components.drafters import Drafter
from pages.components.measuring import measuring
from pages.components.numbers import count, duration
from pages.components.page import checks, plain
from pages.components.rounds import rounds
from pages.components.suggestion import suggestion


def acceptance_report(drafter: Drafter, *, busy: bool = False) -> None:
    """Draw the report of one drafter; `busy`: something trains or measures at the moment, so nothing is to be started."""
    st.subheader(drafter.name, anchor=False)
    after = drafter.after
    if after is None:
        other = drafter.training.get("algorithm", "dflash")
        st.info(
            "This drafter was trained without being measured." if other == "dflash" else f"{other} drafters cannot be measured here.",
            icon=":material/info:",
        )
    else:
        _headline(after, drafter.before)
        _sources(drafter, after)
        suggestion(drafter)
        _survival(after)
        _ways(after)
        rounds(drafter, after)
    if not busy and drafter.training.get("algorithm", "dflash") == "dflash":
        measuring(drafter)
    if drafter.run is not None:
        with st.expander("Training curves", icon=":material/show_chart:"):
            training_curves(drafter.run)
    _about(drafter)


def _headline(after: dict[str, Any], before: dict[str, Any] | None) -> None:
    start = f'<span class="before">{before["acceptance_length"]:.2f} →</span>' if before else ""
    st.html(
        f'<div class="md-big">{start}<span class="after" data-testid="acceptance-length">{after["acceptance_length"]:.2f}</span>'
        '<span class="md-sentence" style="margin:0">tokens per round, '
        f"{'untrained and trained, ' if before else ''}on {count(after['prompts'])} prompts held out from training</span></div>"
    )
    plain_speed, fast = after["plain_tokens_per_second"], after["tokens_per_second"]
    same = (
        f"the output equals plain greedy decoding, token by token, on all {count(after['prompts'])} prompts"
        if after["lossless"]
        else f"the output differs from plain greedy decoding on {count(after['mismatches'])} of {count(after['prompts'])} prompts"
    )
    speed = f"{count(fast)} tokens per second here, {count(plain_speed)} without the drafter ({fast / max(plain_speed, 1e-9):.1f} times)"
    theirs = after.get("transformers_tokens_per_second")
    if theirs and theirs != plain_speed:
        speed += f", {count(theirs)} as transformers decodes it"
    said: list[tuple[bool | None, str]] = [(bool(after["lossless"]), same), (None, speed)]
    modes = after.get("by_thinking") or {}
    if len(modes) > 1:
        said.append((None, "with thinking " + ", ".join(f"{mode}: {value:.2f}" for mode, value in modes.items()) + " tokens per round"))
    checks(said)


def _sources(drafter: Drafter, after: dict[str, Any]) -> None:
    overall = drafter.before["acceptance_length"] if drafter.before else 1.0
    before = drafter.before["by_source"] if drafter.before else {}
    domains, shares = _mix(drafter)
    ranked = sorted(after["by_source"].items(), key=lambda item: item[1])
    names = [name for name, _ in ranked]
    st.markdown("**By source, the worst first**")
    charts.show(
        sources_and_shares(
            names,
            [before.get(name, overall) for name in names],
            [value for _, value in ranked],
            [shares.get(name) for name in names],
            [charts.domain_colour(domains.get(name, "other")) for name in names],
        ),
        key="by-source",
        height=70 + 30 * len(names),
        alt="Acceptance length by source, and the source's share in the mix",
    )
    st.caption(f"The mark is the untrained drafter. Training took {duration(drafter.training.get('seconds'))}.")


def _survival(after: dict[str, Any]) -> None:
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
        shares = {str(tokens): amount / total for tokens, amount in enumerate(after["histogram"], 1)}
        charts.show(
            charts.columns(shares, x_title="tokens in a round", y_title="rounds"),
            key="rounds",
            height=250,
            alt="Rounds by the number of tokens they gave",
        )


def _ways(after: dict[str, Any]) -> None:
    """Chain, trees and prompt lookup beside plain decoding, where more than the chain was measured."""
    found: dict[str, dict[str, Any]] = {"chain": after}
    found |= {f"tree of {budget}": way for budget, way in (after.get("trees") or {}).items()}
    if after.get("prompt_lookup"):
        found["prompt lookup"] = after["prompt_lookup"]
    if sampled := after.get("sampled"):
        found[f"chain at temperature {sampled['temperature']:g}"] = sampled
    if len(found) < 2:
        return
    lengths = {"plain": 1.0} | {name: way["acceptance_length"] for name, way in found.items()}
    speeds = {"plain": after["plain_tokens_per_second"]} | {name: way["tokens_per_second"] for name, way in found.items()}
    st.markdown("**Ways to draft**")
    charts.show(ways(lengths, speeds), key="ways", height=60 + 32 * len(lengths), alt="Tokens per round of each way to draft")


def _about(drafter: Drafter) -> None:
    """Where it lies, what was written beside it, and how a server loads it."""
    with st.expander("Checkpoints and serving", icon=":material/folder:"):
        kept = sorted(path.name for path in drafter.folder.glob("checkpoints/*") if path.is_dir() and not path.is_symlink())
        kept += [path.name for path in (drafter.folder / "best",) if path.is_dir()]
        more = f"; earlier checkpoints: {', '.join(kept)}" if kept else ""
        st.caption(plain(f"{drafter.folder}: config.json and model.safetensors in the format of speculators{more}"))
        target = str(drafter.training.get("target", "TARGET"))
        tokens = int(drafter.training.get("settings", {}).get("block_size", 8)) - 1
        config = f'{{"model": "{drafter.folder}", "num_speculative_tokens": {tokens}, "method": "dflash"}}'
        st.code(f"vllm serve {target} --speculative-config '{config}'", language="sh", wrap_lines=True)
        st.code(
            f"python -m sglang.launch_server --model-path {target} --speculative-algorithm DFLASH "
            f"--speculative-draft-model-path {drafter.folder}",
            language="sh",
            wrap_lines=True,
        )
        st.caption(
            "Proven: speculators' own DFlashDraftModel loads these files with equal logits. Not tried here: the two servers themselves."
        )


def _mix(drafter: Drafter) -> tuple[dict[str, str], dict[str, float]]:
    """Domain and share (of conversations trained on) of each source, from the dataset it was trained on where that is still there."""
    known = datasets()
    domains = {name: str(facts.get("domain") or "other") for dataset in reversed(known) for name, facts in dataset.manifest.sources.items()}
    trained_on = next((dataset for dataset in known if str(dataset.folder) == drafter.training.get("data")), None)
    if trained_on is None:
        return domains, {}
    rows = {name: int(facts.get("conversations", 0)) for name, facts in trained_on.manifest.sources.items()}
    total = sum(rows.values()) or 1
    return domains, {name: amount / total for name, amount in rows.items()}
