"""Planted overlaps with benchmarks against a slow look for every run of words."""

import json
import random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.mix import BOILERPLATE, NoSuchBenchmark, Recipe, contamination_report, plan, select, usable_rows
from core.mix.benchmarks import Benchmark, BenchmarkIndex
from core.mix.contamination import _covered, excerpt
from core.mix.words import WORD, hashed_words, ngrams
from core.sources import Library, import_source

WORDS = [
    f"{a}{b}" for a in ("ka", "lo", "mi", "nu", "re", "so", "ta", "ve") for b in ("den", "fal", "gor", "hin", "jus", "kel", "lam", "mon")
]
HEAD = "Answer the following question and end with the final number on a line of its own please"


@pytest.fixture
def case(workspace, tmp_path):
    """Benchmarks of 60 + 30 texts (JSON Lines, Parquet), and 300 rows of which every third repeats 13 to 40 words of one."""
    chance = random.Random(1)

    def text(words):
        return " ".join(chance.choices(WORDS, k=words))

    questions = [f"{HEAD}: {text(50)}?" for _ in range(60)]
    other = [text(40) for _ in range(30)]
    (tmp_path / "math.jsonl").write_text("\n".join(json.dumps({"id": n, "question": q, "answer": "42"}) for n, q in enumerate(questions)))
    pq.write_table(pa.table({"prompt": other, "choices": [[text(3), text(3)] for _ in other]}), tmp_path / "facts.parquet")
    rows, planted = [], {}
    for number in range(300):
        said = text(60)
        if number % 3 == 0:
            name, texts = ("math", [q.split(": ")[1] for q in questions]) if number % 2 else ("facts", other)
            at = chance.randrange(len(texts))
            words = WORD.findall(texts[at])
            size = chance.randint(13, 35)
            first = chance.randrange(len(words) - size + 1)
            copied = " ".join(words[first : first + size])
            said = f"{text(20)} zzz {copied.upper()}! zzz {text(20)}"
            planted[number] = (f"{name}:{at}", copied)
        elif number % 3 == 1:
            at = chance.randrange(60)
            said = (
                f"{text(10)} zzz {' '.join(WORD.findall(questions[at].split(': ')[1])[5:17])} zzz {text(10)}"  # twelve words are no match
            )
        rows.append({"messages": [{"role": "user", "content": said}, {"role": "assistant", "content": "ok"}]})
    rows[2]["messages"][0]["content"] = f"{HEAD}. {text(30)}"
    rows[5]["messages"][1]["content"] = f"{HEAD}. {text(30)}"
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    import_source(workspace, "rows", tmp_path / "rows.jsonl")
    return Library(workspace), planted, [str(tmp_path / "math.jsonl"), str(tmp_path / "facts.parquet")]


def recipe(benchmarks, **rules):
    value = {"target": {"path": "demo"}, "validation": 0, "sources": [{"name": "rows", "weight": 1}]}
    return Recipe.model_validate(value | {"contamination": {"benchmarks": benchmarks} | rules})


def test_every_planted_overlap_is_found_in_its_text_and_nothing_else(case):
    library, planted, files = case
    report = contamination_report(recipe(files), library)
    spans = report.spans["rows"]
    real = {}
    for row, group, common in zip(spans.row.tolist(), report.group_of(spans), spans.boilerplate.tolist(), strict=True):
        if not common:
            real.setdefault(row, set()).add(group)
    assert set(real) == set(planted)
    assert all(planted[row][0] in groups for row, groups in real.items())
    assert {row for row, common in zip(spans.row.tolist(), spans.boilerplate.tolist(), strict=True) if common} == {2, 5}
    dropped = report.dropped()["rows"].tolist()
    assert dropped == sorted(planted)
    assert usable_rows(recipe(files), library)["rows"].removed == {"contamination": 100}
    mix = recipe(files)
    assert not {row for _, row in select(mix, plan(mix, library), library).train} & set(planted)


def test_a_match_shows_the_span_in_both_texts(case):
    library, planted, files = case
    report = contamination_report(recipe(files), library)
    seen = set()
    for match in report.matches(limit=10_000):
        if match.group == BOILERPLATE:
            assert " ".join(WORD.findall(match.in_row.span)) == " ".join(WORD.findall(HEAD.lower()))
            continue
        span = " ".join(WORD.findall(match.in_row.span))
        assert span == " ".join(WORD.findall(match.in_benchmark.span)) == planted[match.row][1]
        assert match.words == len(span.split())
        seen.add(match.row)
    assert seen == set(planted)
    one = report.matches(group=planted[3][0], source="rows", limit=1)[0]
    assert one.group == planted[3][0]
    assert report.matches(source="nowhere") == []


def test_groups_are_kept_or_dropped(case):
    library, planted, files = case
    group = planted[0][0]
    mine = {row for row, (name, _) in planted.items() if name == group}
    report = contamination_report(recipe(files, keep=[group]), library)
    assert set(report.dropped()["rows"].tolist()) == set(planted) - mine
    named = {entry.name: entry for entry in report.groups()}
    assert named[group].kept
    assert named[group].rows == {"rows": len(mine)}
    assert list(named)[-1] == BOILERPLATE
    assert set(contamination_report(recipe(files, drop_boilerplate=True), library).dropped()["rows"].tolist()) == set(planted) | {2, 5}
    assert contamination_report(recipe(files, action="report"), library).dropped()["rows"].tolist() == []


def test_what_was_found_is_kept_beside_the_source(case, monkeypatch):
    library, _, files = case
    first = contamination_report(recipe(files), library)
    monkeypatch.setattr("core.mix.contamination.find_spans", None)
    assert contamination_report(recipe(files), library).spans["rows"].row.tolist() == first.spans["rows"].row.tolist()


def test_texts_too_short_to_match_are_counted_and_an_unknown_benchmark_is_named(case, tmp_path):
    library, _, _ = case
    short = tmp_path / "short.jsonl"
    short.write_text('{"q": "two words"}\n{"q": "' + "a b c d e f g h i j k l m n" + '"}\n')
    assert contamination_report(recipe([str(short)]), library).index.too_short == 1
    with pytest.raises(NoSuchBenchmark, match="'nowhere'"):
        contamination_report(recipe(["nowhere"]), library)


def test_an_imported_source_can_be_a_benchmark(case):
    library, _, _ = case
    report = contamination_report(recipe(["rows"]), library)
    assert report.dropped()["rows"].tolist() == list(range(300))


TEXTS = st.lists(st.text("abc ", min_size=0, max_size=30), min_size=1, max_size=5)


@given(TEXTS, st.text("abc ", max_size=40), st.integers(2, 4), st.integers(2, 4))
def test_a_run_is_covered_by_spans_that_truly_stand_in_their_texts(texts, row, ngram, boilerplate):
    index = BenchmarkIndex.of([Benchmark("b", tuple(texts), "")], ngram)
    grams, _ = ngrams(*hashed_words([row]), ngram)
    entries = index.find(grams)
    words = row.split()
    slow = [" ".join(words[i : i + ngram]) for i in range(len(words) - ngram + 1)]
    held = [sum(f" {gram} " in f" {' '.join(text.split())} " for text in texts) for gram in slow]
    assert [entry >= 0 for entry in entries.tolist()] == [count > 0 for count in held]
    start = 0
    while start < len(entries):
        if entries[start] < 0:
            start += 1
            continue
        stop = start
        while stop < len(entries) and entries[stop] >= 0:
            stop += 1
        told = set()
        for item, step, item_word, many, common in _covered(entries[start:stop].tolist(), index, boilerplate):
            assert common == all(held[at] >= boilerplate for at in range(start, stop))
            if many == 1 or not any(held[at] >= boilerplate for at in range(start, stop)):
                span = words[start + step : start + step + many + ngram - 1]
                assert texts[item].split()[item_word : item_word + len(span)] == span
            told.update(range(start + step, start + step + many))
        if not all(held[at] >= boilerplate for at in range(start, stop)):
            assert {at for at in range(start, stop) if held[at] < boilerplate} <= told
        start = stop


def test_an_excerpt_has_the_words_around_the_span():
    text = "One, two three (four) five six."
    found = excerpt(text, 2, 2, around=1)
    assert (found.before, found.span, found.after) == ("two ", "three (four", ") five")
