"""Any number of conversations through the fast path, held back until it is known that none of the rows will have to be made again.

It knows what `FastReport.mismatched` means. It does not know where conversations come from.
"""

import pickle
from collections.abc import Iterable, Iterator
from itertools import islice
from tempfile import SpooledTemporaryFile
from typing import TypeVar

from core.chat.fast import FastPath
from core.chat.supervision import Supervised, supervise
from core.conversation import Conversation

BATCH = 256
"""Conversations that are tokenized at a time."""

_IN_MEMORY = 64 << 20
"""Bytes of results that wait in memory; more of them wait in a temporary file."""

Key = TypeVar("Key")


def settled(
    path: FastPath, conversations: Iterable[tuple[Key, Conversation | None]], batch: int = BATCH
) -> Iterator[tuple[Key, Supervised | None]]:
    """What became of each conversation, in their order, beside its key; None where there is none. Equal to `supervise` on each.

    Nothing is given before the last one is made: should a check fail on the way, all that was made before by the fast path is made
    again by the slow one.
    """
    rows, doubted, count = iter(conversations), 0, 0
    with SpooledTemporaryFile(max_size=_IN_MEMORY) as waiting:
        while chunk := list(islice(rows, batch)):
            failed = path.report.mismatched
            made = iter(path.supervise_batch([one for _, one in chunk if one is not None]))
            pickle.dump([(key, one, None if one is None else next(made)) for key, one in chunk], waiting)
            if path.report.mismatched > failed:
                doubted = count
            count += 1
        waiting.seek(0)
        for number in range(count):
            for key, conversation, supervised in pickle.load(waiting):  # noqa: S301  (a file of our own, without a name)
                again = number < doubted and conversation is not None
                yield key, supervise(conversation, path.target, path.supervision) if again else supervised
