"""Where two rows of tokens differ, so that both can be marked side by side. It knows tokens, not screens."""

from collections.abc import Hashable, Sequence
from difflib import SequenceMatcher

from core.chat import ExplainedToken

_LARGEST = 4_000_000
"""Pairs of tokens that are aligned at most, about a second; beyond that, all between the common ends counts as different."""


def differences(left: Sequence[ExplainedToken], right: Sequence[ExplainedToken], *, same_tokenizer: bool) -> tuple[set[int], set[int]]:
    """Positions in each row whose token stands not in the other, or stands there with another mask.

    Tokens of two tokenizers are compared by their bytes, since an id means something else in each.
    """
    ours, theirs = ([_key(token, same_tokenizer) for token in tokens] for tokens in (left, right))
    first: set[int] = set()
    second: set[int] = set()
    for tag, start, end, other_start, other_end in _aligned(ours, theirs):
        if tag != "equal":
            first.update(range(start, end))
            second.update(range(other_start, other_end))
            continue
        for mine, other in zip(range(start, end), range(other_start, other_end), strict=True):
            if left[mine].trainable != right[other].trainable:
                first.add(mine)
                second.add(other)
    return first, second


def _key(token: ExplainedToken, same_tokenizer: bool) -> Hashable:
    return token.id if same_tokenizer else token.bytes


def _aligned(left: Sequence[Hashable], right: Sequence[Hashable]) -> list[tuple[str, int, int, int, int]]:
    """As `SequenceMatcher.get_opcodes`; what both begin and end with is set aside first, because that is nearly everything."""
    shorter = min(len(left), len(right))
    head = next((place for place in range(shorter) if left[place] != right[place]), shorter)
    tail = next((place for place in range(shorter - head) if left[-1 - place] != right[-1 - place]), shorter - head)
    ours, theirs = left[head : len(left) - tail], right[head : len(right) - tail]
    codes = [("equal", 0, head, 0, head)]
    if len(ours) * len(theirs) > _LARGEST:
        codes.append(("replace", head, head + len(ours), head, head + len(theirs)))
    else:
        matched = SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes()
        codes += [(tag, head + a, head + b, head + c, head + d) for tag, a, b, c, d in matched]
    return [*codes, ("equal", len(left) - tail, len(left), len(right) - tail, len(right))]
