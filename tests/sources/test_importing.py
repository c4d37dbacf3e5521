"""Importing: everything accounted for, whole or not at all."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import ClassVar

import pytest

from core.dialects import Policy
from core.errors import InputError, MixdownError
from core.sources import CannotWrite, Library, Source, SourceMissing, UnreadableSource, import_name, import_source, importing, parts
from core.watch import Cancelled, Progress
from core.workspace import BadName, Workspace
from tests.sources.conftest import talk, write_rows

Import = Callable[..., Source]

ROWS = [
    talk("one"),
    "{broken",
    talk("two", None),
    {"messages": "nothing"},
    talk("three \ud800"),
    json.dumps(talk("four")) + "trailing",
]


def everything_below(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.name != ".lock"}


def test_every_row_is_kept_prompt_only_or_quarantined(imported: Import) -> None:
    source = imported(ROWS)
    ledger = source.ledger
    assert (ledger.raw_rows, ledger.read, ledger.kept, ledger.prompt_only, ledger.quarantined) == (6, 6, 2, 1, 3)
    assert ledger.reasons["bad_json"] == 2
    positions = source.index()["position"].to_pylist() + [row["position"] for row in source.quarantine_page().rows]
    assert sorted(positions) == list(range(6))
    assert source.index()["row_id"].to_pylist() == ["talks:0", "talks:2", "talks:4"]


def test_what_is_known_of_the_import_is_recorded(imported: Import, tmp_path: Path) -> None:
    source = imported(ROWS, domain="code", licence="MIT", policy=Policy({"late_system_moved": "quarantine"}))
    assert (source.domain, source.licence, source.title, source.name) == ("code", "MIT", "talks", "talks")
    (file,) = source.origin.files
    origin = tmp_path / "raw" / "talks.jsonl"
    assert (file.path, file.bytes, file.rows, len(file.sha256)) == ("talks.jsonl", origin.stat().st_size, 6, 64)
    assert source.origin.path == origin
    assert source.info["columns"] == {"messages": 4}
    assert source.info["detection"]["dialect"] == source.dialect
    assert source.info["policy"] == {"late_system_moved": "quarantine"}
    assert source.info["bytes"] > 1_000


def test_what_differs_from_the_catalogue_is_said(imported: Import) -> None:
    assert imported([talk("one")], name="gsm8k-test").warnings == (
        "The catalogue expects the columns question, answer, which no row has.",
        "The catalogue expects the dialect question_answer; most rows are openai_messages.",
        "This is an evaluation set: do not train on it.",
        "The catalogue expects about 1,319 rows; 1 were read.",
    )
    assert imported([talk("one")], name="unknown").warnings == ()


def test_the_same_file_is_imported_to_the_same_rows(imported: Import) -> None:
    first = imported(ROWS)
    index = first.index()
    again = imported(ROWS)
    assert first.origin == again.origin
    assert index.equals(again.index())


def test_a_new_import_takes_the_place_of_the_old_one(imported: Import, workspace: Workspace) -> None:
    imported([talk("old")] * 3)
    imported([talk("new")])
    source = Library(workspace).source("talks")
    assert source.ledger.raw_rows == 1
    assert source.conversation(0).messages[0].content == "new"
    versions = [entry for entry in workspace.source("talks").iterdir() if entry.is_dir()]
    assert len(versions) == 1


@pytest.mark.parametrize("content", ["", "<html>error</html>", "Dear reader"])
def test_a_failed_import_leaves_the_old_one(imported: Import, workspace: Workspace, tmp_path: Path, content: str) -> None:
    imported([talk("old")])
    before = everything_below(workspace.home)
    bad = tmp_path / "bad.jsonl"
    bad.write_text(content)
    with pytest.raises(UnreadableSource):
        import_source(workspace, "talks", bad)
    assert everything_below(workspace.home) == before
    assert Library(workspace).source("talks").conversation(0).messages[0].content == "old"


def test_a_failed_first_import_leaves_nothing(workspace: Workspace, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    write_rows(folder / "a.jsonl", [talk("one")] * 600)
    (folder / "b.json").write_text("prose that is no data")  # found out only after the first file was imported
    with pytest.raises(UnreadableSource, match="holds no JSON"):
        import_source(workspace, "talks", folder)
    assert everything_below(workspace.sources) == set()
    with pytest.raises(SourceMissing):
        Library(workspace).source("talks")


class CancelsAfter:
    """A watcher that has enough after some reports."""

    def __init__(self, reports: int) -> None:
        self.left = reports

    def progress(self, progress: Progress) -> None:
        self.left -= 1

    def metric(self, values: Mapping[str, float | int | str]) -> None:
        raise AssertionError("an import has no curves")

    def cancelled(self) -> bool:
        return self.left <= 0


@pytest.mark.parametrize("reports", [0, 1, 3])
def test_cancelling_leaves_nothing_of_the_new_and_all_of_the_old(imported: Import, workspace: Workspace, reports: int) -> None:
    imported([talk("old")])
    before = everything_below(workspace.home)
    with pytest.raises(Cancelled):
        imported([talk(f"row {number}") for number in range(5_000)], watcher=CancelsAfter(reports))
    assert everything_below(workspace.home) == before


def test_progress_tells_rows_and_what_became_of_them(imported: Import) -> None:
    class Listens(CancelsAfter):
        heard: ClassVar[list[Progress]] = []

        def progress(self, progress: Progress) -> None:
            self.heard.append(progress)

    listener = Listens(1)
    imported([talk(f"row {number}") for number in range(2_500)], watcher=listener)
    assert [progress.done for progress in listener.heard] == sorted(progress.done for progress in listener.heard)
    last = listener.heard[-1]
    assert (last.phase, last.done, last.total, last.unit) == ("import talks", 2_500, 2_500, "rows")
    assert last.counts == {"kept": 2_500, "prompt_only": 0, "quarantined": 0}


def test_rows_that_do_not_read_back_are_never_published(imported: Import, workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts.PartWriter, "_finish_part", lambda _: None)
    with pytest.raises(MixdownError):
        imported([talk("one")])
    assert Library(workspace).names() == []


def test_an_origin_that_changes_while_it_is_read_is_noticed(workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_rows(tmp_path / "talks.jsonl", [talk("one")])

    def convert_slowly(*args: object, **options: object) -> object:
        with path.open("a") as file:
            file.write(json.dumps(talk("two")) + "\n")
        return real(*args, **options)

    real = importing.convert
    monkeypatch.setattr(importing, "convert", convert_slowly)
    with pytest.raises(MixdownError, match="was written to while it was imported"):
        import_source(workspace, "talks", path)
    assert Library(workspace).names() == []


@pytest.mark.parametrize("name", ["", "..", ".hidden", "a/b", "../up", "a\0b", "a b", "/abs", "-x", "x" * 101, "a\n"])
def test_names_that_cannot_be_folders_are_refused(workspace: Workspace, tmp_path: Path, name: str) -> None:
    path = write_rows(tmp_path / "talks.jsonl", [talk("one")])
    with pytest.raises(BadName):
        import_source(workspace, name, path)
    with pytest.raises(BadName):
        Library(workspace).source(name)
    assert not workspace.home.exists()


def test_a_workspace_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("a file")
    with pytest.raises(CannotWrite, match="choose another workspace folder") as error:
        import_source(Workspace(tmp_path / "home"), "talks", write_rows(tmp_path / "talks.jsonl", [talk("one")]))
    assert isinstance(error.value, InputError)


def test_two_imports_of_one_name_at_once_leave_one_whole_source(workspace: Workspace, tmp_path: Path) -> None:
    paths = [write_rows(tmp_path / f"{name}.jsonl", [talk(f"{name} {n}") for n in range(1_500)]) for name in ("a", "b")]
    failures: list[BaseException] = []

    def run(path: Path) -> None:
        try:
            import_source(workspace, "talks", path)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(path,)) for path in paths]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    source = Library(workspace).source("talks")
    first = source.conversation(0).messages[0].content[0]
    assert {conversation.messages[0].content[0] for conversation in source.conversations(range(source.rows))} == {first}
    assert len(list(workspace.source("talks").iterdir())) == 2  # one version, and the file that names it


def test_drafts_of_the_dead_are_removed_and_those_of_the_living_are_not(imported: Import, workspace: Workspace) -> None:
    import fcntl

    for name in (".draft-dead", ".draft-alive"):
        folder = workspace.source("talks") / name
        folder.mkdir(parents=True)
        (folder / "owner").touch()
        (folder / "part-00000.arrow").write_bytes(b"half")
    with (workspace.source("talks") / ".draft-alive" / "owner").open() as owner:
        fcntl.flock(owner, fcntl.LOCK_EX)
        assert Library(workspace).names() == []
        imported([talk("one")])
    assert (workspace.source("talks") / ".draft-alive").is_dir()
    assert not (workspace.source("talks") / ".draft-dead").exists()
    assert Library(workspace).names() == ["talks"]


PEAKS = """
import resource, sys
from pathlib import Path
from core.sources import import_source
from core.workspace import Workspace

for path in sys.argv[2:]:
    import_source(Workspace(Path(sys.argv[1])), "talks", Path(path))
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def test_memory_does_not_grow_with_rows(tmp_path: Path) -> None:
    # 20,000 rows are 45 MB of text; held in memory, in the shapes an import has them in, they would be several times that.
    paths = [
        write_rows(tmp_path / f"{count}.jsonl", [talk(f"{n} " + "question " * 250) for n in range(count)]) for count in (2_000, 20_000)
    ]
    command = [sys.executable, "-c", PEAKS, str(tmp_path / "home"), *map(str, paths)]
    root = Path(__file__).parents[2]
    found = os.pathsep.join(filter(None, [str(root), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(command, cwd=root, env={**os.environ, "PYTHONPATH": found}, capture_output=True, text=True, check=True)
    small, large = (int(line) for line in done.stdout.split())
    unit = 1 if sys.platform == "darwin" else 1024
    assert (large - small) * unit < 40_000_000


@pytest.mark.parametrize(
    ("origin", "name"),
    [
        ("chats.jsonl.gz", "chats"),
        ("My chats (2).json", "My-chats-2"),
        ("folder", "folder"),
        ("Ünï.parquet", "n"),
        ("…", "source"),
        ("a.b.csv", "a.b"),
        (".jsonl", "jsonl"),
        ("x" * 200 + ".json", "x" * 100),
    ],
)
def test_a_file_gives_its_source_a_name(origin: str, name: str) -> None:
    assert import_name(Path("/somewhere") / origin) == name


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_file_that_may_not_be_read_is_one_sentence(workspace: Workspace, tmp_path: Path) -> None:
    path = write_rows(tmp_path / "talks.jsonl", [talk("one")])
    path.chmod(0)
    with pytest.raises(UnreadableSource, match="cannot be opened"):
        import_source(workspace, "talks", path)


def test_a_link_to_itself_still_has_a_name(tmp_path: Path) -> None:
    (tmp_path / "loop.jsonl").symlink_to("loop.jsonl")
    assert import_name(tmp_path / "loop.jsonl") == "loop"
