"""How the target's next token is chosen, and which drafts it accepts: greedy, or drawn with a temperature.

Either way the response is distributed as without drafts. Nothing here runs a model.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from core.drafter.drafts import Draft
from core.errors import InputError

Choice = Callable[[int], int]


class BadSampling(InputError):
    """A temperature that cannot be drawn with."""


class Chooser:
    """Chooses tokens of one response: the most probable one at temperature 0, else drawn; the same seed draws the same."""

    def __init__(self, temperature: float = 0.0, seed: int = 0) -> None:
        if not 0 <= temperature < float("inf"):
            raise BadSampling(f"The temperature is {temperature}: give 0 for greedy decoding, or a positive number.")
        self.temperature = temperature
        self._generator = torch.Generator().manual_seed(seed)

    def probabilities(self, logits: Tensor) -> Tensor:
        """The distribution [..., vocabulary] drawn from; only for temperatures above 0."""
        return (logits / self.temperature).softmax(-1)

    def choose(self, logits: Tensor) -> int:
        """The next token after logits [vocabulary]."""
        if not self.temperature:
            return int(logits.argmax())
        return self.draw(self.probabilities(logits))

    def draw(self, weights: Tensor) -> int:
        """A token drawn by weights [vocabulary] that need not sum to 1."""
        return int(torch.multinomial(weights, 1, generator=self._generator))

    def verify(self, draft: Draft, logits: Tensor) -> tuple[list[int], int]:
        """Which drafts are accepted, as places in the draft, and the target's own next token after them.

        `logits` [1 + drafts, vocabulary] float32: after the committed token and after each draft.
        """
        if not self.temperature:
            said: list[int] = logits.argmax(-1).tolist()
            if draft.parents is None:
                wrong = next((place for place, token in enumerate(draft.tokens) if token != said[place]), len(draft.tokens))
                return list(range(wrong)), said[wrong]
            return _follow(draft, said.__getitem__)
        if draft.drawn_from is not None:
            return self._reject(draft, draft.drawn_from, self.probabilities(logits))
        # A chosen draft is a draw from a point mass q: accepting it with min(1, p / q) and else drawing from (p - q)+ is the same as
        # drawing from p and looking whether the draft was drawn.
        return _follow(draft, lambda place: self.choose(logits[place]))

    def _reject(self, draft: Draft, drawn_from: Tensor, wanted: Tensor) -> tuple[list[int], int]:
        """The rejection rule of speculative sampling (arXiv 2211.17192, 2302.01318) on a chain."""
        for place, token in enumerate(draft.tokens):
            p, q = wanted[place], drawn_from[place]
            if float(torch.rand((), generator=self._generator)) * float(q[token]) >= float(p[token]):
                rest = (p - q).clamp_min(0)
                return list(range(place)), self.draw(rest if float(rest.sum()) > 0 else p)
        return list(range(len(draft.tokens))), self.draw(wanted[-1])


GREEDY = Chooser()


def _follow(draft: Draft, choice: Choice) -> tuple[list[int], int]:
    """Walk down the draft while the target's choice after a place is a child of it. `choice` counts the committed token as 0."""
    path: list[int] = []
    place = -1
    while True:
        token = choice(place + 1)
        following = draft.children.get((place, token))
        if following is None:
            return path, token
        path.append(following)
        place = following
