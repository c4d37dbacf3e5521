"""What names a part of a hub data set: repository, config, split, revision, files. It knows no network."""

import re
from dataclasses import dataclass
from typing import Any

_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}")


@dataclass(frozen=True)
class HubReference:
    """A data set of the hub, or the part of it that is meant. What is None is found out from the repository.

    `files` are paths inside the repository, for those whose files mix shapes; they make config and split needless.
    """

    repo: str
    config: str | None = None
    split: str | None = None
    revision: str | None = None
    files: tuple[str, ...] = ()

    def __str__(self) -> str:
        part = ", ".join(filter(None, (self.config, self.split, *self.files)))
        at = f" at {self.revision[:12]}" if self.revision else ""
        return f"{self.repo}{f' ({part})' if part else ''}{at}"

    def to_json(self) -> dict[str, Any]:
        """`{"repo", "config", "split", "revision", "files"}`."""
        return {**vars(self), "files": list(self.files)}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> "HubReference":
        """The inverse of `to_json`."""
        return cls(**{**value, "files": tuple(value["files"])})


def looks_like_hub_id(text: str) -> bool:
    """Whether it can be `owner/name`."""
    return _HUB_ID.fullmatch(text) is not None and ".." not in text
