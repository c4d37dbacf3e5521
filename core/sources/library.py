"""All sources that were imported into a workspace."""

from core.sources import shelf
from core.sources.catalogue import Catalogue
from core.sources.parts import DamagedLibrary
from core.sources.source import Source
from core.workspace import Workspace


class Library:
    """The imported sources of a workspace, read from disk at every call: imports of other processes appear by themselves."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    @property
    def workspace(self) -> Workspace:
        """The workspace the sources are in."""
        return self._workspace

    def sources(self) -> list[Source]:
        """Every source that can be opened, by name; see `damaged` for those that cannot."""
        return self._opened()[0]

    def damaged(self) -> dict[str, str]:
        """Name -> what is wrong, for imported sources whose files cannot be read."""
        return self._opened()[1]

    def names(self) -> list[str]:
        """The names of the imported sources, sorted."""
        return shelf.names(self._workspace)

    def source(self, name: str) -> Source:
        """The source called `name`. Raises `SourceMissing`, and `BadName` for what cannot be a name."""
        return Source.open(self._workspace, name)

    def problems(self) -> dict[str, str]:
        """Name -> sentence, for sources that keep under half of their rows and for damaged ones."""
        sources, damaged = self._opened()
        return {source.name: source.problem for source in sources if source.problem} | damaged

    def overlaps(self) -> list[tuple[str, str, str]]:
        """Pairs of imported sources that the catalogue warns to mix, each once, with the reason."""
        imported = self.names()
        known = Catalogue.load(self._workspace)
        found: dict[tuple[str, str], str] = {}
        for name in imported:
            entry = known.find(name)
            for other, reason in entry.overlaps.items() if entry else ():
                if other in imported:
                    found.setdefault((min(name, other), max(name, other)), reason)
        return [(first, second, reason) for (first, second), reason in sorted(found.items())]

    def remove(self, name: str) -> None:
        """Remove an imported source and its rows. Raises `SourceMissing`."""
        shelf.remove(self._workspace, name)

    def _opened(self) -> tuple[list[Source], dict[str, str]]:
        sources: list[Source] = []
        damaged: dict[str, str] = {}
        for name in self.names():
            try:
                sources.append(Source.open(self._workspace, name))
            except shelf.SourceMissing:
                continue  # removed since it was listed
            except DamagedLibrary as error:
                damaged[name] = str(error)
        return sources, damaged
