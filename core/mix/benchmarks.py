"""Benchmarks that no training row may repeat: where their texts come from, and every run of words in them, ready to be looked up.

It knows texts of benchmarks. It does not know training rows.
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson

from core.errors import InputError
from core.mix.rules import Contamination
from core.mix.words import Hashes, hashed_words, ngrams
from core.sources import Catalogue, HubReference, Library, Origin, looks_like_hub_id, origin_rows, read_rows
from core.sources.text import search_key
from core.watch import Unwatched, Watcher
from core.workspace import Workspace

Numbers = npt.NDArray[np.int64]


class NoSuchBenchmark(InputError):
    """A benchmark that is neither a file, nor in the catalogue, nor a hub id."""


@dataclass(frozen=True)
class Benchmark:
    """One benchmark: how its groups are called, its texts by row (in the form that searches compare), a digest of its content."""

    name: str
    texts: tuple[str, ...]
    digest: str


@dataclass(frozen=True, eq=False)
class BenchmarkIndex:
    """Every n-gram of some benchmarks, sorted by hash; `[entries]` arrays, an n-gram that stands in several texts has several entries."""

    benchmarks: tuple[Benchmark, ...]
    ngram: int
    gram: Hashes
    item: Numbers
    """Place of the text among all texts of all benchmarks."""
    word: Numbers
    """Place of its first word in that text."""
    spread: Numbers
    """In how many texts the n-gram stands."""

    @classmethod
    def of(cls, benchmarks: Sequence[Benchmark], ngram: int) -> "BenchmarkIndex":
        """Index all texts."""
        words, offsets = hashed_words([text for benchmark in benchmarks for text in benchmark.texts])
        gram, starts = ngrams(words, offsets, ngram)
        item = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        word = np.arange(len(gram)) - starts[item]
        order = np.lexsort((word, item, gram))
        gram, item, word = gram[order], item[order], word[order]
        first = np.ones(len(gram), np.bool_)
        first[1:] = (gram[1:] != gram[:-1]) | (item[1:] != item[:-1])  # a text that repeats itself counts once
        gram, item, word = gram[first], item[first], word[first]
        _, place, spread = np.unique(gram, return_inverse=True, return_counts=True)
        return cls(tuple(benchmarks), ngram, gram, item, word, spread[place])

    def find(self, grams: Hashes) -> Numbers:
        """The first entry of each n-gram, -1 where no benchmark has it."""
        if not len(self.gram):
            return np.full(len(grams), -1, np.int64)
        at = np.minimum(np.searchsorted(self.gram, grams), len(self.gram) - 1)
        return np.where(self.gram[at] == grams, at, -1)

    def texts_of(self, entry: int) -> dict[int, int]:
        """Text -> place of the word at which the n-gram begins in it; `entry` is its first one."""
        last = entry + int(self.spread[entry])
        return dict(zip(self.item[entry:last].tolist(), self.word[entry:last].tolist(), strict=True))

    def group(self, item: int) -> str:
        """What a text's group is called: `benchmark:row`."""
        benchmark, row = self._place(item)
        return f"{benchmark.name}:{row}"

    def text(self, item: int) -> str:
        """The text itself."""
        benchmark, row = self._place(item)
        return benchmark.texts[row]

    @property
    def too_short(self) -> int:
        """Texts with fewer words than an n-gram, which nothing can match."""
        return int(sum(len(benchmark.texts) for benchmark in self.benchmarks)) - len(np.unique(self.item))

    def _place(self, item: int) -> tuple[Benchmark, int]:
        for benchmark in self.benchmarks:
            if item < len(benchmark.texts):
                return benchmark, item
            item -= len(benchmark.texts)
        raise IndexError(item)


def load_benchmarks(rules: Contamination, library: Library, watcher: Watcher | None = None) -> list[Benchmark]:
    """The benchmarks a recipe names, read. Those of the hub are fetched once. Raises `NoSuchBenchmark`, `UnreadableSource`, hub errors."""
    found: list[Benchmark] = []
    for said in rules.benchmarks:
        name = benchmark_name(said)
        taken = {benchmark.name for benchmark in found}
        name = next(free for free in (name, *(f"{name}-{number}" for number in range(2, 1000))) if free not in taken)
        texts = tuple(search_key(row_text(value)) for value in _rows(said, library, watcher or Unwatched()))
        found.append(Benchmark(name, texts, hashlib.sha256(orjson.dumps(texts)).hexdigest()))
    return found


def benchmark_name(said: str) -> str:
    """How the groups of a benchmark are called: a file's name without its endings, else the last part of its id."""
    return Path(said).name.split(".")[0] or said


def benchmark_stamp(said: str) -> list[str]:
    """What changes when the files of a benchmark do: names, sizes and times; only the name of what is no file here."""
    path = Path(said).expanduser()
    files = sorted(path.rglob("*")) if path.is_dir() else [path] if path.is_file() else []
    return [said, *(f"{file.name}:{(known := file.stat()).st_size}:{known.st_mtime_ns}" for file in files)]


def row_text(value: Any) -> str:
    """All texts of a raw row in its order, a line each."""
    return "\n".join(text for text in _texts(value) if text.strip())


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)


def _rows(said: str, library: Library, watcher: Watcher) -> Iterator[Any]:
    path = Path(said).expanduser()
    if path.exists():
        return (row.value for row in read_rows(path) if row.problem is None)
    place: Path | HubReference | None = None
    if said in library.names():
        place = library.source(said).origin.place
    elif (entry := Catalogue.load(library.workspace).find(said)) is not None and entry.hub_id is not None:
        place = entry.reference()
    elif looks_like_hub_id(said):
        place = HubReference(said)
    if place is None:
        raise NoSuchBenchmark(
            f"There is no benchmark {said!r}: name a file or folder, an imported source, a name of the catalogue, or a hub id."
        )
    if isinstance(place, HubReference):
        return _hub_rows(place, library.workspace, watcher)
    return (row.value for row in read_rows(place) if row.problem is None)


def _hub_rows(place: HubReference, workspace: Workspace, watcher: Watcher) -> Iterator[Any]:
    """The rows of a hub data set; where it was fetched is noted, so that the next plan asks no network."""
    note = workspace.benchmarks / f"{hashlib.sha256(orjson.dumps(place.to_json())).hexdigest()[:24]}.json"
    try:
        before = Origin.from_json(orjson.loads(note.read_bytes()))
        if all((before.path / file.path).is_file() for file in before.files):
            rows = read_rows(before.path, [file.path for file in before.files])
            return (row.value for row in rows if row.problem is None)
    except (OSError, ValueError, KeyError, TypeError):
        pass  # never fetched, or the note is of another version
    rows, origin = origin_rows(workspace, place, watcher)
    note.parent.mkdir(parents=True, exist_ok=True)
    beside = note.with_suffix(".writing")
    beside.write_bytes(orjson.dumps(origin.to_json()))
    beside.replace(note)
    return (row.value for row in rows if row.problem is None)
