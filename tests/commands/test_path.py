"""From a file to a verified dataset by command, and what a user is told when it cannot be."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from core.workspace import BUNDLED_TARGET
from tests.commands.conftest import ROOT, Mixdown


def test_a_file_becomes_a_verified_dataset_and_a_flipped_byte_is_found(mixdown: Mixdown, chats: Path, tmp_path: Path) -> None:
    ledger = mixdown("import", chats, "--name", "sums", "--json").value["sources"]["sums"]
    assert ledger["read"] == ledger["kept"] + ledger["prompt_only"] + ledger["quarantined"] == 42
    assert mixdown("rows", "sums", "--search", "39 plus", "--json").value["row"] == 39
    assert {row["reason"] for row in mixdown("quarantine", "sums", "--json").rows} == {"bad_json", "unknown_role"}

    planned = mixdown("plan", "--source", "sums", "--json").value
    assert planned["total"] == 40 and planned["sources"][0]["share_realised"] == 1.0
    out = tmp_path / "set"
    report = mixdown("tokenize", "--source", "sums", "--out", out, "--json").value
    assert report["verified"] and report["rows"] > 0 and report["tokens"] > report["trainable_tokens"] > 0
    proof = mixdown("verify", out, "--json").value
    assert proof["ok"] and proof["rows"] == report["rows"] and proof["problems"] == []

    import datasets

    loaded = datasets.load_from_disk(str(out))
    assert len(loaded) == report["rows"] and loaded[0]["input_ids"].shape == loaded[0]["loss_mask"].shape

    shard = next(out.glob("data-*.arrow"))
    content = bytearray(shard.read_bytes())
    content[len(content) // 2] ^= 1
    shard.write_bytes(content)
    broken = mixdown("verify", out, "--json", code=1).value
    assert not broken["ok"] and shard.name in " ".join(broken["problems"])


def test_a_source_can_be_given_as_a_file_with_a_weight(mixdown: Mixdown, chats: Path) -> None:
    assert mixdown("plan", "--source", f"{chats}=2", "--json").value["total"] == 40


def test_runs_of_the_command_are_listed_with_what_they_made(mixdown: Mixdown, chats: Path) -> None:
    mixdown("import", chats, "--name", "sums")
    run = mixdown("runs", "--json").value
    assert run["kind"] == "import" and run["state"] == "done"
    assert mixdown("runs", "show", run["id"], "--json").value["result"]["sources"]["sums"]["kept"] == 40
    mixdown("runs", "delete", run["id"])
    assert mixdown("runs", "--json").out == ""
    assert "no run" in mixdown("runs", "show", run["id"], code=2).err


def test_home_can_stand_before_the_command(mixdown: Mixdown, chats: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    mixdown("--home", other, "import", chats, "--name", "sums")
    assert (other / "sources" / "sums").is_dir() and not (mixdown.home / "sources").exists()


def unusable(folder: Path) -> list[tuple[list[object], str]]:
    empty = folder / "empty.jsonl"
    empty.touch()
    lying = folder / "rows.parquet"
    lying.write_text("<html><body>moved</body></html>")
    bare = folder / "bare"
    bare.mkdir()
    (bare / "tokenizer.json").write_bytes((BUNDLED_TARGET / "tokenizer.json").read_bytes())
    return [
        (["import", empty], "empty"),
        (["import", lying], "parquet"),
        (["import", folder / "nowhere"], "nowhere"),
        (["convert", empty, "--json"], "empty"),
        (["probe", "--target", bare], "template"),
        (["probe", "--target", folder / "nowhere"], "nowhere"),
        (["rows", "nothing"], "nothing"),
        (["tokenize", "--source", "nothing", "--out", folder / "o"], "nothing"),
        (["tokenize", folder / "none.toml", "--out", folder / "o"], "none.toml"),
        (["tokenize", "--out", folder / "o"], "recipe"),
        (["verify", folder / "nowhere"], "nowhere"),
        (["train", "--data", folder / "nowhere", "--out", folder / "d"], "nowhere"),
        (["evaluate", "--drafter", folder / "nowhere"], "nowhere"),
        (["plan", "--source", "x=heavy"], "heavy"),
    ]


@pytest.mark.parametrize("number", range(14))
def test_bad_input_ends_with_one_sentence_and_exit_2_and_leaves_nothing(mixdown: Mixdown, tmp_path: Path, number: int) -> None:
    args, word = unusable(tmp_path)[number]
    before = set(tmp_path.iterdir())
    ran = mixdown(*args, code=2)
    said = " ".join(ran.err.split())
    assert word in said and ran.out == ""
    assert set(tmp_path.iterdir()) - before <= {mixdown.home}


def test_an_output_that_cannot_be_written_is_said_before_any_work(mixdown: Mixdown, chats: Path) -> None:
    mixdown("import", chats, "--name", "sums")
    assert "/proc" in mixdown("tokenize", "--source", "sums", "--out", "/proc/set", code=2).err


def test_help_is_light() -> None:
    code = "import sys, core.cli; print([m for m in ('torch', 'transformers', 'datasets', 'pyarrow', 'streamlit') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True).stdout.strip() == "[]"


def test_ctrl_c_ends_an_import_and_leaves_no_source(mixdown: Mixdown, tmp_path: Path) -> None:
    big = tmp_path / "big.jsonl"
    line = '{"instruction": "Count to %d.", "output": "' + "one, two, three, " * 40 + '"}\n'
    with big.open("w") as file:
        file.writelines(line % n for n in range(150_000))
    env = os.environ | {"MIXDOWN_HOME": str(mixdown.home)}
    process = subprocess.Popen([sys.executable, "-m", "core.cli", "import", str(big)], cwd=ROOT, env=env, stderr=subprocess.PIPE, text=True)
    runs = mixdown.home / "runs"
    until = time.monotonic() + 60
    while not list(runs.glob("*/progress.json")) and time.monotonic() < until:
        time.sleep(0.05)
    process.send_signal(2)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 1 and "cancelled" in said and "Traceback" not in said
    assert not (mixdown.home / "sources" / "big").exists()
    assert mixdown("runs", "--json").value["state"] == "cancelled"
