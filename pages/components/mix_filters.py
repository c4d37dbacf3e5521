"""What a row must be to be used: filters for all sources, a domain or one source, each with what it removes and ten such rows."""

import html
from typing import Any

import streamlit as st
from pydantic import ValidationError

from core.errors import MixdownError
from core.mix import Filters, Recipe, Removed, checks_of, removed_by, without_waiting
from core.sources import DOMAINS, Library, Source
from core.tokens import row_tokens
from pages.components import current
from pages.components.mix_draft import Draft
from pages.components.numbers import count, percent
from pages.components.page import plain
from pages.components.planning import waiting_of
from pages.components.visible import escaped

_ALL = "all sources"
_YES_NO = {None: "either", True: "only with", False: "only without"}
_FINISHES = {"complete": "complete", "call": "with a tool call", "cut": "cut off", "empty": "empty"}
_LANGUAGES = ("en", "de", "fr", "es", "it", "pt", "nl", "pl", "ru", "uk", "tr", "ar", "hi", "zh", "ja", "ko", "vi", "und")


def filters_section(draft: Draft) -> None:
    """Draw the form and the effect of every rule."""
    library = current.library()
    domains = {library.source(entry.name).domain or "other" for entry in draft.recipe.sources}
    scopes = [_ALL, *(domain for domain in DOMAINS if domain in domains), *(entry.name for entry in draft.recipe.sources)]
    labels = dict.fromkeys(domains, "domain ")
    scope = st.selectbox(
        "Filters for",
        range(len(scopes)),
        format_func=lambda at: (
            f"{labels.get(scopes[at], '') if at <= len(domains) else ''}{scopes[at]}{_marked(draft.recipe, scopes[at], at, len(domains))}"
        ),
        key=f"mix-filter-scope-{draft.saved.name}",
        width=340,
    )
    kind = "all" if scope == 0 else "domain" if scope <= len(domains) else "source"
    _form(draft, kind, scopes[scope])
    _effects(draft.recipe, library)


def _marked(recipe: Recipe, scope: str, at: int, domains: int) -> str:
    kind = "all" if at == 0 else "domain" if at <= domains else "source"
    return " (set)" if _filters(recipe, kind, scope).asks else ""


def _filters(recipe: Recipe, kind: str, scope: str) -> Filters:
    if kind == "all":
        return recipe.filters
    if kind == "domain":
        return recipe.domain_filters.get(scope, Filters())
    entry = recipe.source(scope)
    return entry.filters if entry else Filters()


def _form(draft: Draft, kind: str, scope: str) -> None:
    said = _filters(draft.recipe, kind, scope)

    def take(**changes: Any) -> None:
        try:
            made = Filters.model_validate(said.model_dump(exclude_defaults=True) | changes)
        except ValidationError as error:
            draft.refused = "; ".join(str(mistake["msg"]).removeprefix("Value error, ") for mistake in error.errors())
            return
        what = f"filter {', '.join(changes)} for {scope}"
        if kind == "all":
            draft.edit(what, filters=made)
        elif kind == "domain":
            kept = {domain: filters for domain, filters in draft.recipe.domain_filters.items() if domain != scope}
            draft.edit(what, domain_filters=kept | ({scope: made} if made.asks else {}))
        else:
            draft.edit_source(scope, what, filters=made)

    def widget(name: str, value: Any, convert: Any = lambda told: told) -> dict[str, Any]:
        return draft.on_change(f"filter-{kind}-{scope}-{name}", value, lambda told: take(**{name: convert(told)}))

    ranges = st.columns(6)
    for place, (name, label) in zip(
        ranges,
        (
            ("min_turns", "Turns from"),
            ("max_turns", "Turns to"),
            ("min_chars", "Characters from"),
            ("max_chars", "Characters to"),
            ("min_tokens", "Tokens from"),
            ("max_tokens", "Tokens to"),
        ),
        strict=True,
    ):
        value = getattr(said, name)
        place.number_input(label, min_value=0, value=value, step=1, placeholder="any", **widget(name, value))
    tools, reasoning, finish, languages = st.columns([1, 1, 1.6, 1.6])
    for place, name, label in ((tools, "has_tools", "Tools"), (reasoning, "has_reasoning", "Reasoning")):
        value = getattr(said, name)
        options = list(_YES_NO)
        place.selectbox(label, options, index=options.index(value), format_func=_YES_NO.__getitem__, **widget(name, value))
    ends = list(said.finish or ())
    finish.multiselect(
        "The last answer ends",
        list(_FINISHES),
        default=ends,
        format_func=_FINISHES.__getitem__,
        placeholder="anyhow",
        **widget("finish", ends, lambda told: tuple(told) or None),
    )
    spoken = list(said.languages or ())
    languages.multiselect(
        "Languages",
        sorted({*_LANGUAGES, *spoken}),
        default=spoken,
        placeholder="any",
        accept_new_options=True,
        help='ISO 639 codes; "und" where none can be told (code, very short texts).',
        **widget("languages", spoken, lambda told: tuple(told) or None),
    )
    into, out, nontext, repetition = st.columns([1.6, 1.6, 1, 1])
    for place, name, label in ((into, "match", "Must match"), (out, "no_match", "Must not match")):
        text = "\n".join(getattr(said, name))
        place.text_area(
            label,
            value=text,
            height=80,
            placeholder="a regular expression a line",
            **widget(name, text, lambda told: tuple(told.split("\n")) if told.strip() else ()),
        )
    for place, name, label, note in (
        (nontext, "max_nontext", "Symbols at most", "Share of characters that are neither letters nor digits, 0 to 1."),
        (repetition, "max_repetition", "Repetition at most", "Share of word n-grams that stood in the row before, 0 to 1."),
    ):
        value = getattr(said, name)
        place.number_input(label, 0.0, 1.0, value=value, step=0.05, placeholder="any", help=note, **widget(name, value))


def _effects(recipe: Recipe, library: Library) -> None:
    """One line per rule: rows it removes over all sources; the chosen one shows ten of them."""
    waiting = waiting_of(recipe)
    known = without_waiting(recipe, waiting)
    rules: dict[tuple[str, str], list[tuple[Source, Removed]]] = {}
    kept = 0
    for entry in sorted(known.sources, key=lambda entry: entry.name):
        source = library.source(entry.name)
        kept += source.rows
        try:
            checks = list(checks_of(known, source, row_tokens(known)))
        except MixdownError as error:
            st.error(plain(str(error)))
            return
        for removed in removed_by(checks, source):
            rules.setdefault((removed.rule, removed.scope), []).append((source, removed))
    if not rules:
        st.caption("No filter is set: every kept row may be used." if not waiting else "The filters that are set wait to be worked out.")
        return
    rows = [
        {
            "Rule": rule,
            "For": _ALL if scope == "all" else scope,
            "Rows that fail it": sum(removed.alone for _, removed in by),
            "Removed by it": sum(removed.first for _, removed in by),
            "of all": sum(removed.first for _, removed in by) / kept if kept else 0.0,
        }
        for (rule, scope), by in rules.items()
    ]
    whole = st.column_config.NumberColumn(format="localized")
    formats = {"Rows that fail it": whole, "Removed by it": whole, "of all": st.column_config.NumberColumn(format="percent")}
    gone = sum(row["Removed by it"] for row in rows)
    st.caption(
        f"{count(gone)} of {count(kept)} rows go ({percent(gone / kept if kept else 0)})."
        " A row that several rules are against counts for the first."
    )
    st.dataframe(rows, hide_index=True, height=38 + 35 * len(rows), column_config=formats)
    names = list(rules)
    place = st.selectbox(
        "Ten rows that fail",
        range(len(names)),
        format_func=lambda at: f"{names[at][0]} ({_ALL if names[at][1] == 'all' else names[at][1]})",
        key="mix-filter-shown",
        width=420,
    )
    _ten(rules[names[min(place, len(names) - 1)]])


def _ten(removed: list[tuple[Source, Removed]]) -> None:
    shown: list[str] = []
    longest = max((len(part.examples) for _, part in removed), default=0)
    for at in range(longest):  # in turn from each source
        for source, part in removed:
            if at < len(part.examples) and len(shown) < 10:
                row = part.examples[at]
                text = " ".join(str(source.texts()[row].as_py()).split())[:220]
                link = f"sources?open={source.name}&row={row}"
                shown.append(
                    f'<tr><td><a href="{link}" target="_self">{html.escape(source.name)}:{row}</a></td><td>{escaped(text)}</td></tr>'
                )
    st.html(f'<table class="md-tools md-ten">{"".join(shown)}</table>' if shown else '<div class="md-quiet">No row fails it.</div>')
