"""Fetching from the hub: every ending is as designed, and nothing half-written has a final name."""

import errno
import io
import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from huggingface_hub import constants

from core.errors import MixdownError
from core.sources import HubReference, Library, import_source
from core.sources.hub import client, download
from core.sources.hub.download import HubCut, HubDamaged, NoRoom, fetch
from core.sources.hub.troubles import HubBusy, HubGated, HubMissing, HubRevisionMissing, HubTrouble, HubUnreachable
from core.watch import Cancelled, Progress, Unwatched
from core.workspace import Workspace
from tests.sources.conftest import talk
from tests.sources.hub.conftest import Listens
from tests.sources.hub_server import OTHER_TOKEN, TOKEN, HubServer, commit_id

REPO = "people/talks"
WANTED = HubReference(REPO)


def lines(*rows: object) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def parquet(*rows: dict) -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(list(rows)), sink)
    return sink.getvalue()


TALKS = lines(*(talk(f"question {number}") for number in range(3_000)))


@pytest.fixture
def downloads(tmp_path: Path) -> Path:
    return tmp_path / "downloads"


def named_files(folder: Path) -> list[str]:
    """What stands under a final name."""
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file() and not path.name.endswith(".part"))


@pytest.mark.parametrize("large", [True, False])
def test_a_public_data_set_is_imported_with_its_commit_as_revision(hub: HubServer, workspace: Workspace, large: bool) -> None:
    hub.add(REPO, {"README.md": b"# hi", "data/train.jsonl": TALKS}, large={"data/train.jsonl"} if large else set())
    source = import_source(workspace, "talks", WANTED)
    assert source.rows == 3_000
    assert source.origin.revision == commit_id(0)
    assert source.origin.place == HubReference(REPO, revision=commit_id(0))
    assert str(source.origin) == f"{REPO} at {commit_id(0)[:12]}"
    assert Library(workspace).source("talks").origin == source.origin


def test_a_second_import_fetches_nothing_again(hub: HubServer, workspace: Workspace) -> None:
    hub.add(REPO, {"train.jsonl": TALKS})
    import_source(workspace, "talks", WANTED)
    import_source(workspace, "again", WANTED)
    assert hub.served("train.jsonl") == [None]


def test_an_import_again_of_files_that_are_here_needs_no_hub(hub: HubServer, workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    from core.jobs import ImportJob, again_item, perform_here

    hub.add(REPO, {"a.jsonl": TALKS, "b.jsonl": b"", "c.jsonl": lines({"messages": [{"role": "alien", "content": "beep"}]})})
    first = import_source(workspace, "talks", WANTED)
    assert (first.ledger.kept, first.ledger.quarantined) == (3_000, 1)
    asked = len(hub.asked)
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")  # nobody listens there
    item = again_item(workspace, "talks", {"unknown_role": "repair"})
    perform_here(ImportJob(home=workspace.home, items=(item,)))
    again = Library(workspace).source("talks")
    assert again.info["policy"] == {"unknown_role": "repair"}
    assert again.ledger.raw_rows == 3_001
    assert again.origin == first.origin
    assert again.warnings == first.warnings == ("Nothing is in b.jsonl: an empty file gives no rows.",)
    assert len(hub.asked) == asked
    (workspace.downloads / REPO.replace("/", "--") / commit_id(0) / "a.jsonl").write_bytes(TALKS[:-1])
    with pytest.raises(HubUnreachable):
        import_source(workspace, "talks", item.origin)


def test_progress_tells_bytes(hub: HubServer, downloads: Path, listens: Listens) -> None:
    hub.add(REPO, {"a.jsonl": TALKS, "b.jsonl": TALKS})
    fetch(WANTED, downloads, listens)
    done = [progress.done for progress in listens.heard]
    assert done == sorted(done)
    last = listens.heard[-1]
    assert (last.phase, last.done, last.total, last.unit) == (f"fetch {REPO}", 2 * len(TALKS), 2 * len(TALKS), "bytes")
    assert last.counts == {"file": 2, "files": 2}


def test_a_gated_data_set_says_where_to_accept_its_terms(hub: HubServer, downloads: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.add(REPO, {"train.jsonl": TALKS}, gated=True)
    with pytest.raises(HubGated, match=r"accept its terms on .*/datasets/people/talks, log in"):
        fetch(WANTED, downloads, Unwatched())
    monkeypatch.setenv("HF_TOKEN", OTHER_TOKEN)
    with pytest.raises(HubGated, match=r"your token has no access"):
        fetch(WANTED, downloads, Unwatched())
    assert named_files(downloads) == []
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    assert fetch(WANTED, downloads, Unwatched()).files == ("train.jsonl",)


def test_the_token_is_written_nowhere(
    hub: HubServer, workspace: Workspace, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    from core.jobs import ImportItem, ImportJob, perform_here

    hub.add(REPO, {"train.jsonl": TALKS}, gated=True, large={"train.jsonl"})
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    perform_here(ImportJob(home=workspace.home, items=(ImportItem(name="talks", origin=WANTED),)))
    monkeypatch.setenv("HF_TOKEN", OTHER_TOKEN)
    with pytest.raises(MixdownError) as refused:
        perform_here(
            ImportJob(
                home=workspace.home,
                items=(ImportItem(name="refused", origin=HubReference(REPO, revision=commit_id(0), files=("README",))),),
            )
        )
    written = b"".join(path.read_bytes() for path in workspace.home.rglob("*") if path.is_file())
    said = "".join(capfd.readouterr()) + str(refused.value)
    for token in (TOKEN, OTHER_TOKEN):
        assert token.encode() not in written
        assert token not in said
    assert any(authorization == f"Bearer {TOKEN}" for _, _, authorization in hub.asked)


def test_a_missing_data_set_may_have_been_renamed(hub: HubServer, downloads: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(HubMissing, match=r"no data set 'people/talks': it may have been renamed or removed.*log in"):
        fetch(WANTED, downloads, Unwatched())
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    with pytest.raises(HubMissing, match=r"may have been renamed"):
        fetch(WANTED, downloads, Unwatched())
    assert not downloads.exists()


def test_a_missing_revision_is_named(hub: HubServer, downloads: Path) -> None:
    hub.add(REPO, {"train.jsonl": TALKS})
    with pytest.raises(HubRevisionMissing, match=r"no revision 'v9'"):
        fetch(HubReference(REPO, revision="v9"), downloads, Unwatched())


def test_the_first_digits_of_a_commit_are_enough(hub: HubServer, downloads: Path) -> None:
    hub.add(REPO, {"train.jsonl": TALKS}).versions.append({"train.jsonl": lines(talk("new"))})
    fetched = fetch(HubReference(REPO, revision=commit_id(0)[:8]), downloads, Unwatched())
    assert fetched.reference.revision == commit_id(0)
    assert (fetched.folder / "train.jsonl").read_bytes() == TALKS


@pytest.mark.parametrize("after", [0, 1])
def test_a_rate_limit_is_waited_out_as_told(hub: HubServer, downloads: Path, listens: Listens, after: int) -> None:
    hub.add(REPO, {"train.jsonl": TALKS})
    refusal = (429, {"Retry-After": "1"})
    if after == 0:
        hub.refusals = [refusal]
    else:
        hub.on_listing = lambda: hub.refusals.append(refusal)
    fetched = fetch(WANTED, downloads, listens)
    assert (fetched.folder / "train.jsonl").read_bytes() == TALKS
    waits = [progress for progress in listens.heard if progress.unit == "seconds"]
    assert waits
    assert (waits[0].phase, waits[0].total) == (f"{REPO}: the hub asked to wait", 1)


def test_a_rate_limit_without_end_is_given_up_on(hub: HubServer, downloads: Path) -> None:
    hub.add(REPO, {"train.jsonl": TALKS})
    hub.refusals = [(429, {"Retry-After": "0"})] * 50
    with pytest.raises(HubBusy, match=r"too many requests"):
        fetch(WANTED, downloads, Unwatched())
    assert len(hub.asked) == client.MOST_TRIES


def test_a_rate_limit_of_an_hour_is_not_waited_out(hub: HubServer, downloads: Path) -> None:
    hub.add(REPO, {"train.jsonl": TALKS})
    hub.refusals = [(429, {"Retry-After": "3600"})]
    with pytest.raises(HubBusy, match=r"try again in 3,600 s"):
        fetch(WANTED, downloads, Unwatched())


def test_waiting_can_be_cancelled(hub: HubServer, downloads: Path, listens: Listens) -> None:
    hub.add(REPO, {"train.jsonl": TALKS})
    hub.refusals = [(429, {"Retry-After": "200"})]
    listens.enough = True
    with pytest.raises(Cancelled):
        fetch(WANTED, downloads, listens)


@pytest.mark.parametrize("large", [True, False])
def test_a_connection_cut_half_way_is_taken_up_again(hub: HubServer, downloads: Path, large: bool) -> None:
    hub.add(REPO, {"train.jsonl": TALKS}, large={"train.jsonl"} if large else set())
    hub.cuts = [100_000, 50_000]
    fetched = fetch(WANTED, downloads, Unwatched())
    assert (fetched.folder / "train.jsonl").read_bytes() == TALKS
    assert [ranges for path, ranges, _ in hub.asked if path.endswith("train.jsonl") and (not large or "cdn" in path)] == [
        None,
        "bytes=100000-",
        "bytes=150000-",
    ]


def test_a_server_without_ranges_sends_it_again(hub: HubServer, downloads: Path) -> None:
    hub.add(REPO, {"train.jsonl": TALKS})
    hub.cuts, hub.ranges = [100_000], False
    fetched = fetch(WANTED, downloads, Unwatched())
    assert (fetched.folder / "train.jsonl").read_bytes() == TALKS


def test_a_connection_that_always_breaks_is_one_sentence_and_the_next_import_goes_on(hub: HubServer, downloads: Path) -> None:
    hub.add(REPO, {"train.jsonl": TALKS})
    hub.cuts = [100_000] + [0] * 20
    with pytest.raises(HubCut, match=r"broke 5 times .* \(0.1 of 0.\d MB are here\): import again, it goes on"):
        fetch(WANTED, downloads, Unwatched())
    assert named_files(downloads) == []
    hub.cuts, hub.asked = [], []
    fetched = fetch(WANTED, downloads, Unwatched())
    assert hub.served("train.jsonl") == ["bytes=100000-"]
    assert (fetched.folder / "train.jsonl").read_bytes() == TALKS
    assert [path.name for path in fetched.folder.iterdir()] == ["train.jsonl"]


def test_a_revision_that_moves_between_listing_and_download_changes_nothing(hub: HubServer, downloads: Path) -> None:
    dataset = hub.add(REPO, {"train.jsonl": TALKS})
    hub.on_listing = lambda: dataset.versions.append({"train.jsonl": lines(talk("other"))})
    fetched = fetch(WANTED, downloads, Unwatched())
    assert fetched.reference.revision == commit_id(0)
    assert (fetched.folder / "train.jsonl").read_bytes() == TALKS


def test_a_revision_that_is_rewritten_between_listing_and_download_is_gone(hub: HubServer, downloads: Path) -> None:
    dataset = hub.add(REPO, {"train.jsonl": TALKS})
    hub.on_listing = dataset.versions.clear
    with pytest.raises(HubRevisionMissing):
        fetch(WANTED, downloads, Unwatched())
    assert named_files(downloads) == []


@pytest.mark.parametrize("large", [True, False])
def test_bytes_that_are_not_those_listed_are_refused(hub: HubServer, downloads: Path, large: bool) -> None:
    dataset = hub.add(REPO, {"train.jsonl": TALKS}, large={"train.jsonl"} if large else set())
    hub.on_listing = lambda: dataset.versions[0].update({"train.jsonl": TALKS.replace(b"question", b"quastion")})
    with pytest.raises(HubDamaged, match=r"arrived damaged twice"):
        fetch(WANTED, downloads, Unwatched())
    assert named_files(downloads) == []


def test_a_fetch_that_was_stopped_is_gone_on_with(hub: HubServer, downloads: Path) -> None:
    class HasEnough(Listens):
        def progress(self, progress: Progress) -> None:
            self.enough = progress.done >= 100_000

    hub.add(REPO, {"train.jsonl": TALKS})
    with pytest.raises(Cancelled):
        fetch(WANTED, downloads, HasEnough())
    assert named_files(downloads) == []
    assert (fetch(WANTED, downloads, Unwatched()).folder / "train.jsonl").read_bytes() == TALKS
    assert hub.served("train.jsonl")[-1] is not None


def test_servers_that_fail_are_asked_again(hub: HubServer, downloads: Path) -> None:
    hub.add(REPO, {"train.jsonl": TALKS})
    hub.refusals = [(503, {}), (500, {})]
    assert fetch(WANTED, downloads, Unwatched()).files == ("train.jsonl",)
    hub.refusals = [(503, {})] * 20
    with pytest.raises(HubUnreachable, match=r"HTTP 503"):
        fetch(WANTED, downloads, Unwatched())


def test_no_network_is_one_sentence(hub: HubServer, downloads: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(HubUnreachable, match=r"cannot be reached at http://127.0.0.1:9"):
        fetch(WANTED, downloads, Unwatched())
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(HubUnreachable, match=r"HF_HUB_OFFLINE is set"):
        fetch(WANTED, downloads, Unwatched())


def test_an_address_that_is_no_hub_is_one_sentence(hub: HubServer, downloads: Path) -> None:
    hub.refusals = [(200, {})]
    with pytest.raises(HubUnreachable, match=r"does not answer as a hub does"):
        fetch(WANTED, downloads, Unwatched())


def test_a_full_disk_is_one_sentence(hub: HubServer, downloads: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.add(REPO, {"train.jsonl": TALKS})

    class Full:
        free = 1_000

    with monkeypatch.context() as patch:
        patch.setattr(download.shutil, "disk_usage", lambda _: Full)
        with pytest.raises(NoRoom, match=r"needs .* MB and .* free: free some space"):
            fetch(WANTED, downloads, Unwatched())
    real: Callable[..., object] = download._Transfer._append

    def fills(self: object, part: object, start: int) -> object:
        yield from real(self, part, start)  # type: ignore[misc]
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(download._Transfer, "_append", fills)
        with pytest.raises(NoRoom, match=r"is full: free some space and import again"):
            fetch(WANTED, downloads, Unwatched())
    assert named_files(downloads) == []


@pytest.mark.parametrize("name", ["../outside.jsonl", "/abs.jsonl"])
def test_a_listing_cannot_reach_outside_the_folder(hub: HubServer, downloads: Path, name: str) -> None:
    hub.add(REPO, {name: TALKS})
    with pytest.raises(HubTrouble, match=r"cannot be a path"):
        fetch(HubReference(REPO, files=(name,)), downloads, Unwatched())


def test_only_the_files_of_the_split_are_fetched_and_read(hub: HubServer, workspace: Workspace) -> None:
    rows = {"train": parquet({"question": "a", "response": "b"}), "test": parquet({"question": "c", "response": "d"})}
    hub.add(REPO, {f"data/{split}-00000-of-00001.parquet": data for split, data in rows.items()})
    import_source(workspace, "train", WANTED)
    source = import_source(workspace, "test", HubReference(REPO, split="test"))
    assert [conversation.messages[0].content for conversation in source.conversations(range(source.rows))] == ["c"]


def test_a_card_that_only_the_readme_has_is_read_there(hub: HubServer, downloads: Path) -> None:
    card = b"---\nconfigs:\n- config_name: main\n  data_files:\n  - split: train\n    path: odd/*.jsonl\n---\n# Talks\n"
    hub.add(REPO, {"README.md": card, "odd/a.jsonl": TALKS, "train.jsonl": TALKS})
    assert fetch(HubReference(REPO, config="main"), downloads, Unwatched()).files == ("odd/a.jsonl",)
    hub.add(REPO, {"README.md": b"---\n: [broken\n---\n", "train.jsonl": TALKS})
    assert fetch(WANTED, downloads / "other", Unwatched()).files == ("train.jsonl",)
