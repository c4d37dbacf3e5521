"""Whole numbers from shares: Hamilton's largest remainder, in exact arithmetic, with and without caps. It knows names, not sources."""

import math
from collections.abc import Mapping
from fractions import Fraction


def largest_remainder(weights: Mapping[str, Fraction], total: int) -> dict[str, int]:
    """Whole numbers that sum to `total`, each within one of its exact share (Hamilton's method); ties go to the first name.

    A higher weight never lowers its source's count. A higher total can, by a single row (the method's Alabama paradox), only where it
    adds less than one row to that source's share.
    """
    everything = sum(weights.values(), Fraction(0))
    return rounded({name: total * weight / everything for name, weight in weights.items()}, total)


def rounded(shares: Mapping[str, Fraction], total: int) -> dict[str, int]:
    """The shares (which sum to about `total`) as whole numbers that sum to it: all down, then the largest remainders up."""
    counts = {name: math.floor(share) for name, share in shares.items()}
    most_left = sorted(shares, key=lambda name: (counts[name] - shares[name], name))
    for name in most_left[: total - sum(counts.values())]:
        counts[name] += 1
    return counts


def redistribute(weights: Mapping[str, Fraction], caps: Mapping[str, int], total: int) -> dict[str, int]:
    """Counts by weight where every source whose share is above its cap gets the cap and the others share the rest.

    The sum is `total`, or that of all caps (of sources with a weight) where they give less.
    """
    open_weights = {name: weight for name, weight in weights.items() if weight > 0}
    counts = dict.fromkeys(weights, 0)
    left = total
    while open_weights:
        everything = sum(open_weights.values())
        full = [name for name, weight in open_weights.items() if left * weight >= caps[name] * everything]
        if not full:
            return counts | largest_remainder(open_weights, left)
        for name in full:
            counts[name] = caps[name]
            left -= caps[name]
            del open_weights[name]
    return counts


def largest_total(weights: Mapping[str, Fraction], caps: Mapping[str, int]) -> int:
    """The largest whole total at which no source's exact share is above its cap."""
    everything = sum(weights.values(), Fraction(0))
    return min(math.floor(caps[name] * everything / weight) for name, weight in weights.items() if weight > 0)
