"""What can go wrong with the hub, each as one sentence that says which it is and what to do.

It knows huggingface_hub's errors. It decides nothing about trying again.
"""

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from huggingface_hub.errors import (
    DisabledRepoError,
    EntryNotFoundError,
    GatedRepoError,
    HfHubHTTPError,
    HFValidationError,
    HTTPError,
    OfflineModeIsEnabled,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)
from huggingface_hub.utils import parse_ratelimit_headers

from core.errors import InputError, MixdownError
from core.sources.hub.reference import HubReference


class HubTrouble(InputError):
    """The hub does not give this data set; the message says why and what to do."""


class HubGated(HubTrouble):
    """Its terms were not accepted, or nobody is logged in."""


class HubMissing(HubTrouble):
    """No data set, or no file in it, has this name."""


class HubRevisionMissing(HubTrouble):
    """The data set has no such revision."""


class HubBusy(MixdownError):
    """The hub asks to come back later."""


class HubUnreachable(MixdownError):
    """No answer, or none that the hub gives."""


def trouble(  # noqa: PLR0911 - a list of cases, one sentence each
    error: Exception, wanted: HubReference, endpoint: str, *, logged_in: bool
) -> MixdownError | None:
    """The sentence for an error of huggingface_hub or of the network; None for errors that are neither."""
    page = f"{endpoint}/datasets/{wanted.repo}"
    status = error.response.status_code if isinstance(error, HfHubHTTPError) else None
    if isinstance(error, OfflineModeIsEnabled):
        return HubUnreachable(f"{wanted.repo} cannot be fetched because HF_HUB_OFFLINE is set: unset it, or import a local copy.")
    if isinstance(error, GatedRepoError):
        return _gated(wanted.repo, page, logged_in=logged_in)
    if isinstance(error, DisabledRepoError):
        return HubMissing(f"The hub has disabled {wanted.repo}: see {page} for the reason, or choose another data set.")
    if isinstance(error, RevisionNotFoundError):
        return HubRevisionMissing(
            f"{wanted.repo} has no revision {wanted.revision!r} (any more): choose one that {page}/commits/main lists."
        )
    if isinstance(error, EntryNotFoundError):
        return HubMissing(f"A file of {wanted.repo} is gone from this revision: see {page}/tree/main for those there are.")
    if isinstance(error, RepositoryNotFoundError | HFValidationError) or status in (401, 404):
        if status == 401 and logged_in:
            return HubGated(
                f"The hub does not accept your token for {wanted.repo}: log in again with `hf auth login`, or correct HF_TOKEN."
            )
        also = "" if logged_in else ", or log in with `hf auth login` if it is private"
        return HubMissing(f"The hub has no data set {wanted.repo!r}: it may have been renamed or removed; check the id on {page}{also}.")
    if status == 403:
        return _gated(wanted.repo, page, logged_in=logged_in)
    if status == 429:
        asked = asked_to_wait(error)
        later = f"in {asked:,.0f} s" if asked is not None else "later"
        more = "" if logged_in else ", or log in with `hf auth login` for a higher limit"
        return HubBusy(f"The hub gets too many requests and refuses {wanted.repo} for now (429): try again {later}{more}.")
    if status is not None:
        return HubUnreachable(f"The hub failed on {wanted.repo} (HTTP {status}): try again later.")
    if isinstance(error, HTTPError):
        return HubUnreachable(
            f"The hub cannot be reached at {endpoint} ({type(error).__name__}): check the network and HF_ENDPOINT, or import a local copy "
            f"of {wanted.repo}."
        )
    return None


def passes(error: Exception) -> bool:
    """Whether the same request may succeed a little later: too many requests, a server's failure, a broken connection."""
    if isinstance(error, HfHubHTTPError):
        return error.response.status_code in (408, 429) or error.response.status_code >= 500
    return is_broken_connection(error)


def is_broken_connection(error: Exception) -> bool:
    """Whether the network failed, rather than the hub having answered something."""
    return isinstance(error, HTTPError) and not isinstance(error, HfHubHTTPError)


def asked_to_wait(error: Exception) -> float | None:
    """The seconds after which the hub wants to be asked again, where it says so."""
    if not isinstance(error, HfHubHTTPError):
        return None
    headers = error.response.headers
    text = (headers.get("Retry-After") or "").strip()
    if text.isdigit():
        return float(text)
    if text:
        try:
            return max(0.0, (parsedate_to_datetime(text) - datetime.now(UTC)).total_seconds())
        except (TypeError, ValueError):
            pass
    limit = parse_ratelimit_headers(headers)
    return float(limit.reset_in_seconds) if limit is not None and limit.remaining == 0 else None


def _gated(repo: str, page: str, *, logged_in: bool) -> HubGated:
    if logged_in:
        return HubGated(
            f"{repo} is gated and your token has no access to it: accept its terms on {page} with the token's account, then import again."
        )
    return HubGated(f"{repo} is gated: accept its terms on {page}, log in with `hf auth login` (or set HF_TOKEN), then import again.")
