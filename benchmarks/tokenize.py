"""Tokenization against speculators 0.7.0.2, the last version that tokenizes without a server: CPU seconds of whole processes, and memory.

    python -m benchmarks.tokenize compare CORPUS.jsonl TARGET FOLDER --reference PYTHON    # rows equal? ratios of CPU seconds
    python -m benchmarks.tokenize scale CORPUS.jsonl TARGET FOLDER --rows 50000 --rows 1000000    # peak memory at each size, verified

CORPUS holds one chat a line (`{"conversations": [...]}` of OpenAI messages), TARGET is a folder with tokenizer and template, PYTHON an
interpreter with speculators 0.7.0.2 and datasets. What is written stays in FOLDER. Sizes above the corpus are made of several epochs.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LOOK = 0.5
"""Seconds between two looks at the memory."""

REFERENCE = """
import sys
from pathlib import Path
from speculators.data_generation.preprocessing import load_and_preprocess_dataset

if __name__ == "__main__":
    corpus, target, out = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    out.mkdir(parents=True)
    rows, _ = load_and_preprocess_dataset(
        target_model_path=target, train_data_paths=[corpus], seq_length=8192, build_dataset_num_proc=1, seed=0,
        token_freq_path=out / "token_freq.pt",
    )
    rows.save_to_disk(str(out))
"""

RECIPE = """name = "bench"
validation = 0
[target]
path = {target}
[supervision]
supervise = "content"
thinking = "default"
layout = "conversation"
seq_length = 8192
[budget]
amount = {rows}
[[sources]]
name = "chats"
weight = 1
max_epochs = {epochs}
"""


@dataclass(frozen=True)
class Measured:
    """A process and all its children: seconds of wall clock and CPU, peak anonymous memory (proportional) in MB."""

    wall: float
    cpu: float
    anonymous: int


def measured(command: Sequence[str]) -> Measured:
    """Run it to its end; raises CalledProcessError."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    peak = 0
    while process.poll() is None:
        peak = max(peak, sum(map(_anonymous, _family(process.pid))))
        try:
            process.wait(LOOK)
        except subprocess.TimeoutExpired:
            continue
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Measured(time.perf_counter() - started, cpu, peak // 1024)


def _family(pid: int) -> list[int]:
    found = [pid]
    for member in found:
        try:
            for task in Path(f"/proc/{member}/task").iterdir():
                found += map(int, (task / "children").read_text().split())
        except OSError:
            continue
    return found


def _anonymous(pid: int) -> int:
    """Kilobytes."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss_Anon:"))


def mixdown(folder: Path, *arguments: object) -> list[str]:
    """The command in a workspace below `folder`."""
    return [sys.executable, "-m", "core.cli", *map(str, arguments), "--home", str(folder / "home")]


def compiled() -> None:
    """Keep bytecode, as an installed package has it (the reference's was compiled when it was installed), whatever the environment says."""
    subprocess.run([sys.executable, "-m", "compileall", "-q", str(ROOT / "core")], check=True)


def imported(corpus: Path, folder: Path) -> None:
    """Import the corpus once."""
    compiled()
    if not (folder / "home" / "sources" / "chats").exists():
        measured(mixdown(folder, "import", corpus, "--name", "chats"))


def made(corpus: Path, target: Path, folder: Path, rows: int, workers: int) -> tuple[Path, Measured]:
    """Tokenize so many conversations of the corpus, verification included."""
    lines = sum(1 for _ in corpus.open("rb"))
    recipe, out = folder / f"{rows}.toml", folder / f"rows-{rows}-workers-{workers}"
    recipe.write_text(RECIPE.format(target=json.dumps(str(target.resolve())), rows=rows, epochs=-(-rows // lines)))
    return out, measured(mixdown(folder, "tokenize", recipe, "--out", out, "--workers", workers, "--overwrite", "--json"))


def compare(corpus: Path, target: Path, folder: Path, reference: str) -> None:
    """Print whether rows and frequencies are equal, and the ratios."""
    import torch  # noqa: PLC0415  not needed to measure

    imported(corpus, folder)
    rows = sum(1 for _ in corpus.open("rb"))
    program, theirs = folder / "reference.py", folder / f"reference-{rows}"
    program.write_text(REFERENCE)
    slow = measured([reference, str(program), str(corpus), str(target), str(theirs)])
    ours, one = made(corpus, target, folder, rows, 1)
    _, two = made(corpus, target, folder, rows, 2)
    equal = pairs(ours) == pairs(theirs)
    counts = [torch.load(place / "token_freq.pt", weights_only=True) for place in (ours, theirs)]
    print(f"{rows:,} rows: rows {'equal' if equal else 'DIFFERENT'}, frequencies {'equal' if counts[0] == counts[1] else 'DIFFERENT'}")
    print(
        f"CPU {one.cpu / slow.cpu:.4f} of the reference (1/{slow.cpu / one.cpu:.1f}); peak memory {one.anonymous} and {slow.anonymous} MB"
    )
    print(f"two workers: {two.cpu / one.cpu:.3f} x the CPU and {two.wall / one.wall:.3f} x the wall time of one, {two.anonymous} MB")


def pairs(folder: Path) -> list[bytes]:
    """Every row as bytes, sorted."""
    import datasets  # noqa: PLC0415
    import numpy as np  # noqa: PLC0415

    found = []
    for batch in datasets.load_from_disk(str(folder)).with_format("numpy").iter(1000):
        for ids, mask in zip(batch["input_ids"], batch["loss_mask"], strict=True):
            found.append(np.asarray(ids, np.int32).tobytes() + np.asarray(mask, np.int8).tobytes())
    return sorted(found)


def scale(corpus: Path, target: Path, folder: Path, sizes: Sequence[int]) -> None:
    """Print peak memory and rates at each size, with two workers."""
    imported(corpus, folder)
    for rows in sizes:
        out, found = made(corpus, target, folder, rows, 2)
        manifest = json.loads((out / "manifest.json").read_bytes())
        print(
            f"{manifest['rows']:,} rows, {manifest['tokens']:,} tokens: {found.anonymous} MB, {found.cpu:.0f} CPU s, {found.wall:.0f} s, "
            f"{1000 * found.cpu / rows:.3f} ms of CPU a conversation"
        )


def main() -> None:
    """See above."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("question", choices=["compare", "scale"])
    for name in ("corpus", "target", "folder"):
        parser.add_argument(name, type=lambda text: Path(text).resolve())
    parser.add_argument("--reference", default=os.environ.get("MIXDOWN_SPECULATORS_07", ""))
    parser.add_argument("--rows", type=int, action="append")
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    if asked.question == "compare":
        compare(asked.corpus, asked.target, asked.folder, asked.reference)
    else:
        scale(asked.corpus, asked.target, asked.folder, asked.rows or [50_000, 1_000_000])


if __name__ == "__main__":
    main()
