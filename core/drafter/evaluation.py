"""Measures a drafter for real: speculative decoding of held-out prompts, checked token by token against plain greedy decoding."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import xxhash

from core.drafter.checkpoint import check_fits, load_drafter, read_state
from core.drafter.decode import Decoded, decode_plain, decode_speculative
from core.drafter.drafts import Looker, Round
from core.drafter.first_weights import begin
from core.drafter.heldout import HeldOut, NoPrompts, load_heldout, spread
from core.drafter.lanes import threads
from core.drafter.pace import Pace
from core.drafter.proposers import ChainDrafter, Drafter, DrafterSource, PromptLookup, TreeDrafter
from core.drafter.report import CHAIN, LOOKUP, EvaluationReport, Sampled, SeenRound, count_way, find_mismatches, first_outputs, speed_of
from core.drafter.sampling import Chooser
from core.drafter.target import TargetModel
from core.drafter.thinking import Thinking, ThinkingSwitch
from core.errors import InputError
from core.watch import Progress, Unwatched, Watcher, stop_if_cancelled

LARGEST_TREE = 512
"""Nodes; a pass over more costs more than any acceptance gives back."""

SHOWN_TREE = 16
"""Of the trees measured, rounds of the one nearest to this budget are kept to be looked at."""


CONFIDENCE = 0.1
"""The target's pass over a token costs time on a processor, also where that token is hardly ever accepted: with this bound the demo's chain
loses a hundredth of its acceptance, and a round takes a tenth less time."""


@dataclass(frozen=True)
class Measured:
    """What is measured besides the greedy chain."""

    trees: tuple[int, ...] = ()
    """node budgets"""
    prompt_lookup: bool = False
    temperature: float = 0.0
    """above 0 the prompts are also answered by drawing"""
    seed: int = 0
    thinking: Thinking = "as-is"
    confidence: float = CONFIDENCE
    """a greedy chain ends where its probability falls below this; 0 drafts whole blocks, as servers do"""

    def __post_init__(self) -> None:
        """Raise for what cannot be measured."""
        Chooser(self.temperature)
        if not 0 <= self.confidence < 1:
            raise InputError(f"The confidence is {self.confidence}: give a probability from 0 (draft whole blocks) to below 1.")
        wrong = [budget for budget in self.trees if not 1 <= budget <= LARGEST_TREE]
        if wrong:
            raise InputError(f"A tree of {wrong[0]} nodes cannot be measured: give budgets from 1 to {LARGEST_TREE}.")


def evaluate(
    drafter: Path,
    target: Path,
    prompts: Sequence[HeldOut] | None = None,
    *,
    max_new_tokens: int = 96,
    limit: int | None = None,
    untrained: bool = False,
    measured: Measured | None = None,
    watcher: Watcher | None = None,
) -> EvaluationReport:
    """The acceptance length of a drafter on `prompts` (default: the `heldout.parquet` in its folder), at most `limit` of them.

    With `untrained` the drafter's weights are drawn anew first, as its training began. Prompts without room for a response in
    the target's context are left out. Raises `DrafterUnusable`, `TargetUnusable`, `NoPrompts`, `NoThinkingSwitch`, and `Cancelled`.
    """
    watcher, measured = watcher or Unwatched(), measured or Measured()
    model = load_drafter(drafter)
    verifier = TargetModel.load(target)
    check_fits(model, drafter, verifier)
    if untrained:
        began = read_state(drafter).get("settings", {})
        begin(model, verifier, int(began.get("seed", 0)), began.get("beginning", "random"))
    room = int(getattr(verifier.config, "max_position_embeddings", 2**31)) - max_new_tokens - model.shape.block_size
    asked = [prompt for prompt in (prompts if prompts is not None else load_heldout(drafter)) if 0 < len(prompt.prompt_ids) <= room]
    chosen = ThinkingSwitch.of(target).apply(spread(asked, limit), measured.thinking)
    if not chosen:
        raise NoPrompts(f"None of the prompts leaves room for {max_new_tokens} new tokens in the target's context: ask for fewer.")
    responses = _Responses(verifier, DrafterSource(model, verifier), max_new_tokens, measured)
    for done, prompt in enumerate(chosen):
        stop_if_cancelled(watcher)
        watcher.progress(Progress("evaluate", done, len(chosen), "prompts"))
        responses.decode(prompt)
    watcher.progress(Progress("evaluate", len(chosen), len(chosen), "prompts"))
    return responses.report(chosen, untrained)


COMPARED = 8
"""Prompts that transformers answers too, where the target is decoded in another way."""


Drafting = Callable[[Chooser], Drafter]


class _Responses:
    """Every prompt is answered in every way, one after the other, so that a busy machine slows all ways alike."""

    def __init__(self, target: TargetModel, source: DrafterSource, max_new_tokens: int, measured: Measured) -> None:
        self._target, self._longest, self._measured = target, max_new_tokens, measured
        self._block = source.model.shape.block_size
        self._pace = Pace.of(target, source, measured.confidence)
        budgets = self._budgets = sorted(set(measured.trees))
        self._ways: dict[str, Drafting] = {
            CHAIN: lambda chooser: ChainDrafter(source.start(), chooser, measured.confidence),
            **{_tree(budget): lambda _, budget=budget: TreeDrafter(source.start(), budget) for budget in budgets},  # type: ignore[misc]
        }
        if measured.prompt_lookup:
            self._ways[LOOKUP] = lambda _: PromptLookup(self._block - 1)
        self._shown = _tree(min(budgets, key=lambda budget: (abs(budget - SHOWN_TREE), budget))) if budgets else CHAIN
        self._plain: list[Decoded] = []
        self._in_transformers: list[Decoded] = []
        self._greedy: dict[str, list[Decoded]] = {way: [] for way in self._ways}
        self._drawn_plain: list[Decoded] = []
        self._drawn: dict[str, list[Decoded]] = {way: [] for way in self._ways if way != LOOKUP}
        self._seen: dict[str, SeenRound] = {}

    def decode(self, prompt: HeldOut) -> None:
        """Answer one prompt in every way."""
        target, ids, longest, stop = self._target, prompt.prompt_ids, self._longest, self._target.stop_ids
        with threads(self._pace.plain):
            self._plain.append(decode_plain(target, ids, longest, stop))
            if target.is_lean and len(self._in_transformers) < COMPARED:
                self._in_transformers.append(decode_plain(target, ids, longest, stop, in_transformers=True))
        with threads(self._pace.drafted):
            for way, responses in self._greedy.items():
                greedy = Chooser()
                look = self._keep_longest(prompt) if way == self._shown and prompt.source not in self._seen else None
                responses.append(decode_speculative(target, self._ways[way](greedy), ids, longest, stop, greedy, look))
        if not self._measured.temperature:
            return
        with threads(self._pace.plain):
            self._drawn_plain.append(decode_plain(target, ids, longest, stop, self._chooser(prompt)))
            for way, responses in self._drawn.items():
                chooser = self._chooser(prompt)
                responses.append(decode_speculative(target, self._ways[way](chooser), ids, longest, stop, chooser))

    def report(self, prompts: Sequence[HeldOut], untrained: bool) -> EvaluationReport:
        """Count everything."""
        ways = {way: count_way(prompts, responses, self._block) for way, responses in self._greedy.items()}
        drawn = {way: count_way(prompts, responses, self._block) for way, responses in self._drawn.items() if responses}
        every = [self._plain, self._drawn_plain, *self._greedy.values(), *self._drawn.values()]
        return EvaluationReport(
            chain=ways[CHAIN],
            plain=speed_of(self._plain),
            in_transformers=speed_of(self._in_transformers) if self._in_transformers else speed_of(self._plain),
            other_than_transformers=sum(one.tokens != other.tokens for one, other in zip(self._in_transformers, self._plain, strict=False)),
            mismatched=find_mismatches(prompts, self._plain, self._greedy),
            prompts=len(prompts),
            untrained=untrained,
            max_new_tokens=self._longest,
            block_size=self._block,
            confidence=self._measured.confidence,
            seconds=sum(response.seconds for responses in every for response in responses),
            trees={budget: ways[_tree(budget)] for budget in self._budgets},
            prompt_lookup=ways.get(LOOKUP),
            sampled=Sampled(
                self._measured.temperature,
                self._measured.seed,
                speed_of(self._drawn_plain),
                drawn[CHAIN],
                {budget: drawn[_tree(budget)] for budget in self._budgets},
            )
            if drawn
            else None,
            seen_rounds=list(self._seen.values()),
            seen_outputs=first_outputs(prompts, self._plain, self._greedy[CHAIN]),
        )

    def _chooser(self, prompt: HeldOut) -> Chooser:
        """Draws for one prompt: the same whatever other prompts are measured."""
        name = f"{prompt.source}:{prompt.row_id}:{prompt.turn}:{prompt.thinking}"
        return Chooser(self._measured.temperature, xxhash.xxh3_64_intdigest(name.encode(), self._measured.seed) >> 1)

    def _keep_longest(self, prompt: HeldOut) -> Looker:
        """Keeps the round of a source's first response that gave most."""
        most = 0

        def look(found: Round) -> None:
            nonlocal most
            if len(found.gained) > most:
                most = len(found.gained)
                self._seen[prompt.source] = SeenRound(prompt.source, prompt.row_id, prompt.turn, self._shown, found.to_json())

        return look


def _tree(budget: int) -> str:
    return f"tree {budget}"
