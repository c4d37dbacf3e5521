"""What a recipe's rules would have to work out first, so that a screen can plan without waiting and say what it left out.

It looks at what is kept beside the sources and in the workspace; it works nothing out itself.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from core.mix.columns import columns_of
from core.mix.contamination import is_compared
from core.mix.duplicate_groups import group_key, has_groups
from core.mix.filters import scopes_of
from core.mix.recipe import Recipe
from core.mix.rules import Contamination, Duplicates, Filters
from core.sources import Library, Source

Known = Callable[[Source], bool]
"""Whether the tokens of all rows of a source are known for the recipe's target."""


@dataclass(frozen=True)
class Waiting:
    """What is not known yet: per source the figures of its rows that filters ask for, duplicates, matches with benchmarks."""

    figures: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    rows: int = 0
    """Rows of those sources."""
    duplicates: bool = False
    contamination: bool = False

    def __bool__(self) -> bool:
        return bool(self.figures) or self.duplicates or self.contamination

    def words(self) -> list[str]:
        """What is waited for, in a few words each."""
        said = sorted({figure for figures in self.figures.values() for figure in figures})
        return [
            *([f"{', '.join(said)} of {self.rows:,} rows"] if said else []),
            *(["duplicates"] if self.duplicates else []),
            *(["matches with benchmarks"] if self.contamination else []),
        ]


def waiting_for(recipe: Recipe, library: Library, known_tokens: Known | None = None) -> Waiting:
    """What the usable rows of a recipe wait for. Raises `SourceMissing`."""
    sources = [library.source(name) for name in sorted(entry.name for entry in recipe.sources)]
    figures = {source.name: tuple(_missing(recipe, source, known_tokens)) for source in sources}
    missing = {name: what for name, what in figures.items() if what}
    return Waiting(
        figures=missing,
        rows=sum(source.rows for source in sources if source.name in missing),
        duplicates=recipe.duplicates.asks and not has_groups(library.workspace, group_key(recipe.duplicates, sources)),
        contamination=recipe.contamination.asks and not is_compared(recipe.contamination, library, sources),
    )


def without_waiting(recipe: Recipe, waiting: Waiting) -> Recipe:
    """The recipe without the rules that wait; filters that ask for figures nobody has are left out for every source."""
    changes: dict[str, object] = {}
    if waiting.duplicates:
        changes["duplicates"] = Duplicates()
    if waiting.contamination:
        changes["contamination"] = Contamination()
    if waiting.figures:
        changes["filters"] = _of_index(recipe.filters)
        changes["domain_filters"] = {domain: _of_index(filters) for domain, filters in recipe.domain_filters.items()}
        changes["sources"] = tuple(entry.model_copy(update={"filters": _of_index(entry.filters)}) for entry in recipe.sources)
    return recipe.model_copy(update=changes) if changes else recipe


def _missing(recipe: Recipe, source: Source, known_tokens: Known | None) -> Iterable[str]:
    asked = [filters for _, filters in scopes_of(recipe, source)]
    for filters in asked:
        yield from (what for column, what in columns_of(filters).items() if not source.is_computed(column))
    if any(filters.min_tokens is not None or filters.max_tokens is not None for filters in asked) and not (
        known_tokens is not None and known_tokens(source)
    ):
        yield "tokens"


_BEYOND_INDEX = ("min_tokens", "max_tokens", "languages", "finish", "match", "no_match", "max_nontext", "max_repetition")


def _of_index(filters: Filters) -> Filters:
    return filters.model_copy(update={name: Filters.model_fields[name].default for name in _BEYOND_INDEX})
