"""What an evaluation found: how many tokens the target accepts per round, overall and where. It only counts; it runs no model."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from core.drafter.heldout import HeldOut

if TYPE_CHECKING:
    from core.drafter.decode import Decoded


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


@dataclass(frozen=True)
class Group:
    """The responses of one source or domain."""

    acceptance_length: float
    prompts: int


@dataclass(frozen=True)
class EvaluationReport:
    """Acceptance is the mean over responses of a response's mean tokens per round (drafts accepted + 1)."""

    acceptance_length: float
    by_source: dict[str, Group]
    by_domain: dict[str, Group]
    by_position: list[float]
    """share of rounds in which drafted slot 1, 2, ... was accepted"""
    histogram: list[int]
    """rounds that gave 1, 2, ... block-size tokens"""
    lossless: bool
    mismatches: int
    mismatched: list[Mismatch]
    prompts: int
    rounds: int
    tokens: int
    tokens_per_second: float
    """of speculative decoding, prefill included"""
    plain_tokens_per_second: float
    seconds: float
    untrained: bool
    """whether the drafter's weights were drawn anew, to measure what training is worth"""
    max_new_tokens: int
    block_size: int

    def to_json(self) -> dict[str, Any]:
        """JSON-ready; `by_source` and `by_domain` give the acceptance lengths, `prompts_by_source` and `prompts_by_domain` the sizes."""
        value = asdict(self)
        for name, groups in (("source", self.by_source), ("domain", self.by_domain)):
            value[f"by_{name}"] = {key: group.acceptance_length for key, group in groups.items()}
            value[f"prompts_by_{name}"] = {key: group.prompts for key, group in groups.items()}
        return value


def find_mismatch(prompt: HeldOut, plain: "Decoded", speculative: "Decoded") -> Mismatch | None:
    """Where the two responses part, or None where they are the same token for token."""
    if plain.tokens == speculative.tokens:
        return None
    shared = min(len(plain.tokens), len(speculative.tokens))
    position = next((place for place in range(shared) if plain.tokens[place] != speculative.tokens[place]), shared)
    at = [decoded.tokens[position] if position < len(decoded.tokens) else None for decoded in (plain, speculative)]
    return Mismatch(prompt.source, prompt.row_id, prompt.turn, position, *at)


def summarize(
    prompts: Sequence[HeldOut],
    plain: Sequence["Decoded"],
    speculative: Sequence["Decoded"],
    *,
    plain_seconds: float,
    speculative_seconds: float,
    block_size: int,
    max_new_tokens: int,
    untrained: bool,
) -> EvaluationReport:
    """Count what was decoded; the three sequences belong together item by item."""
    rounds = Counter(gained for decoded in speculative for gained in decoded.rounds)
    total = sum(rounds.values())
    found = [find_mismatch(*three) for three in zip(prompts, plain, speculative, strict=True)]
    mismatched = [mismatch for mismatch in found if mismatch]
    measured = [
        (prompt, sum(decoded.rounds) / len(decoded.rounds)) for prompt, decoded in zip(prompts, speculative, strict=True) if decoded.rounds
    ]
    return EvaluationReport(
        acceptance_length=_mean([length for _, length in measured]),
        by_source=_groups(measured, lambda prompt: prompt.source),
        by_domain=_groups(measured, lambda prompt: prompt.domain),
        by_position=[sum(times for gained, times in rounds.items() if gained > slot) / max(1, total) for slot in range(1, block_size)],
        histogram=[rounds[gained] for gained in range(1, block_size + 1)],
        lossless=not mismatched,
        mismatches=len(mismatched),
        mismatched=mismatched,
        prompts=len(prompts),
        rounds=total,
        tokens=sum(len(decoded.tokens) for decoded in speculative),
        tokens_per_second=sum(len(decoded.tokens) for decoded in speculative) / max(speculative_seconds, 1e-9),
        plain_tokens_per_second=sum(len(decoded.tokens) for decoded in plain) / max(plain_seconds, 1e-9),
        seconds=plain_seconds + speculative_seconds,
        untrained=untrained,
        max_new_tokens=max_new_tokens,
        block_size=block_size,
    )


def _groups(measured: Sequence[tuple[HeldOut, float]], key: Callable[[HeldOut], str]) -> dict[str, Group]:
    """Acceptance by some property of the prompts, in alphabetical order."""
    lengths: dict[str, list[float]] = {}
    for prompt, length in measured:
        lengths.setdefault(key(prompt), []).append(length)
    return {name: Group(_mean(lengths[name]), len(lengths[name])) for name in sorted(lengths)}


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 1.0
