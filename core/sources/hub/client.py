"""Asks the hub: what a data set is made of, and bytes of its files. Waits when told to, a bounded number of times.

The endpoint and the token are huggingface_hub's own (HF_ENDPOINT, HF_TOKEN or its token store); neither is written anywhere. It
knows requests, not what the files are for.
"""

import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from huggingface_hub import DatasetCard, HfApi, constants, get_session, get_token, hf_hub_url
from huggingface_hub.errors import RevisionNotFoundError
from huggingface_hub.utils import build_hf_headers, hf_raise_for_status

from core.sources.hub.reference import HubReference
from core.sources.hub.troubles import HubUnreachable, asked_to_wait, passes, trouble
from core.watch import Progress, Watcher, stop_if_cancelled

MOST_TRIES = 5
LONGEST_WAIT = 300.0
"""Seconds; a hub that asks for more is given up on, with what it asked for in the message."""
PAUSE = 1.0
"""Seconds before the second try of something that broke; doubled with each further one."""
TIMEOUT = 30.0
"""Seconds without a byte after which a connection counts as broken."""

_README_LIMIT = 1 << 20
_ABBREVIATED = re.compile(r"[0-9a-f]{7,39}")

T = TypeVar("T")


@dataclass(frozen=True)
class HubFile:
    """A file of a data set as the hub lists it. Of the hashes at most one is known: large files have a SHA-256, others Git's SHA-1."""

    path: str
    size: int | None
    sha256: str | None
    git_sha1: str | None


@dataclass(frozen=True)
class Repository:
    """A data set at one commit. `configs` is what its card says under that name."""

    commit: str
    files: tuple[HubFile, ...]
    configs: tuple[dict[str, Any], ...]


class Hub:
    """The hub, asked about one data set."""

    def __init__(self, wanted: HubReference, watcher: Watcher) -> None:
        self.wanted = wanted
        self._watcher = watcher
        self._endpoint = (os.environ.get("HF_ENDPOINT") or constants.ENDPOINT).rstrip("/")
        self._token = get_token()
        self._api = HfApi(endpoint=self._endpoint, token=self._token)

    def repository(self) -> Repository:
        """The data set at the commit that the wanted revision is now. Raises `HubTrouble`, `HubBusy`, `HubUnreachable`."""
        try:
            info = self.ask(lambda: self._info(self.wanted.revision))
        except (ValueError, KeyError, TypeError) as error:
            raise HubUnreachable(f"{self._endpoint} does not answer as a hub does ({type(error).__name__}): check HF_ENDPOINT.") from error
        files = tuple(
            HubFile(sibling.rfilename, sibling.size, *((sibling.lfs.sha256, None) if sibling.lfs else (None, sibling.blob_id)))
            for sibling in info.siblings or ()
        )
        commit = info.sha or self.wanted.revision or "main"
        configs = info.card_data.get("configs") if info.card_data is not None else None
        if configs is None and any(file.path == "README.md" for file in files):
            configs = self._card_configs(commit)
        return Repository(commit, files, tuple(entry for entry in configs or () if isinstance(entry, dict)))

    def _info(self, revision: str | None) -> Any:
        try:
            return self._api.dataset_info(self.wanted.repo, revision=revision, files_metadata=True, timeout=TIMEOUT)
        except RevisionNotFoundError:
            # The hub resolves whole commit hashes only; catalogues and people write the first digits.
            if revision is None or not _ABBREVIATED.fullmatch(revision):
                raise
            commits = [commit.commit_id for commit in self._api.list_repo_commits(self.wanted.repo, repo_type="dataset")]
            whole = [commit for commit in commits if commit.startswith(revision)]
            if len(whole) != 1:
                raise
            return self._api.dataset_info(self.wanted.repo, revision=whole[0], files_metadata=True, timeout=TIMEOUT)

    def _card_configs(self, commit: str) -> Any:
        text = self.ask(lambda: self._beginning("README.md", commit, _README_LIMIT)).decode("utf-8", "replace")
        try:
            return DatasetCard(text, ignore_metadata_errors=True).data.get("configs")
        except Exception:  # noqa: BLE001 - a card that is no YAML, in whatever way, says nothing about the files
            return None

    def _beginning(self, path: str, commit: str, size: int) -> bytes:
        with self.opened(path, commit, end=size) as response:
            return b"".join(response.iter_raw())[:size]

    @contextmanager
    def opened(self, path: str, commit: str, start: int = 0, end: int | None = None) -> Iterator[Any]:
        """The response with the bytes `[start, end)` of a file, to be streamed with `iter_raw`; from 0 where its status is not 206."""
        headers = {**build_hf_headers(token=self._token or False), "Accept-Encoding": "identity"}
        if start or end is not None:
            headers["Range"] = f"bytes={start}-{'' if end is None else end - 1}"
        url = hf_hub_url(self.wanted.repo, path, repo_type="dataset", revision=commit, endpoint=self._endpoint)
        with get_session().stream("GET", url, headers=headers, timeout=TIMEOUT) as response:
            hf_raise_for_status(response)
            yield response

    def ask(self, call: Callable[[], T]) -> T:
        """What the call gives; tried again where it may pass. Raises `HubTrouble`, `HubBusy`, `HubUnreachable`, `Cancelled`."""
        for number in range(1, MOST_TRIES + 1):
            try:
                return call()
            except Exception as error:  # noqa: BLE001 - whatever is none of the hub's troubles goes on below
                self.wait_after(error, number)
        raise AssertionError("the last try raises")

    def wait_after(self, error: Exception, tries: int) -> None:
        """Wait until it makes sense to try again what failed `tries` times, else raise the error as a sentence."""
        said = asked_to_wait(error)
        seconds = PAUSE * 2 ** (tries - 1) if said is None else said
        if not passes(error) or tries >= MOST_TRIES or seconds > LONGEST_WAIT:
            sentence = trouble(error, self.wanted, self._endpoint, logged_in=self._token is not None)
            if sentence is None:
                raise error
            raise sentence from error
        self._wait(seconds, "the hub asked to wait" if said is not None else "the connection broke")

    def pause(self, tries: int) -> None:
        """Wait as after a connection that broke for the `tries`-th time."""
        self._wait(PAUSE * 2 ** (tries - 1), "the connection broke")

    def _wait(self, seconds: float, reason: str) -> None:
        stop_if_cancelled(self._watcher)
        began = time.monotonic()
        while (waited := time.monotonic() - began) < seconds:
            stop_if_cancelled(self._watcher)
            self._watcher.progress(Progress(f"{self.wanted.repo}: {reason}", int(waited), max(1, int(seconds)), "seconds"))
            time.sleep(min(0.2, seconds - waited))


def at(wanted: HubReference, commit: str) -> HubReference:
    """The same part at one commit."""
    return replace(wanted, revision=commit)
