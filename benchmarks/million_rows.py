"""One million rows: does an import's memory stay where it is, and is a page of them as quick as pandas with all rows in memory?

    python -m benchmarks.million_rows generate FILE --rows 1000000     about 1.5 GB of JSON Lines, the same every time
    python -m benchmarks.million_rows imports FOLDER                   peaks of anonymous memory at 100,000 and 1,000,000 rows
    python -m benchmarks.million_rows killed FOLDER --rows N           kill -9 in the middle, gone on with, every row counted
    python -m benchmarks.million_rows pages FOLDER                     a filtered, sorted page against a pandas filter

It knows nothing of the code it measures beyond its public functions. Each import runs in a process of its own.
"""

import argparse
import json
import random
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from core.sources import Library, Source, import_source, shelf
from core.sources.checkpoint import Checkpoint
from core.workspace import Workspace

SMALL, LARGE = 100_000, 1_000_000
_WORDS = (
    "the model answers a question about tables rivers graphs parsers memory kernels cities recipes music rain engines light tests "
    "because when while often never always between under over slowly quickly and or but then each every other first last small large"
)
_TOOL = {"type": "function", "function": {"name": "look_up", "parameters": {"type": "object", "properties": {"what": {"type": "string"}}}}}


def rows(count: int, seed: int = 7) -> Iterator[dict[str, Any]]:
    """Conversations of one to four exchanges, about 1,500 bytes each; one in five has tools, one in a hundred an unknown role."""
    chance = random.Random(seed)
    words = _WORDS.split()
    sentences = [" ".join(chance.choices(words, k=chance.randint(6, 18))) + "." for _ in range(4_000)]
    for number in range(count):
        messages = []
        for turn in range(chance.randint(1, 4)):
            question = f"{number}.{turn} " + " ".join(chance.choices(sentences, k=chance.randint(1, 4)))
            messages.append({"role": "user", "content": question})
            messages.append({"role": "assistant", "content": " ".join(chance.choices(sentences, k=chance.randint(2, 8)))})
        if number % 100 == 99:
            messages[0]["role"] = "stranger"
        yield {"messages": messages, "tools": [_TOOL]} if number % 5 == 0 else {"messages": messages}


def generate(path: Path, count: int) -> None:
    """Write the rows as JSON Lines."""
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(row, separators=(",", ":")) + "\n" for row in rows(count))


def anonymous_bytes(process: int | str) -> int:
    """What a process holds in memory of its own, mapped files not counted; 0 for one that ended."""
    try:
        lines = Path(f"/proc/{process}/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon"))


class AnonymousPeak(threading.Thread):
    """Watches the anonymous memory of this process (`RssAnon`: its own, without mapped files), in bytes."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.peak = 0
        self._ended = threading.Event()

    def run(self) -> None:
        """Look twenty times a second."""
        while not self._ended.wait(0.05):
            self.peak = max(self.peak, anonymous_bytes("self"))

    def stop(self) -> int:
        """The highest figure seen."""
        self._ended.set()
        self.join()
        return self.peak


def measure_import(folder: Path, count: int) -> None:
    """Import (a file generated before) and print what it took as one JSON line."""
    path = folder / f"{count}.jsonl"
    watch = AnonymousPeak()
    watch.start()
    began = time.perf_counter()
    source = import_source(Workspace(folder / "home"), f"rows-{count}", path)
    seconds = time.perf_counter() - began
    figures = {
        "rows": count,
        "bytes": path.stat().st_size,
        "kept": source.rows,
        "seconds": round(seconds, 1),
        "rows_per_second": round(count / seconds),
        "peak_anonymous_mb": round(watch.stop() / 1e6),
    }
    print(json.dumps(figures), flush=True)


def measure_imports(folder: Path) -> None:
    """Both sizes, each in a process of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    for count in (SMALL, LARGE):
        path = folder / f"{count}.jsonl"
        if not path.exists():
            generate(path, count)
        subprocess.run([sys.executable, "-m", "benchmarks.million_rows", "import", str(folder), "--rows", str(count)], check=True)


def measure_killed(folder: Path, count: int) -> None:
    """Kill an import once half of its rows are in finished parts, import again, and see that every row is there once."""
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / f"{count}.jsonl").exists():
        generate(folder / f"{count}.jsonl", count)
    command = [sys.executable, "-m", "benchmarks.million_rows", "import", str(folder), "--rows", str(count)]
    first = subprocess.Popen(command)
    peak = done = 0
    while first.poll() is None and done < count // 2:
        time.sleep(0.2)
        peak = max(peak, anonymous_bytes(first.pid))
        drafts = ((folder / "home").rglob(shelf.CHECKPOINT)) if (folder / "home").exists() else ()
        found = [checkpoint for draft in drafts if (checkpoint := Checkpoint.read(draft.parent)) is not None]
        done = max((checkpoint.account.ledger.raw_rows for checkpoint in found), default=0)
    first.kill()
    print(json.dumps({"killed_after_rows": done, "peak_anonymous_mb": round(peak / 1e6), "signal": -first.wait()}), flush=True)
    subprocess.run(command, check=True)
    source = Library(Workspace(folder / "home")).source(f"rows-{count}")
    positions = [*source.index().column("position").to_pylist(), *quarantined_positions(source)]
    print(json.dumps({"rows": count, "each_row_once": sorted(positions) == list(range(count))}), flush=True)


def quarantined_positions(source: Source) -> Iterator[int]:
    """The positions of all quarantined rows, page by page."""
    for offset in range(0, source.ledger.quarantined, 1000):
        yield from (row["position"] for row in source.quarantine_page(offset=offset, limit=1000).rows)


def median_seconds(work: Callable[[], object], times: int = 7) -> float:
    """The median of several runs, the first (cold) one left out."""
    taken = []
    for _ in range(times + 1):
        began = time.perf_counter()
        work()
        taken.append(time.perf_counter() - began)
    return statistics.median(taken[1:])


def measure_pages(folder: Path, count: int) -> None:
    """Fifty rows of a filtered, sorted view: the library against a pandas filter over the same columns in memory."""
    source = Library(Workspace(folder / "home")).source(f"rows-{count}")
    frame = source.index().to_pandas()
    frame["text"] = source.texts().to_pandas()
    where = {"has_tools": True, "turns": (4, None)}
    questions: list[tuple[str, Callable[[], object], Callable[[], object]]] = [
        (
            "tools, 4 or more turns, longest first",
            lambda: source.page(where=where, sort="chars", descending=True).rows,
            lambda: frame[frame.has_tools & (frame.turns >= 4)].sort_values("chars", ascending=False, kind="stable").head(50),
        ),
        (
            "the same, holding a text, page 3",
            lambda: source.page(search="kernels cities", where=where, sort="chars", descending=True, offset=100).rows,
            lambda: (
                frame[frame.has_tools & (frame.turns >= 4) & frame.text.str.contains("kernels cities", regex=False)]
                .sort_values("chars", ascending=False, kind="stable")
                .iloc[100:150]
            ),
        ),
    ]
    for question, ours, theirs in questions:
        page, filtered = median_seconds(ours), median_seconds(theirs)
        figures = {"page_ms": round(page * 1e3, 1), "pandas_ms": round(filtered * 1e3, 1), "ratio": round(page / filtered, 2)}
        print(json.dumps({"question": question, "rows": count, **figures}), flush=True)


def main() -> None:
    """The commands above."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["generate", "imports", "import", "killed", "pages"])
    parser.add_argument("path", type=Path)
    parser.add_argument("--rows", type=int, default=LARGE)
    given = parser.parse_args()
    if given.command == "generate":
        generate(given.path, given.rows)
    elif given.command == "import":
        measure_import(given.path, given.rows)
    elif given.command == "imports":
        measure_imports(given.path)
    elif given.command == "killed":
        measure_killed(given.path, given.rows)
    else:
        measure_pages(given.path, given.rows)


if __name__ == "__main__":
    main()
