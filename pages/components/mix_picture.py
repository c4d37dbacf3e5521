"""What a plan comes to as a picture: nested shares, asked against got, totals per domain, and the licences of it all."""

import html
from collections.abc import Mapping

import streamlit as st

from core.mix import UNITS, Part, Plan, PlannedSource, Unit, Usable, mix_licences
from pages.components import charts
from pages.components.mix_rows import UNIT_WORDS
from pages.components.numbers import count, percent, short
from pages.components.page import figures


def cost(plan: Plan) -> None:
    """The whole mix in one line of figures."""
    tokens, trainable = plan.tokens, plan.trainable_tokens
    pairs = [(count(plan.total), "conversations")]
    if tokens and trainable is not None:
        about = "" if plan.tokens_error == 0 else "≈ "
        pairs += [(f"{about}{short(tokens)}", "tokens"), (f"{about}{short(trainable)}", f"trainable ({percent(trainable / tokens, 0)})")]
    figures(pairs)


def picture(plan: Plan) -> None:
    """Nested shares by domain and source, asked against got, and domain totals, all in the unit that a reader chooses."""
    unit: Unit = st.segmented_control(
        "Areas are", UNITS, default="rows", required=True, format_func=UNIT_WORDS.__getitem__, key="mix-areas", label_visibility="collapsed"
    )
    if any(part.rows and _amount(part, unit) is None for part in plan.sources):
        st.caption("Tokens are not known yet; areas are conversations.")
        unit = "rows"
    used = [part for part in plan.sources if part.rows or part.share_requested]
    charts.show(
        charts.treemap([(part.domain, part.name, _amount(part, unit) or 0) for part in used if part.rows], unit=UNIT_WORDS[unit]),
        key="mix-treemap",
        height=250,
        alt="Share of each domain and source in the mix",
    )
    _domains(used, unit)
    with st.expander("Asked and got, source by source", expanded=True, icon=":material/bar_chart:"):
        st.caption("The bar is what a source gives, the mark what its weight asks for.")
        shares = [part.shares.get(unit) for part in used]
        charts.show(
            charts.asked_and_got(
                [part.name for part in used],
                [share.requested if share else part.share_requested for part, share in zip(used, shares, strict=True)],
                [share.realised if share else part.share_realised for part, share in zip(used, shares, strict=True)],
                [charts.domain_colour(part.domain) for part in used],
            ),
            key="mix-shares",
            height=56 + 22 * len(used),
            alt="Share asked and share realised per source",
        )


def _amount(part: PlannedSource, unit: Unit) -> int | None:
    return {"rows": part.rows, "tokens": part.tokens, "trainable_tokens": part.trainable_tokens}[unit]


def _domains(used: list[PlannedSource], unit: Unit) -> None:
    totals: dict[str, int] = {}
    for part in used:
        totals[part.domain] = totals.get(part.domain, 0) + (_amount(part, unit) or 0)
    whole = sum(totals.values()) or 1
    lines = [
        f'<tr><td><i class="md-dot" style="background:{charts.domain_colour(domain)}"></i>{html.escape(domain)}</td>'
        f'<td>{short(amount)} {UNIT_WORDS[unit]}</td><td data-domain="{html.escape(domain)}">{percent(amount / whole)}</td></tr>'
        for domain, amount in sorted(totals.items(), key=lambda item: -item[1])
    ]
    st.html(f'<table class="md-totals">{"".join(lines)}</table>')


def licences(plan: Plan, usable: Mapping[str, Usable]) -> None:
    """The licences of the mix, the strictest first, and what somebody has to know before using it."""
    found = mix_licences(Part(part.name, usable[part.name].source.licence, part.rows) for part in plan.sources)
    if not found.licences:
        return
    head = {
        "no": "Licences: parts exclude commercial use",
        "unclear": "Licences: parts do not say whether commercial use is allowed",
        "conditions": "Licences: commercial use under conditions",
        "yes": "Licences: commercial use is allowed",
    }[found.commercial]
    trouble = found.commercial in ("no", "unclear")
    with st.expander(head, icon=":material/warning:" if trouble else ":material/balance:", expanded=found.commercial == "no"):
        lines = [
            f'<tr><td>{html.escape(share.licence or "none declared")}<div class="md-quiet">{html.escape(share.kind.name)}</div></td>'
            f"<td>{html.escape(', '.join(share.sources))}</td><td>{percent(share.share)}</td></tr>"
            for share in found.licences
        ]
        st.html(f'<table class="md-totals">{"".join(lines)}</table>')
        for warning in found.warnings:
            st.html(f'<div class="md-warn">{html.escape(warning)}</div>')
