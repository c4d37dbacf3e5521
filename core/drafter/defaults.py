"""Settings to begin with for a target of a given size, each with its reason. What a person chose wins over them."""

from dataclasses import dataclass
from typing import Any

from core.drafter.target_facts import TargetFacts

SMALL, LARGE = 512, 2048
"""Widths of a target: below the first it is a toy or a test, from the second on one that is served."""


@dataclass(frozen=True)
class Default:
    """A value and why."""

    value: Any
    reason: str


def defaults_for(target: TargetFacts) -> dict[str, Default]:
    """Values by names of `TrainSettings`; names that are missing have the same default for every size."""
    width = target.hidden_size
    if width < SMALL:
        return {
            "layers": Default(
                3, f"three of the target's own learn most in a few minutes beside one {width} wide; a single one cannot copy a name"
            ),
            "block_size": Default(12, "set phrases of a small target run to a dozen tokens, and a round can take them whole"),
            "learning_rate": Default(1.2e-2, "drafters under a million parameters take large steps"),
            "conversations": Default(8, "small steps learn more in the same time"),
            "anchors": Default(6, "small steps learn more in the same time"),
            "gamma": Default(4.0, "the published decay for blocks of 8"),
        }
    if width < LARGE:
        return {
            "layers": Default(3, f"between a toy's two and the five published for large targets; this one is {width} wide"),
            "block_size": Default(8, "longer blocks pay when the first places are right nearly always"),
            "learning_rate": Default(3e-3, "between what a small drafter and a large one take"),
            "conversations": Default(16, "gradients of larger drafters want more text"),
            "anchors": Default(16, "blocks are cheap beside the context they share"),
            "gamma": Default(4.0, "the published decay for blocks of 8"),
        }
    return {
        "layers": Default(5, f"as published for large targets; this one is {width} wide"),
        "block_size": Default(16, "as published: a good drafter of a large target gives more than eight tokens a round"),
        "learning_rate": Default(1e-3, "as published for drafters of large targets"),
        "conversations": Default(32, "gradients of larger drafters want more text"),
        "anchors": Default(16, "512 blocks a step, as published"),
        "gamma": Default(7.0, "the published decay for blocks of 16"),
    }


def suited(target: TargetFacts, chosen: dict[str, Any]) -> dict[str, Any]:
    """The settings for a target with what was chosen on top; an unchosen decay follows a chosen block size."""
    settings = {name: default.value for name, default in defaults_for(target).items()}
    size = chosen.get("block_size")
    if isinstance(size, int) and "gamma" not in chosen:  # what is no number is refused where all settings are checked
        settings["gamma"] = 7.0 if size > 12 else 4.0
    return settings | chosen
