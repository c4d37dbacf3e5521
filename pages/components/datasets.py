"""The datasets of the workspace as the screens need them: which there are, and which one a recipe has made."""

from dataclasses import dataclass
from pathlib import Path

import streamlit as st

from core.errors import MixdownError
from core.mix import Recipe
from core.tokens import LengthHistogram, Manifest, length_histogram, share_histogram
from pages.components import current


@dataclass(frozen=True)
class Dataset:
    """A folder with its manifest; `made_at` is when it was finished, seconds since the epoch."""

    folder: Path
    manifest: Manifest
    made_at: float

    @property
    def name(self) -> str:
        """The folder's name."""
        return self.folder.name


def datasets() -> list[Dataset]:
    """All whole datasets, newest first; folders that are none are left out."""
    folder = current.workspace().datasets
    if not folder.is_dir():
        return []
    found = []
    for path in folder.iterdir():
        if path.name.startswith(".") or not (path / "manifest.json").is_file():
            continue
        try:
            found.append(Dataset(path, Manifest.load(path), (path / "manifest.json").stat().st_mtime))
        except MixdownError:
            continue
    return sorted(found, key=lambda dataset: (-dataset.made_at, dataset.name))


@st.cache_data(max_entries=20, show_spinner=False)
def lengths(folder: Path, made_at: float) -> LengthHistogram:  # noqa: ARG001  the time is part of the cache's key
    """How long the rows of a dataset are."""
    return length_histogram(folder)


@st.cache_data(max_entries=20, show_spinner=False)
def shares(folder: Path, made_at: float) -> tuple[int, ...]:  # noqa: ARG001  as above
    """How many rows have which trainable share, in equal parts of 0 to 1."""
    return share_histogram(folder)


def dataset_name(recipe: Recipe) -> str:
    """What the dataset of a recipe is called: the same recipe, the same name."""
    return f"{recipe.name}-{recipe.digest[:6]}"
