"""What an evaluation found: how many tokens the target accepts per round, overall and where. It only counts; it runs no model."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from core.drafter.heldout import HeldOut

if TYPE_CHECKING:
    from core.drafter.decode import Decoded

CHAIN, LOOKUP = "chain", "prompt_lookup"


@dataclass(frozen=True)
class Mismatch:
    """A response that speculative decoding changed; there must be none."""

    source: str
    row_id: str
    turn: int
    position: int
    """the first token of the response that differs"""
    plain: int | None
    speculative: int | None
    """the token ids there; None where the response had ended"""
    way: str = CHAIN
    """how it was drafted: "chain", "tree 16", "prompt_lookup" """


@dataclass(frozen=True)
class Group:
    """The responses of one source, domain or thinking mode."""

    acceptance_length: float
    prompts: int


@dataclass(frozen=True)
class Speed:
    """Tokens per second on this machine, one prompt at a time."""

    tokens_per_second: float
    """the time to read the prompt included"""
    after_prompt: float
    """of the tokens after the first, without that time"""


@dataclass(frozen=True)
class Way:
    """What one way of drafting gave. Acceptance is the mean over responses of a response's mean tokens per round (accepted + 1)."""

    acceptance_length: float
    by_source: dict[str, Group]
    by_domain: dict[str, Group]
    by_thinking: dict[str, Group]
    by_position: list[float]
    """share of rounds that gave more than 1, 2, ... tokens: in which a draft was accepted at that depth"""
    histogram: list[int]
    """rounds that gave 1, 2, ... block-size tokens"""
    rounds: int
    tokens: int
    speed: Speed

    def to_json(self) -> dict[str, Any]:
        """JSON-ready; `by_...` give acceptance lengths, `prompts_by_...` the sizes, `tokens_per_second` includes the prompt."""
        value = asdict(self)
        del value["speed"]
        value.update(asdict(self.speed))
        for name, groups in (("source", self.by_source), ("domain", self.by_domain), ("thinking", self.by_thinking)):
            value[f"by_{name}"] = {key: group.acceptance_length for key, group in groups.items()}
            value[f"prompts_by_{name}"] = {key: group.prompts for key, group in groups.items()}
        return value


@dataclass(frozen=True)
class Sampled:
    """The same prompts answered at a temperature; there is no single right answer then, so nothing is compared."""

    temperature: float
    seed: int
    plain: Speed
    chain: Way
    trees: dict[int, Way]


@dataclass(frozen=True)
class SeenRound:
    """One round that can be looked at: `Round.to_json` of a prompt's response."""

    source: str
    row_id: str
    turn: int
    way: str
    round: dict[str, Any]


@dataclass(frozen=True)
class SeenOutput:
    """One answer in both ways, to be laid side by side: token ids, and how many of them each round gave."""

    source: str
    row_id: str
    turn: int
    prompt: list[int]
    """its last tokens"""
    plain: list[int]
    speculative: list[int]
    rounds: list[int]


@dataclass(frozen=True)
class EvaluationReport:
    """The chain's figures in front, and beside them whatever else was measured on the same prompts."""

    chain: Way
    plain: Speed
    """one token per pass, decoded as the drafted responses are"""
    in_transformers: Speed
    """one token per pass, decoded by transformers: on the first prompts where that is another way"""
    other_than_transformers: int
    """of these prompts, those that it answers otherwise"""
    mismatched: list[Mismatch]
    prompts: int
    untrained: bool
    """whether the drafter's weights were drawn anew, to measure what training is worth"""
    max_new_tokens: int
    block_size: int
    confidence: float
    """below which probability the chain ended early; 0: whole blocks were drafted"""
    seconds: float
    """of decoding, all ways together"""
    trees: dict[int, Way] = field(default_factory=dict)
    """by node budget"""
    prompt_lookup: Way | None = None
    sampled: Sampled | None = None
    seen_rounds: list[SeenRound] = field(default_factory=list)
    """one per source"""
    seen_outputs: list[SeenOutput] = field(default_factory=list)
    """one per source, of the chain"""

    @property
    def acceptance_length(self) -> float:
        """Of the chain."""
        return self.chain.acceptance_length

    @property
    def lossless(self) -> bool:
        """Whether every greedy response, however drafted, was the plain one."""
        return not self.mismatched

    @property
    def mismatches(self) -> int:
        """Prompts with a response that was not."""
        return len({(found.source, found.row_id, found.turn) for found in self.mismatched})

    def to_json(self) -> dict[str, Any]:
        """JSON-ready: the chain's figures at the top, `tree` the acceptance length by budget, `trees` and `sampled` their figures."""
        sampled = self.sampled
        return {
            **self.chain.to_json(),
            "plain_tokens_per_second": self.plain.tokens_per_second,
            "plain_after_prompt": self.plain.after_prompt,
            "transformers_tokens_per_second": self.in_transformers.tokens_per_second,
            "transformers_after_prompt": self.in_transformers.after_prompt,
            "other_than_transformers": self.other_than_transformers,
            "lossless": self.lossless,
            "mismatches": self.mismatches,
            "mismatched": [asdict(found) for found in self.mismatched],
            "prompts": self.prompts,
            "seconds": self.seconds,
            "untrained": self.untrained,
            "max_new_tokens": self.max_new_tokens,
            "block_size": self.block_size,
            "confidence": self.confidence,
            "tree": {str(budget): way.acceptance_length for budget, way in self.trees.items()},
            "trees": {str(budget): way.to_json() for budget, way in self.trees.items()},
            "prompt_lookup": self.prompt_lookup.to_json() if self.prompt_lookup else None,
            "sampled": None
            if sampled is None
            else {
                "temperature": sampled.temperature,
                "seed": sampled.seed,
                **sampled.chain.to_json(),
                "plain_tokens_per_second": sampled.plain.tokens_per_second,
                "plain_after_prompt": sampled.plain.after_prompt,
                "tree": {str(budget): way.acceptance_length for budget, way in sampled.trees.items()},
                "trees": {str(budget): way.to_json() for budget, way in sampled.trees.items()},
            },
            "seen_rounds": [asdict(seen) for seen in self.seen_rounds],
            "seen_outputs": [asdict(seen) for seen in self.seen_outputs],
        }


def find_mismatch(prompt: HeldOut, plain: "Decoded", speculative: "Decoded", way: str = CHAIN) -> Mismatch | None:
    """Where the two responses part, or None where they are the same token for token."""
    if plain.tokens == speculative.tokens:
        return None
    shared = min(len(plain.tokens), len(speculative.tokens))
    position = next((place for place in range(shared) if plain.tokens[place] != speculative.tokens[place]), shared)
    said, drafted = (decoded.tokens[position] if position < len(decoded.tokens) else None for decoded in (plain, speculative))
    return Mismatch(prompt.source, prompt.row_id, prompt.turn, position, said, drafted, way)


def find_mismatches(prompts: Sequence[HeldOut], plain: Sequence["Decoded"], ways: Mapping[str, Sequence["Decoded"]]) -> list[Mismatch]:
    """All of them, way by way in the order of the prompts."""
    found = [find_mismatch(*three, way) for way, decoded in ways.items() for three in zip(prompts, plain, decoded, strict=True)]
    return [mismatch for mismatch in found if mismatch]


def count_way(prompts: Sequence[HeldOut], decoded: Sequence["Decoded"], block_size: int) -> Way:
    """Count the responses of one way; the sequences belong together item by item."""
    rounds = Counter(gained for response in decoded for gained in response.rounds)
    total = sum(rounds.values())
    measured = [
        (prompt, sum(response.rounds) / len(response.rounds)) for prompt, response in zip(prompts, decoded, strict=True) if response.rounds
    ]
    return Way(
        acceptance_length=_mean([length for _, length in measured]),
        by_source=_groups(measured, lambda prompt: prompt.source),
        by_domain=_groups(measured, lambda prompt: prompt.domain),
        by_thinking=_groups(measured, lambda prompt: prompt.thinking),
        by_position=[sum(times for gained, times in rounds.items() if gained > slot) / max(1, total) for slot in range(1, block_size)],
        histogram=[rounds[gained] for gained in range(1, block_size + 1)],
        rounds=total,
        tokens=sum(len(response.tokens) for response in decoded),
        speed=speed_of(decoded),
    )


def first_outputs(prompts: Sequence[HeldOut], plain: Sequence["Decoded"], drafted: Sequence["Decoded"], tail: int = 96) -> list[SeenOutput]:
    """The first answer of each source in both ways, with the last `tail` tokens of its prompt."""
    found: dict[str, SeenOutput] = {}
    for prompt, said, speculative in zip(prompts, plain, drafted, strict=True):
        if prompt.source not in found:
            asked = list(prompt.prompt_ids[-tail:])
            found[prompt.source] = SeenOutput(
                prompt.source, prompt.row_id, prompt.turn, asked, list(said.tokens), list(speculative.tokens), list(speculative.rounds)
            )
    return list(found.values())


def speed_of(decoded: Sequence["Decoded"]) -> Speed:
    """Tokens per second over some responses."""
    tokens = sum(len(response.tokens) for response in decoded)
    seconds = sum(response.seconds for response in decoded)
    after = seconds - sum(response.prompt_seconds for response in decoded)
    return Speed(tokens / max(seconds, 1e-9), (tokens - len(decoded)) / max(after, 1e-9))


def _groups(measured: Sequence[tuple[HeldOut, float]], key: Callable[[HeldOut], str | None]) -> dict[str, Group]:
    """Acceptance by some property of the prompts, in alphabetical order; prompts without it are left out."""
    lengths: dict[str, list[float]] = {}
    for prompt, length in measured:
        if (name := key(prompt)) is not None:
            lengths.setdefault(name, []).append(length)
    return {name: Group(_mean(lengths[name]), len(lengths[name])) for name in sorted(lengths)}


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 1.0
