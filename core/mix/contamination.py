"""Which rows repeat a benchmark: every run of n words that stands in both, with its place in both texts.

Real matches (what a text of the benchmark asks) are told from boilerplate (how many of them are written). It knows rows and the
index of benchmarks, not plans.
"""

import contextlib
import hashlib
import os
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Self

import numpy as np
import numpy.typing as npt
import orjson
import pyarrow as pa

from core.mix.benchmarks import Benchmark, BenchmarkIndex, benchmark_stamp, load_benchmarks
from core.mix.ranking import kept_rows
from core.mix.recipe import Recipe
from core.mix.rules import Contamination
from core.mix.words import WORD, hashed_words, ngrams
from core.sources import Library, Source
from core.watch import Progress, Unwatched, Watcher, stop_if_cancelled

Numbers = npt.NDArray[np.int64]

BOILERPLATE = "boilerplate"
"""The group of all matches that hold nothing but boilerplate."""

STEP = 1024
_COLUMNS = ("row", "item", "row_word", "item_word", "words", "boilerplate")


@dataclass(frozen=True)
class Excerpt:
    """A span with what stands around it."""

    before: str
    span: str
    after: str


@dataclass(frozen=True)
class Match:
    """One matched span: in a row of a source, and in a text of a benchmark."""

    source: str
    row: int
    group: str
    words: int
    in_row: Excerpt
    in_benchmark: Excerpt


@dataclass(frozen=True)
class MatchGroup:
    """All matches with one text of a benchmark (or all boilerplate): how many rows of which source."""

    name: str
    rows: Mapping[str, int]
    kept: bool
    """Whether the recipe keeps its rows."""


@dataclass(frozen=True, eq=False)
class Spans:
    """The matched spans of one source, `[spans]` each, in order of row: where they begin in row and text (words), and how long they are.

    A row that stands in a text several times has several spans; a span names the text it shares most of its words with.
    """

    row: Numbers
    item: Numbers
    row_word: Numbers
    item_word: Numbers
    words: Numbers
    boilerplate: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, columns: Iterable[npt.ArrayLike]) -> Self:
        """From the columns in their order."""
        row, item, row_word, item_word, words, boilerplate = (np.asarray(column, np.int64) for column in columns)
        return cls(row, item, row_word, item_word, words, boilerplate.astype(np.bool_))


@dataclass(frozen=True, eq=False)
class ContaminationReport:
    """What a check found, over all sources of a recipe."""

    rules: Contamination
    index: BenchmarkIndex
    spans: Mapping[str, Spans]
    sources: Mapping[str, Source]

    def group_of(self, spans: Spans) -> list[str]:
        """The name of each span's group."""
        return [BOILERPLATE if common else self.index.group(int(item)) for item, common in zip(spans.item, spans.boilerplate, strict=True)]

    def keeps(self, group: str) -> bool:
        """Whether rows with nothing but this group stay."""
        return self.rules.action == "report" or group in self.rules.keep or (group == BOILERPLATE and not self.rules.drop_boilerplate)

    def dropped(self) -> dict[str, Numbers]:
        """Source -> rows (rising) that the recipe does not keep."""
        return {
            name: np.unique(spans.row[[not self.keeps(group) for group in self.group_of(spans)]]) if len(spans.row) else spans.row
            for name, spans in self.spans.items()
        }

    def groups(self) -> list[MatchGroup]:
        """All groups, those with most rows first; boilerplate last."""
        rows: dict[str, dict[str, set[int]]] = {}
        for name, spans in self.spans.items():
            for group, row in zip(self.group_of(spans), spans.row.tolist(), strict=True):
                rows.setdefault(group, {}).setdefault(name, set()).add(row)
        found = [MatchGroup(group, {name: len(many) for name, many in by.items()}, self.keeps(group)) for group, by in rows.items()]
        return sorted(found, key=lambda group: (group.name == BOILERPLATE, -sum(group.rows.values()), group.name))

    def matches(self, group: str | None = None, source: str | None = None, offset: int = 0, limit: int = 10) -> list[Match]:
        """Some of the matches (of one group, of one source), with the span in both texts."""
        found: list[Match] = []
        passed = 0
        for name, spans in self.spans.items():
            if source not in (None, name):
                continue
            for at, its in enumerate(self.group_of(spans)):
                if group not in (None, its):
                    continue
                if passed >= offset:
                    found.append(self._match(name, spans, at, its))
                passed += 1
                if len(found) == limit:
                    return found
        return found

    def _match(self, name: str, spans: Spans, at: int, group: str) -> Match:
        row, words = int(spans.row[at]), int(spans.words[at])
        text = str(self.sources[name].texts()[row].as_py())
        in_row = excerpt(text, int(spans.row_word[at]), words)
        in_benchmark = excerpt(self.index.text(int(spans.item[at])), int(spans.item_word[at]), words)
        return Match(name, row, group, words, in_row, in_benchmark)


def contamination_report(recipe: Recipe, library: Library, watcher: Watcher | None = None) -> ContaminationReport:
    """Every kept row of the recipe's sources against its benchmarks; what was found of a source is kept beside it.

    Raises `NoSuchBenchmark`, `UnreadableSource`, hub errors, `Cancelled`.
    """
    rules = recipe.contamination
    benchmarks = load_benchmarks(rules, library, watcher)
    index = _index(tuple(benchmarks), rules.ngram)
    key = _key(benchmarks, rules)
    sources = {name: library.source(name) for name in sorted(entry.name for entry in recipe.sources)}
    spans = {name: _spans(source, index, rules, key, watcher or Unwatched()) for name, source in sources.items()}
    note = _note(rules, library, sources.values())
    if not note.exists():
        with contextlib.suppress(OSError):
            note.parent.mkdir(parents=True, exist_ok=True)
            note.touch()
    return ContaminationReport(rules, index, spans, sources)


def is_compared(rules: Contamination, library: Library, sources: Iterable[Source]) -> bool:
    """Whether these sources were compared with these benchmarks as they are now, so that a report takes no minutes."""
    return _note(rules, library, sources).is_file()


def _note(rules: Contamination, library: Library, sources: Iterable[Source]) -> Path:
    what = [[benchmark_stamp(said) for said in rules.benchmarks], rules.ngram, rules.boilerplate]
    value = ["compared-1", what, sorted([source.name, source.version] for source in sources)]
    return library.workspace.benchmarks / f"compared-{hashlib.sha256(orjson.dumps(value)).hexdigest()[:24]}"


def excerpt(text: str, first: int, words: int, around: int = 12) -> Excerpt:
    """The span of some words of a text from word `first` on, with up to `around` words on either side."""
    places = [found.span() for found in WORD.finditer(text)]
    if not places:
        return Excerpt("", "", "")
    first = min(first, len(places) - 1)
    last = min(first + words, len(places)) - 1
    start, stop = places[first][0], places[last][1]
    return Excerpt(
        text[places[max(first - around, 0)][0] : start], text[start:stop], text[stop : places[min(last + around, len(places) - 1)][1]]
    )


@lru_cache(maxsize=4)
def _index(benchmarks: tuple[Benchmark, ...], ngram: int) -> BenchmarkIndex:
    return BenchmarkIndex.of(benchmarks, ngram)


def _key(benchmarks: Sequence[Benchmark], rules: Contamination) -> str:
    value = ["spans-1", [benchmark.digest for benchmark in benchmarks], rules.ngram, rules.boilerplate]
    return hashlib.sha256(orjson.dumps(value)).hexdigest()[:24]


def _spans(source: Source, index: BenchmarkIndex, rules: Contamination, key: str, watcher: Watcher) -> Spans:
    path = source.computed_folder / f"contamination-{key}.arrow"
    try:
        with pa.OSFile(str(path)) as file:
            table = pa.ipc.open_file(file).read_all()
        return Spans.of(table[name].to_numpy() for name in _COLUMNS)
    except (OSError, pa.ArrowException, KeyError):
        found = find_spans(source, index, rules.boilerplate, watcher)
        _save(path, found)
        return found


def _save(path: Path, spans: Spans) -> None:
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    table = pa.table({name: getattr(spans, name) for name in _COLUMNS})
    try:
        path.parent.mkdir(exist_ok=True)
        with pa.OSFile(str(beside), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)
        with beside.open("rb+") as written:
            os.fsync(written.fileno())
        beside.replace(path)
    except OSError:
        beside.unlink(missing_ok=True)  # found again next time


def find_spans(source: Source, index: BenchmarkIndex, boilerplate: int, watcher: Watcher | None = None) -> Spans:
    """Every span of a source's kept rows that stands in a benchmark; n-grams in `boilerplate` or more texts are boilerplate."""
    watcher = watcher or Unwatched()
    texts, kept = source.texts(), kept_rows(source)
    found: list[tuple[int, ...]] = []
    for start in range(0, len(kept), STEP):
        rows = kept[start : start + STEP]
        grams, offsets = ngrams(*hashed_words(texts.take(pa.array(rows)).to_pylist()), index.ngram)
        entry = index.find(grams)
        hit = np.flatnonzero(entry >= 0)
        row = np.searchsorted(offsets, hit, side="right") - 1
        breaks = np.flatnonzero((np.diff(hit) != 1) | (np.diff(row) != 0)) + 1
        for run in np.split(np.arange(len(hit)), breaks) if len(hit) else ():
            number = int(row[run[0]])
            for item, step, item_word, many, common in _covered(entry[hit[run]].tolist(), index, boilerplate):
                word = int(hit[run[0]] - offsets[number]) + step
                found.append((int(rows[number]), item, word, item_word, many + index.ngram - 1, int(common)))
        watcher.progress(Progress(f"compare {source.name} with benchmarks", start + len(rows), len(kept), "rows"))
        stop_if_cancelled(watcher)
    return Spans.of(np.array(found, np.int64).reshape(-1, len(_COLUMNS)).T)


def _covered(entries: list[int], index: BenchmarkIndex, boilerplate: int) -> Iterator[tuple[int, int, int, int, bool]]:
    """A run of n-grams that all stand in benchmarks, as spans: (text, first n-gram of the run, its word in the text, n-grams, boilerplate).

    From the left, each span is of the text that goes on longest; boilerplate within a run that tells a text apart is passed over.
    """
    common = [bool(index.spread[entry] >= boilerplate) for entry in entries]
    if all(common):
        yield int(index.item[entries[0]]), 0, int(index.word[entries[0]]), len(entries), True
        return
    texts = [{} if its else index.texts_of(entry) for entry, its in zip(entries, common, strict=True)]
    at = 0
    while at < len(entries):
        if common[at]:
            at += 1
            continue
        lengths = {item: _reach(item, at, texts, common) for item in texts[at]}
        item = min(lengths, key=lambda one: (-lengths[one], one))
        yield item, at, texts[at][item], lengths[item], False
        at += lengths[item]


def _reach(item: int, at: int, texts: Sequence[Mapping[int, int]], common: Sequence[bool]) -> int:
    """How many n-grams from `at` on are the text's, one word after the other; boilerplate that is in between may be any text's."""
    first = texts[at][item]
    end = at + 1
    while end < len(texts) and (common[end] or texts[end].get(item) == first + end - at):
        end += 1
    while common[end - 1]:
        end -= 1
    return end - at
