"""Fetches what Mixdown needs of a target from the hub: tokenizer, template and configs, never weights.

It knows the hub's errors and turns each into what a person can do about it. It does not read the files.
"""

import re
from pathlib import Path

from core.errors import InputError

FILES = (
    "config.json",
    "generation_config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "chat_template.jinja",
    "chat_template.json",
    "additional_chat_templates/*.jinja",
)
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?(@[\w./-]+)?")
_TIMEOUT = 10.0  # seconds for the first answer; a cached copy is used where the hub does not answer


class TargetUnavailable(InputError):
    """The hub does not give this target: unknown, gated, or out of reach."""


def looks_like_hub_id(name: str) -> bool:
    """Whether `name` can be `owner/model`, with `@revision` or without."""
    return _HUB_ID.fullmatch(name) is not None and ".." not in name


def fetch(name: str) -> Path:
    """The local folder with the target's files, fetched or from the cache. Raises `TargetUnavailable`."""
    from huggingface_hub import snapshot_download  # noqa: PLC0415  (half a second that local targets need not wait)
    from huggingface_hub.errors import (  # noqa: PLC0415
        GatedRepoError,
        HfHubHTTPError,
        HFValidationError,
        LocalEntryNotFoundError,
        OfflineModeIsEnabled,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )

    repo, _, revision = name.partition("@")
    try:
        folder = snapshot_download(repo, revision=revision or None, allow_patterns=list(FILES), etag_timeout=_TIMEOUT)
    except GatedRepoError as error:
        raise TargetUnavailable(
            f"{repo} is gated: accept its terms on its page, then log in with `hf auth login` and try again."
        ) from error
    except RevisionNotFoundError as error:
        raise TargetUnavailable(f"{repo} has no revision {revision!r}; choose one that its page lists.") from error
    except (RepositoryNotFoundError, HFValidationError) as error:
        raise TargetUnavailable(
            f"There is no folder {name!r}, and the hub has no model of that name (or it is private); check the path or the id."
        ) from error
    except (LocalEntryNotFoundError, OfflineModeIsEnabled, HfHubHTTPError, OSError) as error:
        raise TargetUnavailable(
            f"There is no folder {name!r}, and as a hub id it cannot be fetched now ({type(error).__name__}); "
            "check the path, or go online once so that it is cached."
        ) from error
    return Path(folder)
