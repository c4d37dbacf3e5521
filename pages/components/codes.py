"""What the names of repairs and of reasons mean, and the switches that say what to do about each.

The sentences are those of `core.dialects.CODES`; there are no others.
"""

import html
from collections.abc import Iterable, Mapping

import streamlit as st

from core.dialects import CODES, EXCLUSIONS
from pages.components.numbers import plural


def sentence(code: str) -> str:
    """What a repair, a reason or an exclusion means; empty for one that carries its own detail."""
    known = CODES.get(code)
    return known.sentence if known else EXCLUSIONS.get(code, "")


def switches(codes: Mapping[str, int], chosen: Mapping[str, str], *, key: str) -> dict[str, str]:
    """A row per code with its sentence and what can be done about it; returns what differs from the default of its code.

    `codes` are code → rows it touched, `chosen` what is switched now; a code with one possibility says so instead of asking.
    """
    wanted: dict[str, str] = {}
    for code, amount in codes.items():
        known = CODES.get(code)
        if known is None:
            continue
        words, choice = st.columns([3, 1.5], vertical_alignment="center")
        words.html(
            f'<div class="md-code"><b>{html.escape(code)}</b> <span class="md-quiet">{plural(amount, "row")}</span>'
            f"<div>{html.escape(known.sentence)}</div></div>"
        )
        if len(known.actions) == 1:
            choice.html('<div class="md-quiet">always quarantined: there is nothing to go by</div>')
            continue
        action = choice.segmented_control(
            code,
            known.actions,
            default=chosen.get(code, known.default),
            required=True,
            key=switch_key(key, code),
            label_visibility="collapsed",
        )
        if action is not None and action != known.default:
            wanted[code] = action
    return wanted


def switch_key(key: str, code: str) -> str:
    """The widget that switches a code."""
    return f"switch-{key}-{code}"


def repairable(codes: Iterable[str]) -> list[str]:
    """Those that can be repaired and are not by themselves."""
    return [code for code in codes if code in CODES and "repair" in CODES[code].actions]
