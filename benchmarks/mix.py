"""The mix at 1,000,000 rows and 20 sources: a plan against `datasets.interleave_datasets`, and what near duplicates cost and miss.

    python -m benchmarks.mix generate FOLDER --rows 1000000     20 sources as an import leaves them; one row in fifty is planted
    python -m benchmarks.mix plan FOLDER                        plan, plan and order of rows, against interleave_datasets
    python -m benchmarks.mix page FOLDER                        one weight moved on the Mix page, tokens known, all of it drawn
    python -m benchmarks.mix duplicates FOLDER                  time, peak of anonymous memory, recall and precision
    python -m benchmarks.mix contamination FOLDER               every planted 13-gram found?

It knows nothing of the code it measures beyond its public functions.
"""

import argparse
import json
import os
import random
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import datasets
from streamlit.testing.v1 import AppTest

from benchmarks.million_rows import AnonymousPeak
from core.mix import Recipe, contamination_report, duplicate_groups, plan, save_recipe, select
from core.mix.words import WORD
from core.sources import Library, import_source
from core.workspace import BUNDLED_TARGET, Workspace

SOURCES = 20
PLANTED = 50
"""One row in so many is an edited copy of an earlier row of any source; one in a thousand holds 13 words of a benchmark."""
_SYLLABLES = ("ka", "lo", "mi", "nu", "re", "so", "ta", "ve", "ban", "den", "fal", "gor", "hin", "jus", "kel", "lam")


def vocabulary(chance: random.Random) -> list[str]:
    """Four thousand made-up words."""
    return sorted({"".join(chance.choices(_SYLLABLES, k=chance.randint(1, 4))) for _ in range(6_000)})


def questions(words: list[str]) -> list[str]:
    """A benchmark: a thousand texts of 30 words."""
    chance = random.Random(99)
    return [" ".join(chance.choices(words, k=30)) for _ in range(1_000)]


def rows(count: int, seed: int = 7) -> Iterator[tuple[str, dict[str, Any]]]:
    """(text, what was planted) of every row: 60 to 140 words, some of them edited copies or with a piece of a benchmark."""
    chance = random.Random(seed)
    words = vocabulary(random.Random(1))
    exam = questions(words)
    earlier: list[tuple[int, str]] = []
    for number in range(count):
        planted: dict[str, Any] = {}
        if number % PLANTED == PLANTED - 1:
            original, text = chance.choice(earlier)
            said = text.split()
            edits = chance.choice((0, 1, 2, 12))
            for _ in range(edits):
                said[chance.randrange(len(said))] = chance.choice(words)
            text, planted = " ".join(said), {"of": original, "edits": edits}
        else:
            text = " ".join(chance.choices(words, k=chance.randint(60, 140)))
            if number % 1_000 == 500:
                which = chance.randrange(len(exam))
                first = chance.randrange(18)
                said = text.split()
                said[10:10] = exam[which].split()[first : first + 13]
                text, planted = " ".join(said), {"exam": which}
            if len(earlier) < 20_000:
                earlier.append((number, text))
        yield text, planted


def generate(folder: Path, count: int) -> None:
    """Import all sources; what was planted goes into `planted.jsonl`, the benchmark into `exam.jsonl`."""
    folder.mkdir(parents=True, exist_ok=True)
    files = [(folder / f"s{number:02d}.jsonl").open("w") for number in range(SOURCES)]
    with (folder / "planted.jsonl").open("w") as noted:
        for number, (text, planted) in enumerate(rows(count)):
            turns = [{"role": "user", "content": text}, {"role": "assistant", "content": "As you say."}]
            files[number % SOURCES].write(json.dumps({"messages": turns}) + "\n")
            if planted:
                noted.write(json.dumps({"row": number, **planted}) + "\n")
    for file in files:
        file.close()
    with (folder / "exam.jsonl").open("w") as exam:
        exam.writelines(json.dumps({"question": text}) + "\n" for text in questions(vocabulary(random.Random(1))))
    for file in files:
        import_source(Workspace(folder / "home"), Path(file.name).stem, Path(file.name), domain="chat")
        Path(file.name).unlink()


def recipe(count: int, **changes: Any) -> Recipe:
    """Twenty sources of uneven weights; half of all rows."""
    sources = [{"name": f"s{number:02d}", "weight": 10 + number % 5} for number in range(SOURCES)]
    return Recipe.model_validate(
        {"target": {"path": "none"}, "validation": 0, "budget": {"amount": count // 2}, "sources": sources} | changes
    )


def seconds(work: Callable[[], object], times: int = 3) -> float:
    """The median of a few runs."""
    taken = []
    for _ in range(times):
        began = time.perf_counter()
        work()
        taken.append(time.perf_counter() - began)
    return statistics.median(taken)


def measure_plan(folder: Path) -> None:
    """Plan; plan and every row in its order, the first time and again; `interleave_datasets` for the same mix, rows untouched."""
    library = Library(Workspace(folder / "home"))
    count = sum(source.rows for source in library.sources())
    made = recipe(count)
    first = seconds(lambda: select(made, plan(made, library), library), times=1)
    again = seconds(lambda: select(made, plan(made, library), library))
    alone = seconds(lambda: plan(made, library))
    parts = [datasets.Dataset(source.index().select(["row_id", "row"]).combine_chunks()) for source in library.sources()]
    total = sum(entry.weight for entry in made.sources)
    shares = [entry.weight / total for entry in made.sources]
    theirs = seconds(lambda: datasets.interleave_datasets(parts, probabilities=shares, seed=0, stopping_strategy="first_exhausted"))
    figures = {"plan_ms": alone * 1e3, "plan_and_rows_first_s": first, "plan_and_rows_s": again, "interleave_datasets_s": theirs}
    ratios = {"plan_ratio": alone / theirs, "plan_and_rows_ratio": again / theirs}
    print(json.dumps({"rows": count, **{name: round(value, 4) for name, value in (figures | ratios).items()}}), flush=True)


def measure_page(folder: Path) -> None:
    """How long the Mix page takes to answer a move: the script's run with its plan, table and pictures, without a browser."""
    workspace = Workspace(folder / "home")
    os.environ["MIXDOWN_HOME"] = str(workspace.home)
    count = sum(source.rows for source in Library(workspace).sources())
    save_recipe(workspace, recipe(count, name="page", target={"path": str(BUNDLED_TARGET)}))
    app = AppTest.from_file(str(Path(__file__).resolve().parents[1] / "app.py"), default_timeout=600)
    app.query_params["recipe"] = "page"
    began = time.perf_counter()
    app.run()
    app.switch_page("pages/mix.py").run()
    first = time.perf_counter() - began
    weights = iter(range(20, 1000))

    def move() -> None:
        [field] = [field for field in app.number_input if field.label == "Weight of s03, exactly"]
        field.set_value(float(next(weights))).run()
        assert not app.exception, app.exception[0].message

    move()
    figures = {"rows": count, "first_s": round(first, 2), "move_ms": round(1e3 * seconds(move, times=9), 1)}
    print(json.dumps(figures), flush=True)


def measure_duplicates(folder: Path) -> None:
    """Near duplicates at the default threshold; the truth is a comparison of each planted copy with its original."""
    library = Library(Workspace(folder / "home"))
    watch = AnonymousPeak()
    watch.start()
    began = time.perf_counter()
    groups = duplicate_groups(recipe(2, duplicates={"near": True}), library)
    taken, peak = time.perf_counter() - began, watch.stop()
    member = {
        int(groups.names[source][1:]) + SOURCES * row: group
        for group, source, row in zip(groups.group.tolist(), groups.source.tolist(), groups.row.tolist(), strict=True)
    }
    noted = [json.loads(line) for line in (folder / "planted.jsonl").read_text().splitlines()]
    true = found = 0
    right = set()
    for entry in noted:
        if "of" not in entry:
            continue
        pair = (entry["row"], entry["of"])
        if overlap(*(text_of(library, number) for number in pair)) >= 0.8:
            true += 1
            right |= set(pair)
            found += member.get(pair[0], -1) == member.get(pair[1], -2)
    figures = {"seconds": round(taken, 1), "peak_anonymous_mb": round(peak / 1e6), "planted": true, "groups": groups.count}
    precision = sum(number in right for number in member) / max(len(member), 1)
    print(json.dumps({**figures, "recall": round(found / max(true, 1), 4), "precision": round(precision, 4)}), flush=True)


def measure_contamination(folder: Path) -> None:
    """Rows with 13 words of the benchmark, found and missed."""
    library = Library(Workspace(folder / "home"))
    began = time.perf_counter()
    report = contamination_report(recipe(2, contamination={"benchmarks": [str(folder / "exam.jsonl")]}), library)
    taken = time.perf_counter() - began
    found = {int(name[1:]) + SOURCES * row for name, rows in report.dropped().items() for row in rows.tolist()}
    noted = [json.loads(line) for line in (folder / "planted.jsonl").read_text().splitlines()]
    planted = {entry["row"] for entry in noted if "exam" in entry}
    carried = {entry["row"] for entry in noted if entry.get("of") in planted}
    figures = {
        "seconds": round(taken, 1),
        "planted": len(planted),
        "missed": len(planted - found),
        "others": len(found - planted - carried),
    }
    print(json.dumps(figures), flush=True)


def text_of(library: Library, number: int) -> str:
    """What can be read in a row by its number over all sources."""
    return str(library.source(f"s{number % SOURCES:02d}").texts()[number // SOURCES].as_py())


def overlap(one: str, other: str, size: int = 5) -> float:
    """Jaccard overlap of word shingles."""
    a, b = ({tuple(words[at : at + size]) for at in range(len(words) - size + 1)} for words in map(WORD.findall, (one, other)))
    return len(a & b) / len(a | b)


def main() -> None:
    """The commands above."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["generate", "plan", "page", "duplicates", "contamination"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, default=1_000_000)
    given = parser.parse_args()
    if given.command == "generate":
        generate(given.folder, given.rows)
    elif given.command == "plan":
        measure_plan(given.folder)
    elif given.command == "page":
        measure_page(given.folder)
    elif given.command == "duplicates":
        measure_duplicates(given.folder)
    else:
        measure_contamination(given.folder)


if __name__ == "__main__":
    main()
