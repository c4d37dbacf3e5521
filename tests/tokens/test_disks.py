"""Real file systems that are full or cannot be written to: a small memory disk is mounted where the tests may do that."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.mix import dump_recipe
from core.tokens import tokenize, verify
from core.tokens.staging import OutputUnwritable, WriteFailed, partial_folder


class Disk:
    """A memory disk of a size that can be changed while it is mounted."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def mount(self, options: str) -> None:
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", self.folder], capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"no memory disk can be mounted here: {done.stderr.strip()}")

    def change(self, options: str) -> None:
        subprocess.run(["mount", "-o", f"remount,{options}", self.folder], check=True)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    if sys.platform != "linux":
        pytest.skip("memory disks are mounted on Linux only")
    folder = tmp_path / "disk"
    folder.mkdir()
    disk = Disk(folder)
    disk.mount("size=4m")
    yield disk
    subprocess.run(["umount", "-l", folder], check=True)


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture
def whole(two_sources, recipe, tmp_path: Path) -> dict[str, bytes]:
    """The files of the dataset that is meant."""
    tokenize(two_sources, recipe, tmp_path / "clean")
    return content(tmp_path / "clean")


@pytest.mark.parametrize("share", [0.1, 0.5, 0.8, 0.95])
def test_a_disk_that_fills_up_leaves_nothing_under_the_name_and_room_lets_it_go_on(two_sources, recipe, disk, whole, share):
    needed = sum(-(-len(file) // 4096) * 4096 for file in whole.values())
    disk.change(f"size={int(needed * share) // 4096 * 4096}")
    out = disk.folder / "set"
    with pytest.raises(WriteFailed, match="is full; free some space and run again with --resume"):
        tokenize(two_sources, recipe, out)
    assert not out.exists()
    assert partial_folder(out).is_dir()
    disk.change("size=4m")
    tokenize(two_sources, recipe, out, resume=True)
    assert content(out) == whole
    assert [path.name for path in disk.folder.iterdir()] == ["set"]


def test_a_full_disk_is_one_sentence_with_workers_too(two_sources, recipe, disk):
    disk.change("size=40960")
    with pytest.raises(WriteFailed, match="is full"):
        tokenize(two_sources, recipe, disk.folder / "set", workers=2)
    assert not (disk.folder / "set").exists()


def test_a_disk_that_fills_up_keeps_the_dataset_that_was_to_be_replaced(two_sources, recipe, disk, whole):
    out = disk.folder / "set"
    tokenize(two_sources, recipe, out)
    used = sum(path.stat().st_blocks * 512 for path in disk.folder.rglob("*"))
    disk.change(f"size={used // 4096 * 4096 + 65536}")
    with pytest.raises(WriteFailed, match="is full"):
        tokenize(two_sources, recipe.model_copy(update={"seed": 1}), out, overwrite=True)
    assert content(out) == whole
    assert verify(out).ok


def test_a_disk_that_cannot_be_written_is_one_sentence_before_any_work(two_sources, recipe, disk, whole):
    out = disk.folder / "set"
    tokenize(two_sources, recipe, out)
    disk.change("ro")
    with pytest.raises(OutputUnwritable, match="read-only"):
        tokenize(two_sources, recipe, disk.folder / "other")
    with pytest.raises(OutputUnwritable, match="read-only"):
        tokenize(two_sources, recipe, out, overwrite=True)
    assert content(out) == whole
    assert verify(out).ok


def test_the_command_says_that_the_disk_is_full(two_sources, recipe, disk, tmp_path):
    dump_recipe(recipe, tmp_path / "recipe.toml")
    disk.change("size=40960")
    command = [
        sys.executable,
        "-m",
        "core.cli",
        "tokenize",
        tmp_path / "recipe.toml",
        "--out",
        disk.folder / "set",
        "--home",
        two_sources.home,
    ]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2])
    assert done.returncode == 1
    assert "is full" in done.stderr and "Traceback" not in done.stderr and "Exception ignored" not in done.stderr
