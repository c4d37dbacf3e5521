"""One source as a card: what it is, how much of it is kept, and what was quarantined and why."""

import html

import streamlit as st

from core.sources import CatalogueEntry, Ledger, Source
from pages.components.charts import TROUBLE, domain_colour
from pages.components.numbers import count, percent, plural, short
from pages.components.page import plain


def kept_bar(ledger: Ledger, domain: str) -> str:
    """HTML of one bar: kept in the domain's colour, prompt-only paler, quarantined in the colour of trouble."""
    total = ledger.read or 1
    colour = domain_colour(domain)
    parts = ((ledger.kept, colour, ""), (ledger.prompt_only, colour, "opacity:.35"), (ledger.quarantined, TROUBLE, ""))
    cells = "".join(f'<i style="width:{amount / total:.4%};background:{paint};{more}"></i>' for amount, paint, more in parts)
    return f'<div class="md-bar">{cells}</div>'


def top_reasons(ledger: Ledger, most: int = 3) -> str:
    """`unknown_role 3, empty_row 1`: the most frequent reasons first."""
    rest = f" and {len(ledger.reasons) - most} more" if len(ledger.reasons) > most else ""
    return ", ".join(f"{reason.replace('_', ' ')} {count(amount)}" for reason, amount in ledger.main_reasons(most)) + rest


def imported_card(source: Source) -> None:
    """A source of the library; its name opens it."""
    ledger, domain = source.ledger, source.domain or "other"
    share = ledger.kept / ledger.read if ledger.read else 0.0
    lines = [f"{html.escape(source.licence or 'licence unknown')} · {plural(ledger.read, 'row')}"]
    if ledger.prompt_only and not ledger.kept:
        kept = f"{plural(ledger.prompt_only, 'prompt')} without an answer, never trained on"
    else:
        kept = f"kept {percent(share)}" + (f" · {count(ledger.prompt_only)} prompts only" if ledger.prompt_only else "")
    repaired = sum(ledger.repaired.values())
    facts = [f"{plural(repaired, 'repair')}"] if repaired else []
    if ledger.quarantined:
        facts.append(f'<span class="md-trouble">{count(ledger.quarantined)} quarantined</span>: {html.escape(top_reasons(ledger))}')
    if source.problem:
        facts.insert(0, '<span class="md-trouble">under half could be used</span>')
    with st.container(border=True, height="stretch", key=f"card-{source.name}"):
        st.page_link("pages/sources.py", label=f"**{plain(source.title or source.name)}**", query_params={"open": source.name})
        st.html(
            f'<div class="md-card-body"><div class="md-card-line"><i class="md-dot" style="background:{domain_colour(domain)}"></i>'
            f"{html.escape(domain)} · {' '.join(lines)}</div>{kept_bar(ledger, domain)}"
            f'<div class="md-card-line"><b>{kept}</b></div><div class="md-card-line">{" · ".join(facts) or "nothing to repair"}</div></div>'
        )


def entry_card(entry: CatalogueEntry) -> None:
    """A source of the catalogue that was not imported; its name opens what is known of it."""
    facts = [html.escape(entry.domain), html.escape(entry.licence or "licence unknown")]
    if entry.rows:
        facts.append(f"{short(entry.rows)} rows")
    states = []
    if entry.evaluation:
        states.append('<span class="md-trouble">evaluation: do not train</span>')
    if entry.gated:
        states.append("gated: needs your acceptance")
    states.append("a sample ships with Mixdown" if entry.bundled else "on the hub" if entry.hub_id else "no place known")
    note = f"overlaps {', '.join(entry.overlaps)}" if entry.overlaps else entry.notes
    with st.container(border=True, height="stretch", key=f"card-{entry.name}"):
        st.page_link("pages/sources.py", label=f"**{plain(entry.title)}**", query_params={"entry": entry.name})
        st.html(
            f'<div class="md-card-body"><div class="md-card-line"><i class="md-dot" style="background:{domain_colour(entry.domain)}"></i>'
            f'{" · ".join(facts)}</div><div class="md-card-line">{" · ".join(states)}</div>'
            f'<div class="md-card-line md-clip">{html.escape(note)}</div></div>'
        )
