"""Where things stand in a workspace folder. It knows names and paths, not what the files hold."""

import os
import re
from dataclasses import dataclass
from pathlib import Path

from core.errors import InputError

BUNDLED = Path(__file__).resolve().parent.parent / "data"
"""What ships with Mixdown: sample sources in their raw dialects and the demo target."""

BUNDLED_TARGET = BUNDLED / "target"

BUNDLED_RECIPES = BUNDLED / "recipes"
"""Example recipes, one TOML file each."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


class BadName(InputError):
    """A name that cannot be a folder or file name in a workspace."""


def checked_name(name: str) -> str:
    """The name itself, when it can safely be a folder name on every system; raises `BadName` otherwise."""
    if not _NAME.fullmatch(name):
        raise BadName(f"{name!r} cannot be a name: use letters, digits, '.', '_' and '-', beginning with a letter or digit.")
    return name


@dataclass(frozen=True)
class Workspace:
    """A folder with everything one person or team works on."""

    home: Path

    @classmethod
    def at(cls, home: str | Path | None = None) -> "Workspace":
        """The workspace at `home`, else at `$MIXDOWN_HOME`, else `~/.mixdown`. Makes no folder yet."""
        chosen = home or os.environ.get("MIXDOWN_HOME") or Path.home() / ".mixdown"
        return cls(Path(chosen).expanduser().resolve())

    @property
    def sources(self) -> Path:
        """Imported sources, one folder each."""
        return self.home / "sources"

    @property
    def downloads(self) -> Path:
        """Files of hub data sets, as they were fetched."""
        return self.home / "downloads"

    @property
    def recipes(self) -> Path:
        """Recipes, one TOML file each."""
        return self.home / "recipes"

    @property
    def duplicates(self) -> Path:
        """Groups of duplicates among sources, as far as they were looked for."""
        return self.home / "duplicates"

    @property
    def benchmarks(self) -> Path:
        """Where benchmarks of the hub that mixes are checked against were fetched to."""
        return self.home / "benchmarks"

    @property
    def datasets(self) -> Path:
        """Tokenized datasets, one folder each."""
        return self.home / "datasets"

    @property
    def drafters(self) -> Path:
        """Trained drafters, one folder each."""
        return self.home / "drafters"

    @property
    def runs(self) -> Path:
        """Background runs, one folder each."""
        return self.home / "runs"

    def source(self, name: str) -> Path:
        """The folder of one imported source."""
        return self.sources / checked_name(name)

    def recipe(self, name: str) -> Path:
        """The file of one recipe."""
        return self.recipes / f"{checked_name(name)}.toml"

    def dataset(self, name: str) -> Path:
        """The folder of one dataset."""
        return self.datasets / checked_name(name)

    def drafter(self, name: str) -> Path:
        """The folder of one drafter."""
        return self.drafters / checked_name(name)
