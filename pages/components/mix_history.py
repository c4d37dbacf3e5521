"""Named recipes: every version that was saved, what differs between two, copies, files in and out, and the same as a command."""

import shlex

import streamlit as st

from core.errors import MixdownError
from core.mix import (
    Recipe,
    Version,
    difference,
    parse_recipe,
    recipe_text,
    recipe_version,
    recipe_versions,
    restore_recipe,
    save_recipe_text,
)
from core.workspace import BUNDLED_RECIPES
from pages.components import current
from pages.components.mix_draft import Draft
from pages.components.numbers import moment, plural
from pages.components.page import fail, plain
from pages.components.sidebar import SWITCH

_SCREEN = "as on screen"


def history_section(draft: Draft) -> None:
    """Draw the versions and a difference of two."""
    try:
        versions = recipe_versions(current.workspace(), draft.saved.name)
    except MixdownError as error:
        fail(error)
        return
    left, right = st.columns([1, 1.2], gap="large")
    with left:
        _versions(draft, versions)
    with right:
        _difference(draft, versions)


def _versions(draft: Draft, versions: list[Version]) -> None:
    name = draft.saved.name
    rows = [
        {
            "Version": version.number,
            "Saved": moment(version.saved_at),
            "Changes": version.changes,
            "Hash": (version.digest or "unreadable")[:12],
        }
        for version in versions
    ]
    st.dataframe(rows, hide_index=True, height=min(300, 38 + 35 * len(rows)))
    older = [version.number for version in versions[1:] if version.digest is not None]
    if older:
        with st.container(horizontal=True, vertical_alignment="bottom"):
            number = st.selectbox("Older version", older, key=f"mix-older-{name}", width=150)

            def restore() -> None:
                try:
                    restore_recipe(current.workspace(), name, int(number))
                except MixdownError as error:
                    draft.refused = str(error)

            st.button(f"Make version {number} the newest again", key=f"mix-restore-{name}", on_click=restore, disabled=draft.changed)


def _difference(draft: Draft, versions: list[Version]) -> None:
    name = draft.saved.name
    there = {
        **({_SCREEN: (None, None)} if draft.changed else {}),
        **{f"{name}, version {version.number}": (name, version.number) for version in versions if version.digest is not None},
        **{other: (other, None) for other in current.recipe_names() if other != name},
    }
    names = list(there)
    if len(names) < 2:
        st.caption("There is one version of one recipe; save another to see what differs.")
        return
    one_place, other_place = st.columns(2)
    one = one_place.selectbox("From", names, index=1, key=f"mix-from-{name}-{len(versions)}-{draft.changed}")
    other = other_place.selectbox("To", names, index=0, key=f"mix-to-{name}-{len(versions)}-{draft.changed}")
    try:
        lines = difference(_named(draft, *there[one]), _named(draft, *there[other]))
    except MixdownError as error:
        fail(error)
        return
    st.code("\n".join(lines) or "They ask for the same.", language=None)


def _named(draft: Draft, name: str | None, number: int | None) -> Recipe:
    return draft.recipe if name is None else recipe_version(current.workspace(), name, number)


def files_section(draft: Draft) -> None:
    """Draw copies, import, export and the command."""
    left, right = st.columns([1, 1.2], gap="large")
    with left:
        _copy(draft)
        _import()
    with right:
        text = _text(draft)
        st.download_button(
            "Download as TOML",
            text,
            file_name=f"{draft.saved.name}.toml",
            mime="application/toml",
            icon=":material/download:",
            on_click="ignore",
            key="mix-export",
        )
        st.caption("The same on the command line:")
        st.code(command(draft, text), language="bash", wrap_lines=False, height=240 if draft.changed else None)


def _text(draft: Draft) -> str:
    """The recipe on screen with the comments of its file."""
    try:
        before = current.workspace().recipe(draft.saved.name).read_text(encoding="utf-8")
    except OSError:
        before = None
    return recipe_text(draft.recipe, before)


def command(draft: Draft, text: str) -> str:
    """Lines for a shell that plan and tokenize what is on screen; a recipe that is not saved is written to a file first."""
    home = f" --home {shlex.quote(str(current.workspace().home))}"
    name = draft.saved.name
    out = f"--out {shlex.quote(str(current.workspace().dataset(f'{name}-{draft.recipe.digest[:6]}')))}"
    if not draft.changed:
        return f"mixdown plan {name}{home}\nmixdown tokenize {name} {out}{home}"
    file = f"{name}.toml"
    return f"cat > {file} <<'MIXDOWN'\n{text.rstrip()}\nMIXDOWN\nmixdown plan {file}{home}\nmixdown tokenize {file} {out}{home}"


def _copy(draft: Draft) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        key = f"mix-copy-{draft.saved.name}"
        name = st.text_input("Save under another name", value=_free(draft.saved.name), key=key)
        if st.button("Save a copy", key=f"{key}-go"):
            try:
                text = recipe_text(parse_recipe(_text(draft)).model_copy(update={"name": name.strip()}), _text(draft))
                _take(save_recipe_text(current.workspace(), text))
            except (MixdownError, ValueError):
                st.error("A name has letters, digits, dots, dashes and underscores only.")


def _free(name: str) -> str:
    taken = set(current.recipe_names())
    return next(free for number in range(2, 1000) if (free := f"{name}-{number}") not in taken)


def _import() -> None:
    given = st.file_uploader("Import a recipe", type=["toml"], key="mix-import")
    if given is not None:
        _offer(given.getvalue().decode("utf-8", "replace"), given.name)
    shipped = sorted(path.stem for path in BUNDLED_RECIPES.glob("*.toml"))
    if shipped:
        with st.container(horizontal=True, vertical_alignment="bottom"):
            example = st.selectbox("An example that ships", shipped, key="mix-example", width=200)
            if st.button("Take it", key="mix-example-go"):
                text = (BUNDLED_RECIPES / f"{example}.toml").read_text(encoding="utf-8")
                _take(save_recipe_text(current.workspace(), text, example))


def _offer(text: str, where: str) -> None:
    try:
        recipe = parse_recipe(text, where)
    except MixdownError as error:
        fail(error)
        return
    there = recipe.name in current.recipe_names()
    missing = [entry.name for entry in recipe.sources if entry.name not in current.library().names()]
    st.caption(
        plain(
            f"{recipe.name}: {plural(len(recipe.sources), 'source')}"
            + (f", of which {', '.join(missing)} {'is' if len(missing) == 1 else 'are'} not imported here" if missing else "")
            + (f"; becomes the newest version of {recipe.name}" if there else "")
            + ". Its comments are kept."
        )
    )
    if st.button(f"Import {recipe.name}", icon=":material/upload:", key="mix-import-go"):
        _take(save_recipe_text(current.workspace(), text, where))


def _take(recipe: Recipe) -> None:
    st.session_state[SWITCH] = recipe.name
    st.rerun()
