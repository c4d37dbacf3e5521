"""Weights by a rule, and what becomes of the others when one is moved: pure functions from weights to weights.

It knows names, weights and sizes. Nothing here reads a source or writes a recipe.
"""

from collections.abc import Collection, Mapping

from core.errors import InputError

Weights = dict[str, float]


class ImpossibleWeights(InputError):
    """A share that cannot be reached with the weights there are."""


def equal(sizes: Mapping[str, int]) -> Weights:
    """Every source with a row weighs 1."""
    return {name: 1.0 if size else 0.0 for name, size in sizes.items()}


def proportional(sizes: Mapping[str, int]) -> Weights:
    """Every source weighs its size, so that without a budget every row is used once."""
    return {name: float(size) for name, size in sizes.items()}


def tempered(sizes: Mapping[str, int], temperature: float) -> Weights:
    """Weights ∝ size^(1/T) as in multilingual sampling (Devlin et al. 2019; Conneau et al. 2020): 1 is proportional, higher evens out.

    They sum to the sum of the sizes. Raises `ImpossibleWeights` for a temperature that is not above 0.
    """
    if not temperature > 0:
        raise ImpossibleWeights(f"A temperature is above 0 (1 is proportional, higher evens out), not {temperature:g}.")
    largest = max(sizes.values(), default=0)
    # Relative to the largest, so that a low temperature overflows nothing.
    raised = {name: (size / largest) ** (1 / temperature) if size else 0.0 for name, size in sizes.items()}
    scale = sum(sizes.values()) / sum(raised.values()) if any(raised.values()) else 0.0
    return {name: _neat(weight * scale) for name, weight in raised.items()}


def like(names: Collection[str], other: Mapping[str, float]) -> Weights:
    """The weights another recipe gives these sources; those it does not name get none. Raises `ImpossibleWeights` where it names none."""
    found = {name: float(other.get(name, 0.0)) for name in names}
    if not any(found.values()):
        raise ImpossibleWeights("The other recipe gives none of these sources a weight: add its sources first.")
    return found


def with_share(weights: Mapping[str, float], members: Collection[str], share: float, sizes: Mapping[str, int] | None = None) -> Weights:
    """Weights under which `members` (the sources of a domain) have `share` (0 to 1) of the whole and nothing else changes.

    Inside the members and among the others the relations stay. Where the members (or the others) have no weight yet, they get one by
    `sizes`, else equally. Raises `ImpossibleWeights` for a share the names cannot have.
    """
    inside = {name: weight for name, weight in weights.items() if name in members}
    outside = {name: weight for name, weight in weights.items() if name not in members}
    if not 0 <= share <= 1:
        raise ImpossibleWeights(f"A share lies between 0 and 1, not at {share:g}.")
    if (share > 0 and not inside) or (share < 1 and not outside):
        raise ImpossibleWeights("No source of that kind is in the mix." if not inside else "Every source is of that kind: its share is 1.")
    inside, outside = (_weighed(part, sizes) if wanted else part for part, wanted in ((inside, share > 0), (outside, share < 1)))
    if share in (0, 1):
        rest, gone = (outside, inside) if share == 0 else (inside, outside)
        return {name: 0.0 if name in gone else rest[name] for name in weights}
    factor = share / (1 - share) * sum(outside.values()) / sum(inside.values())
    return {name: _neat(inside[name] * factor) if name in inside else outside[name] for name in weights}


def moved(weights: Mapping[str, float], name: str, weight: float, locked: Collection[str] = ()) -> Weights:
    """Weights after one was set to `weight` while their sum stays: the others scale together, locked ones do not.

    Where the locked ones leave less than asked, the weight stops at what is left; where there is nothing else to scale it moves alone.
    Others that are all 0 share what becomes free equally. Raises `ImpossibleWeights` for a weight below 0.
    """
    if weight < 0:
        raise ImpossibleWeights(f"A weight is 0 or more, not {weight:g}.")
    total = sum(weights.values())
    held = sum(value for other, value in weights.items() if other in locked and other != name)
    free = [other for other in weights if other not in locked and other != name]
    if not free or total == 0:
        return {**weights, name: weight}
    weight = min(weight, max(total - held, 0.0))
    left = max(total - held - weight, 0.0)
    before = sum(weights[other] for other in free)
    scaled = {other: _neat(weights[other] * left / before if before else left / len(free)) for other in free}
    return {other: weight if other == name else scaled.get(other, value) for other, value in weights.items()}


def shares(weights: Mapping[str, float]) -> Weights:
    """Each weight over their sum; all 0 where none is above 0."""
    total = sum(weights.values())
    return {name: weight / total if total else 0.0 for name, weight in weights.items()}


def _weighed(weights: Mapping[str, float], sizes: Mapping[str, int] | None) -> Weights:
    """The weights, or where all are 0, sizes or ones in their place."""
    if any(weights.values()):
        return dict(weights)
    by_size = {name: float(sizes.get(name, 0)) for name in weights} if sizes else {}
    return by_size if any(by_size.values()) else dict.fromkeys(weights, 1.0)


def _neat(value: float) -> float:
    """Nine significant digits: a share is then right to a row in a billion, and a recipe stays readable."""
    return float(f"{value:.9g}")
