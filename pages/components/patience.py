"""A watcher for short work that a page waits for itself: it gives up after a number of seconds instead of holding the page."""

import time

from core.errors import MixdownError
from core.watch import Unwatched


class TooSlow(MixdownError):
    """What a page waited for did not come in time."""


class Patience(Unwatched):
    """Cancels what it watches `seconds` after it was made."""

    def __init__(self, seconds: float) -> None:
        self._until = time.monotonic() + seconds

    def cancelled(self) -> bool:
        """Whether the time is over."""
        return time.monotonic() > self._until
