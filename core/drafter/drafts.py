"""What a drafter proposes for one round: a chain or a tree of tokens after the committed one, and how to look at it afterwards.

Plain data; nothing here runs a model.
"""

import heapq
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor


@dataclass(frozen=True)
class Draft:
    """Drafted tokens, each after its parent; a parent stands before its children."""

    tokens: tuple[int, ...]
    parents: tuple[int, ...] | None = None
    """The place of each token's parent among `tokens`, -1 for the committed token. None: a chain, every token after the one before it."""
    probabilities: tuple[float, ...] = ()
    """what the drafter gave each token at its depth, where it says so"""
    drawn_from: Tensor | None = None
    """[tokens, vocabulary] float32, for a chain: the distribution each token was drawn from. None: the tokens were chosen, not drawn."""

    @property
    def lineage(self) -> tuple[int, ...]:
        """The parents, of a chain too."""
        return tuple(range(-1, len(self.tokens) - 1)) if self.parents is None else self.parents

    @cached_property
    def depths(self) -> tuple[int, ...]:
        """How many tokens after the committed one each token stands, from 1."""
        found: list[int] = []
        for parent in self.lineage:
            found.append(1 if parent < 0 else found[parent] + 1)
        return tuple(found)

    @cached_property
    def children(self) -> dict[tuple[int, int], int]:
        """The place of the child of a place (-1: the committed token) with a token."""
        return {(parent, token): place for place, (parent, token) in enumerate(zip(self.lineage, self.tokens, strict=True))}

    def visible(self) -> Tensor:
        """Bool [1 + tokens, 1 + tokens]: the committed token and each draft see themselves and their ancestors."""
        size = len(self.tokens) + 1
        rows = [1]
        for place, parent in enumerate(self.lineage, 1):
            rows.append(rows[parent + 1] | 1 << place)
        return torch.tensor([[row >> place & 1 for place in range(size)] for row in rows], dtype=torch.bool)


def best_first(tokens: Sequence[Sequence[int]], scores: Sequence[Sequence[float]], budget: int) -> Draft:
    """DDTree (arXiv 2604.12989): the `budget` most probable prefixes, when each depth's token is drawn by itself.

    `tokens` and `scores` [depths, ranks]: the drafter's best tokens at each depth with their log probabilities, best first. A node's
    score is the sum along its path. Popping the best one gives a node, and two candidates: its next sibling and its first child.
    """
    # (score negated, how many were pushed before: ties go to the earlier, parent, depth, rank, score of the parent)
    waiting = [(-scores[0][0], 0, -1, 0, 0, 0.0)] if scores and scores[0] else []
    pushed = 1
    said: list[int] = []
    parents: list[int] = []
    probabilities: list[float] = []
    while waiting and len(said) < budget:
        negative, _, parent, depth, rank, above = heapq.heappop(waiting)
        place = len(said)
        said.append(tokens[depth][rank])
        parents.append(parent)
        probabilities.append(math.exp(scores[depth][rank]))
        if rank + 1 < len(scores[depth]):
            heapq.heappush(waiting, (-above - scores[depth][rank + 1], pushed, parent, depth, rank + 1, above))
        if depth + 1 < len(scores):
            heapq.heappush(waiting, (negative - scores[depth + 1][0], pushed + 1, place, depth + 1, 0, -negative))
        pushed += 2
    return Draft(tuple(said), tuple(parents), tuple(probabilities))


@dataclass(frozen=True)
class Round:
    """One round of speculative decoding, to be looked at."""

    committed: int
    draft: Draft
    accepted: tuple[int, ...]
    """places of the drafts the target agreed with, from the first on"""
    gained: tuple[int, ...]
    """the tokens it gave: the accepted ones and the target's own next, as far as the response went"""

    def to_json(self) -> dict[str, Any]:
        """`{"committed", "gained", "nodes": [{"token", "parent", "depth", "probability", "accepted"}]}`; `parent` as in `Draft.parents`."""
        draft, accepted = self.draft, set(self.accepted)
        probabilities = draft.probabilities or (None,) * len(draft.tokens)
        nodes = [
            {"token": token, "parent": parent, "depth": depth, "probability": probability, "accepted": place in accepted}
            for place, (token, parent, depth, probability) in enumerate(
                zip(draft.tokens, draft.lineage, draft.depths, probabilities, strict=True)
            )
        ]
        return {"committed": self.committed, "gained": list(self.gained), "nodes": nodes}


Looker = Callable[[Round], None]
"""Is shown every round."""
