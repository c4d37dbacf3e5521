"""Under which settings a row is looked at: the recipe's to begin with; what differs from them stands in the address bar."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, replace

import streamlit as st

from core.chat import Supervision
from core.errors import MixdownError
from core.mix import Recipe, RecipeSupervision, RecipeTarget, load_recipe
from core.workspace import BUNDLED_TARGET
from pages.components import current
from pages.components.page import plain
from pages.components.planning import supervision_of

_YES_NO = {"yes": "yes", "no": "no, only read"}
CHOICES: dict[str, tuple[str, dict[str, str]]] = {
    "supervise": (
        "Train on",
        {"sampled": "what the target samples", "boundary": "all past the boundary", "content": "all after the header"},
    ),
    "thinking": ("Thinking", {"auto": "as the row has it", "on": "always on", "off": "always off", "default": "the template's default"}),
    "layout": (
        "Training rows",
        {"auto": "what fits the template", "turn": "one per assistant turn", "conversation": "one per conversation"},
    ),
    "turns": (
        "Assistant turns",
        {
            "after_user": "all after the first user",
            "all": "all",
            "last": "only the last",
            "flagged": "those the data do not flag off",
        },
    ),
    "reasoning": ("Train on reasoning", _YES_NO),
    "tool_calls": ("Train on tool calls", _YES_NO),
    "special_tokens": ("Special tokens in text", {"quarantine": "leave the row out", "as_text": "encode as ordinary text"}),
    "overlong": (
        "Rows over the limit",
        {"truncate": "cut at the end", "drop": "leave out", "keep_last_turns": "drop earliest turns"},
    ),
}
"""Field of `Supervision` → its label and what each value is called."""
_FLAGS = frozenset({"reasoning", "tool_calls"})
_LENGTH = "seq_length"
_OTHER = "another folder or hub id"


def choose_supervision(recipe: Recipe) -> Supervision:
    """Draw the choices, beginning with the recipe's; other ones can be tried here and taken into the recipe."""
    saved = supervision_of(recipe)
    place = st.container()
    asked = _differing(saved, "")
    with place.expander(f"Settings: {in_words(asked, saved)}", icon=":material/rule:", key="settings", bind="query-params"):
        chosen = _fields(saved, "", recipe.name)
        if chosen == saved:
            st.caption(f"These settings stand in the recipe {plain(recipe.name)}.")
        elif st.button("Take these settings into the recipe", icon=":material/save:"):
            current.save(recipe.model_copy(update={"supervision": RecipeSupervision(**asdict(chosen))}))
            for field in asdict(saved):
                st.query_params.pop(field, None)
            st.rerun()
    return chosen


def choose_other(recipe: Recipe, chosen: Supervision) -> tuple[RecipeTarget, Supervision]:
    """Draw the target and the settings to compare with. To begin with they differ in one thing, so that there is something to see."""
    begin = replace(chosen, supervise="content" if chosen.supervise != "content" else "sampled")
    with st.expander("Compare with", expanded=True, icon=":material/compare:"):
        target = _other_target(recipe)
        supervision = _fields(begin, "b_", f"{recipe.name}-{chosen}")
    return target, supervision


def in_words(chosen: Supervision, saved: Supervision) -> str:
    """The settings in a few words: what differs from the recipe's, else what matters most."""
    differing = what_differs(chosen, saved)
    if differing:
        return f"{'; '.join(differing)} (not in the recipe)"
    return f"train on {_called('supervise', chosen.supervise)}, thinking {_called('thinking', chosen.thinking)}, the recipe's"


def what_differs(chosen: Supervision, saved: Supervision) -> list[str]:
    """Each setting that is another than in `saved`, in words."""
    fields = [field for field in CHOICES if getattr(chosen, field) != getattr(saved, field)]
    differing = [f"{CHOICES[field][0].lower()}: {_called(field, getattr(chosen, field))}" for field in fields]
    if chosen.seq_length != saved.seq_length:
        differing.append(f"limit {chosen.seq_length:,} tokens")
    return differing


def _called(field: str, value: object) -> str:
    return CHOICES[field][1][_option(value)]


def _option(value: object) -> str:
    return {True: "yes", False: "no"}.get(value, str(value)) if isinstance(value, bool) else str(value)


def _differing(begin: Supervision, prefix: str) -> Supervision:
    """The settings that the widgets hold, or before they are drawn those that the address bar asks for."""
    values: dict[str, object] = {}
    for field, (_, options) in CHOICES.items():
        asked = st.query_params.get(prefix + field, "")
        if asked in options:
            values[field] = asked == "yes" if field in _FLAGS else asked
    length = st.query_params.get(prefix + _LENGTH, "")
    if length.isascii() and length.isdigit() and 8 <= int(length) <= 10_000_000:
        values[_LENGTH] = int(length)
    return replace(begin, **values)  # type: ignore[arg-type]  # the values were checked against the choices


def _fields(begin: Supervision, prefix: str, of: str) -> Supervision:
    """Draw one widget per setting; returns what they hold and writes to the address bar what differs from `begin`."""
    asked = _differing(begin, prefix)
    chosen = begin
    columns = st.columns(3)
    for place, (field, (label, options)) in enumerate(CHOICES.items()):
        picked = columns[place % 3].selectbox(
            label,
            list(options),
            index=list(options).index(_option(getattr(asked, field))),
            format_func=options.__getitem__,
            key=f"{prefix}{field}-{of}-{getattr(begin, field)}",
            on_change=_keep,
            args=(prefix, field, f"{prefix}{field}-{of}-{getattr(begin, field)}", _option(getattr(begin, field))),
        )
        chosen = replace(chosen, **{field: picked == "yes" if field in _FLAGS else picked})
    key = f"{prefix}{_LENGTH}-{of}-{begin.seq_length}"
    length = columns[2].number_input(
        "Sequence limit (tokens)",
        min_value=8,
        max_value=10_000_000,
        value=asked.seq_length,
        step=256,
        key=key,
        on_change=_keep,
        args=(prefix, _LENGTH, key, str(begin.seq_length)),
    )
    return replace(chosen, seq_length=int(length))


def _keep(prefix: str, field: str, key: str, begin: str) -> None:
    """Write a changed setting to the address bar, or take it out where it is back to where it began."""
    value = str(st.session_state[key])
    if value == begin:
        st.query_params.pop(prefix + field, None)
    else:
        st.query_params[prefix + field] = value


def _other_target(recipe: Recipe) -> RecipeTarget:
    known = _known_targets(recipe)
    label = st.selectbox("Target", [*known, _OTHER], key="b_target", bind="query-params", format_func=_plainly(known))
    if label != _OTHER:
        return known[label]
    typed = st.text_input("Folder or hub id", key="b_other_target", placeholder="/models/my-model").strip()
    return RecipeTarget(path=typed) if typed else recipe.target


def _plainly(known: dict[str, RecipeTarget]) -> Callable[[str], str]:
    first = next(iter(known))
    return lambda label: f"{label} (the recipe's)" if label == first else label


def _known_targets(recipe: Recipe) -> dict[str, RecipeTarget]:
    """The recipe's own target first, then those of the other recipes and the one that ships; a link can name only these."""
    targets = [recipe.target]
    for name in current.recipe_names():
        # A recipe that somebody broke is told of where it is chosen.
        with suppress(MixdownError):
            targets.append(load_recipe(current.workspace().recipe(name)).target)
    targets.append(RecipeTarget(path=str(BUNDLED_TARGET)))
    known: dict[str, RecipeTarget] = {}
    for target in targets:
        if target not in known.values():
            known[called(target)] = target
    return known


def called(target: RecipeTarget) -> str:
    """A target as a person tells it from others: its name, and the template and arguments that are not its own."""
    parts = [current.target_label(target.path)]
    if target.template:
        parts.append(target.template.rsplit("/", 1)[-1])
    return ", ".join([*parts, *(f"{name}={value}" for name, value in sorted(target.args.items()))])
