"""Sources of a given size for plans and picks: only names, sizes and short conversations."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import settings

from core.conversation import Conversation, Message
from core.sources import SourceMissing, prompt_hash

settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")


@dataclass
class SizedSource:
    name: str
    rows: int
    prompt_only: int = 0
    domain: str = "chat"
    problem: str | None = None
    prompts: Sequence[str] = ()
    ledger: SimpleNamespace = field(init=False)

    def __post_init__(self):
        self.ledger = SimpleNamespace(prompt_only=self.prompt_only)

    def index(self) -> pa.Table:
        total = self.rows + self.prompt_only
        return pa.table(
            {
                "row": pa.array(range(total), pa.int64()),
                "row_id": pa.chunked_array([[f"{self.name}:{row}" for row in range(total)]], pa.string()),
                "status": ["kept"] * self.rows + ["prompt_only"] * self.prompt_only,
                "prompt_hash": pa.array((prompt_hash(row) for row in self.conversations(range(total))), pa.uint64()),
            }
        )

    def computed(self, column, fill, dtype, width=None):
        total = self.rows + self.prompt_only
        made = np.zeros(total if width is None else (total, width), dtype)
        fill(made)
        return made

    def conversations(self, rows: Sequence[int]) -> Iterator[Conversation]:
        for row in rows:
            prompt = self.prompts[row % len(self.prompts)] if self.prompts else f"{self.name} {row}"
            yield Conversation((Message("user", prompt), Message("assistant", "yes")), source=self.name, row_id=f"{self.name}:{row}")


class SizedLibrary:
    def __init__(self, *sources: SizedSource):
        self._sources = {source.name: source for source in sources}

    def sources(self) -> list[SizedSource]:
        return list(self._sources.values())

    def names(self) -> list[str]:
        return sorted(self._sources)

    def source(self, name: str) -> SizedSource:
        if name not in self._sources:
            raise SourceMissing(f"The source {name} was not imported.")
        return self._sources[name]


@pytest.fixture(scope="session")
def library_of():
    """A library of sources with so many kept rows each: `library_of(a=10, b=20)`, or of ready `SizedSource`s."""

    def build(*sources: SizedSource, **sizes: int) -> SizedLibrary:
        return SizedLibrary(*sources, *(SizedSource(name, rows) for name, rows in sizes.items()))

    return build


@pytest.fixture(scope="session")
def sized():
    """The class of the library's sources."""
    return SizedSource
