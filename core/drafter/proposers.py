"""The ways to draft a round of one response: a DFlash model's chain or tree, or what the text itself said before. None verifies."""

import math
from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor

from core.drafter.drafts import Draft, best_first
from core.drafter.lean_drafter import LeanDraft
from core.drafter.model import DraftModel
from core.drafter.sampling import Chooser
from core.drafter.target import TargetEnds, TargetModel


class Drafter(Protocol):
    """Whatever proposes tokens during one response."""

    layers: Sequence[int]
    """The target's hidden states it wants to see."""

    def extend(self, tokens: Sequence[int], features: Tensor) -> None:
        """Learn tokens that were settled (all but the newest committed one) and their features [tokens, layers * hidden]."""

    def propose(self, committed: int) -> Draft:
        """Draft what follows the newest committed token, whose own features are not known yet."""


class BlockDrafter(Protocol):
    """A DFlash model in one response."""

    layers: Sequence[int]
    vocabulary: int
    """of the target"""

    def extend(self, features: Tensor) -> None:
        """Learn the features [tokens, layers * hidden] of settled tokens."""

    def logits(self, committed: int) -> Tensor:
        """[block size - 1, draft vocabulary] of the slots after the committed token."""

    said: Tensor | None
    """[draft vocabulary] int64: the target's ids of what it can say; None: all of them in order."""


class DrafterSource:
    """Starts a DFlash model in response after response, the lean way where that agrees with the model."""

    def __init__(self, model: DraftModel, target: TargetModel) -> None:
        self.model, self.ends = model, target.ends
        lean = LeanDraft(model, target.ends, target.head)
        self.lean = lean if lean.agrees_with(model) else None

    def start(self) -> BlockDrafter:
        """A drafter for a new response."""
        return LeanBlocks(self.lean, self.model.said) if self.lean else ModelBlocks(self.model, self.ends)


class LeanBlocks:
    """One response of a `LeanDraft`."""

    def __init__(self, lean: LeanDraft, said: Tensor | None = None) -> None:
        self._lean, self._cache, self.said = lean, lean.cache(), said
        self.layers: Sequence[int] = lean.shape.target_layers
        self.vocabulary = lean.shape.vocab_size

    def extend(self, features: Tensor) -> None:
        """Learn the features [tokens, layers * hidden] of settled tokens."""
        self._lean.extend(features, self._cache)

    def logits(self, committed: int) -> Tensor:
        """As `BlockDrafter.logits`."""
        return self._lean.logits(committed, self._cache)


class ModelBlocks:
    """One response of any `DraftModel`: slower, and the oracle of `LeanBlocks`."""

    def __init__(self, model: DraftModel, ends: TargetEnds) -> None:
        self._model = model
        self._head = model.lm_head or ends.head
        self._embed = ends.embed
        self.said = model.said
        self.layers: Sequence[int] = model.shape.target_layers
        self.vocabulary = model.shape.vocab_size
        self._context: list[tuple[Tensor, Tensor]] = []
        self._length = 0
        self._tokens = torch.full((1, 1, model.shape.block_size), model.shape.mask_token_id)
        self._slots = torch.arange(model.shape.block_size)[None, None]

    def extend(self, features: Tensor) -> None:
        """Learn the features [tokens, layers * hidden] of settled tokens."""
        new = self._model.context(features[None], self._length)
        if self._context:
            new = [(torch.cat([k, nk], 1), torch.cat([v, nv], 1)) for (k, v), (nk, nv) in zip(self._context, new, strict=True)]
        self._context = new
        self._length += len(features)

    def logits(self, committed: int) -> Tensor:
        """As `BlockDrafter.logits`."""
        self._tokens[..., 0] = committed
        states = self._model(self._embed(self._tokens), self._slots + self._length, self._context, None)
        logits: Tensor = self._head(states[0, 0, 1:])
        return logits


class ChainDrafter:
    """The most probable token of every slot; with a drawing chooser a token drawn at its temperature."""

    def __init__(self, blocks: BlockDrafter, chooser: Chooser | None = None, confidence: float = 0.0) -> None:
        """A chosen chain ends before the first token with which its probability, as the drafter has it, falls below `confidence`."""
        self._blocks = blocks
        self._least = math.log(confidence) if confidence else -math.inf
        self._chooser = chooser if chooser is not None and chooser.temperature else None
        self.layers = blocks.layers
        self._vocabulary = blocks.vocabulary

    def extend(self, tokens: Sequence[int], features: Tensor) -> None:  # noqa: ARG002 - features are all it looks at
        """As `Drafter.extend`."""
        self._blocks.extend(features)

    def propose(self, committed: int) -> Draft:
        """As `Drafter.propose`: one token at least, block size - 1 at most."""
        logits = self._blocks.logits(committed)
        said = self._blocks.said
        if self._chooser is None:
            most, tokens = logits.max(-1)
            if self._least > -math.inf:
                reached = (most - logits.logsumexp(-1)).cumsum(0)  # falls, so that what is kept is a beginning
                tokens = tokens[: max(1, int((reached >= self._least).sum()))]
            return Draft(tuple((tokens if said is None else said[tokens]).tolist()))
        weights = self._chooser.probabilities(logits)
        if said is not None:
            weights = weights.new_zeros(len(weights), self._vocabulary).index_copy_(1, said, weights)
        return Draft(tuple(self._chooser.draw(slot) for slot in weights), drawn_from=weights)


class TreeDrafter:
    """The `budget` most probable prefixes by the slots' own distributions (DDTree)."""

    def __init__(self, blocks: BlockDrafter, budget: int) -> None:
        self._blocks, self._budget = blocks, budget
        self.layers = blocks.layers

    def extend(self, tokens: Sequence[int], features: Tensor) -> None:  # noqa: ARG002 - features are all it looks at
        """As `Drafter.extend`."""
        self._blocks.extend(features)

    def propose(self, committed: int) -> Draft:
        """As `Drafter.propose`: `budget` tokens, or fewer where the vocabulary ends."""
        logits = self._blocks.logits(committed)
        scores, tokens = logits.topk(min(self._budget, logits.shape[-1]))
        scores -= logits.logsumexp(-1, keepdim=True)
        if self._blocks.said is not None:
            tokens = self._blocks.said[tokens]
        return best_first(tokens.tolist(), scores.tolist(), self._budget)


class PromptLookup:
    """What followed the last few tokens when they last stood in the text: the baseline that needs no training (arXiv 2304.04487)."""

    layers: Sequence[int] = ()

    def __init__(self, length: int, longest: int = 3) -> None:
        """Drafts `length` tokens after a match of `longest` tokens, else of fewer, down to one."""
        self._length, self._longest = length, longest
        self._text: list[int] = []
        self._ends: dict[tuple[int, ...], int] = {}

    def extend(self, tokens: Sequence[int], features: Tensor) -> None:  # noqa: ARG002 - text is all it looks at
        """As `Drafter.extend`; notes where each group of up to `longest` tokens ends last."""
        for token in tokens:
            self._text.append(token)
            end = len(self._text)
            for size in range(1, min(self._longest, end) + 1):
                self._ends[tuple(self._text[end - size :])] = end

    def propose(self, committed: int) -> Draft:
        """As `Drafter.propose`; nothing where the text never said the newest token before."""
        recent = [*self._text[-self._longest + 1 :], committed] if self._longest > 1 else [committed]
        for size in range(len(recent), 0, -1):
            end = self._ends.get(tuple(recent[-size:]))
            if end is not None:
                return Draft(tuple([*self._text[end:], committed][: self._length]))
        return Draft(())
