"""What can be chosen for a training, with a default and its reason for each. It knows no model and no data."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from core.drafter.setting_kinds import BadSettings, check_kinds, check_names

__all__ = ["FREE", "SHAPE", "BadSettings", "TrainSettings", "checked_target_layers", "checked_vocabulary", "choose_target_layers"]


@dataclass(frozen=True)
class TrainSettings:
    """How a DFlash drafter is shaped and trained; every default names its reason."""

    layers: int = 3
    """Draft layers: more of them learn more from a step, fewer take more steps in the same time (demo target, begun with its own last
    layers, acceptance length on 127 held-out prompts after 900 steps: 3.6 with two, 4.0 with three, which take a third longer). Published
    drafters of large targets have five."""
    block_size: int = 12
    """Slots of a block, the committed token included: at most `block_size` tokens come out of a round. With 8, every other round through
    the demo's polite sentences ends at that limit (2,300 steps, 127 held-out prompts: 4.2 tokens a round with 8, 4.5 with 12)."""
    target_layers: tuple[int, ...] | None = None
    """Which hidden states of the target feed the drafter, counted from the embedding output (0). None: `choose_target_layers`."""
    window: int | None = None
    """How many tokens before the committed one a block sees. None: all of them. Long contexts are cheaper to draft from with a window."""
    draft_vocab_size: int | None = None
    """How many tokens the drafter can say: the most frequent supervised ones of the dataset. None: all of the target's; fewer make the head
    cheaper, and a round ends where the target says another one."""
    mask_token_id: int | None = None
    """The token that stands in the slots to be drafted. None: the target's own mask token, else an id its tokenizer never emits."""
    conversations: int = 8
    """Conversations of a step. With 6 anchors each, a step takes about 0.1 s for the demo target on two cores; small steps learn more in
    the same time (an earlier demo text, estimated acceptance after 33 s of processor time: 2.1 with 8 of 8 anchors, 1.6 with 16 of 12)."""
    anchors: int = 6
    """Blocks drawn per conversation and step (not per packed row, which would starve short conversations)."""
    anywhere: float = 0.25
    """Share of the anchors that are drawn anew each time a conversation comes up. The others follow the drafter: each stands behind what it
    was right about the time before, as rounds do in decoding, so that training sees what decoding asks (demo target, 2,300 steps, 127
    held-out prompts: 5.1 tokens a round with all of them anywhere, as published, 5.4 with a quarter)."""
    loss: Literal["choices", "tokens", "cross_entropy", "kl"] = "choices"
    """What a slot should say: the target's most probable token or the token of the data (both by cross entropy), or the target's whole
    distribution there (cross entropy, or Kullback-Leibler divergence: the same gradient, but 0 where nothing is left to learn)."""
    weights: Literal["dpace", "exponential"] = "dpace"
    """How the slots of a block count: by what they can still add to the acceptance (D-PACE), or by exp(-(slot - 1) / gamma)."""
    alpha: float = 0.5
    """Smoothing of D-PACE: 0 trusts the drafter's own confidence, 1 weighs only by what follows."""
    gamma: float = 4.0
    """Decay of the exponential weights in slots; 4 is the published choice for blocks of 8, 7 for 16."""
    learning_rate: float = 1.2e-2
    """Peak rate of Muon, which trains the matrices, its updates scaled to the size AdamW's would have (arXiv 2502.16982).

    Right for drafters under a million parameters (estimated acceptance after 150 steps of sixteen conversations: 1.30 at 3e-3, 1.56 at
    1.2e-2, 1.52 at 3e-2); use about 1e-3 for drafters of large targets."""
    vector_rate: float = 3e-3
    """Peak rate of AdamW, which trains the norms."""
    optimizer: Literal["muon", "adamw"] = "muon"
    """What trains the matrices; AdamW wants a rate of about a tenth."""
    schedule: Literal["cosine", "linear"] = "cosine"
    """How the rates fall to 0 after the warm-up."""
    muon_steps: int = 5
    """Newton-Schulz steps of Muon: how far an update's singular values are evened out."""
    betas: tuple[float, float] = (0.9, 0.95)
    """AdamW's averages: 0.95 follows the second moment faster than 0.999, which short trainings need."""
    weight_decay: float = 0.0
    """None: at a few epochs the drafter is far from overfitting."""
    clip: float = 1.0
    """Largest gradient norm."""
    warmup_steps: int = 40
    """Steps until the peak rate is reached."""
    max_seconds: float | None = 120.0
    """Seconds of training, after the hidden states were captured. None: only `max_steps` counts."""
    max_steps: int | None = None
    """Steps of training. With `max_seconds` None the result depends on nothing but data, settings and seed."""
    validation_rows: int = 64
    """At most this many rows (and at most 5 % of them) are kept out of training and measured along the way, by source."""
    validate_every: int = 200
    """Steps between two measurements of the validation rows."""
    patience: int | None = None
    """End after so many measurements in a row without a better acceptance. None: never before time."""
    keep: Literal["last", "best"] = "last"
    """Whose weights the drafter gets: the last step's, or those of the best measurement, which else lie beside in the folder `best`."""
    beginning: Literal["auto", "target", "random"] = "auto"
    """The first weights: drawn, or the target's own last layers; auto takes these where they fit (`core.drafter.first_weights`), which
    saves the demo's drafter about a third of the steps."""
    warm_start: str | None = None
    """Folder of an earlier drafter of the same shape whose weights training begins with instead."""
    save_steps: int | None = None
    """Steps between two checkpoints that a stopped or killed training goes on from. None: only `save_seconds` counts."""
    save_seconds: float | None = 30.0
    """Seconds between two of them; one takes 0.02 s for the demo's drafter. None: only `save_steps` counts."""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    """Where to train; auto is the GPU where PyTorch finds one."""
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    """Of the products; auto is bfloat16 (autocast, weights stay float32) on a GPU, where it is twice as fast, and float32 on a CPU, but for
    gradients, which come from bfloat16 factors where the CPU multiplies these faster (AVX512-BF16)."""
    compile: bool = False
    """Let torch.compile fuse the model's operations on a GPU; needs minutes at first, so it pays for long trainings of large drafters."""
    processes: int | None = None
    """Processes that share each step's work; the result does not depend on it but for rounding. None: one, whose threads work side by side
    (two processes took a fifth longer on two idle cores, as long on busy ones)."""
    seed: int = 0
    """Draws the first weights, the order of the conversations and the anchors."""

    def __post_init__(self) -> None:
        check_kinds(self)
        if self.layers < 1 or self.conversations < 1 or self.anchors < 1 or self.validate_every < 1:
            raise BadSettings("layers, conversations, anchors and validate_every must be at least 1.")
        if self.block_size < 2:
            raise BadSettings(f"block_size is {self.block_size}; it must be at least 2: slot 0 holds the committed token.")
        if self.processes is not None and self.processes < 1:
            raise BadSettings(f"processes is {self.processes}; it must be at least 1.")
        for name in ("window", "draft_vocab_size", "patience", "save_steps"):
            if (value := getattr(self, name)) is not None and value < 1:
                raise BadSettings(f"{name} is {value}; it must be at least 1, or none.")
        for name, choices in _CHOICES.items():
            if getattr(self, name) not in choices:
                raise BadSettings(f"{name} is {getattr(self, name)!r}; choose one of {', '.join(choices)}.")
        if not all(0 <= beta < 1 for beta in self.betas):
            raise BadSettings(f"betas are {list(self.betas)}; both must be at least 0 and below 1.")
        if self.save_seconds is not None and self.save_seconds <= 0:
            raise BadSettings(f"save_seconds is {self.save_seconds}; it must be positive, or none.")
        if self.warmup_steps < 0 or self.validation_rows < 0 or self.weight_decay < 0:
            raise BadSettings("warmup_steps, validation_rows and weight_decay cannot be negative.")
        outside = next((name for name in ("alpha", "anywhere") if not 0 <= getattr(self, name) <= 1), None)
        if outside:
            raise BadSettings(f"{outside} is {getattr(self, outside)}; it must lie between 0 and 1.")
        if min(self.gamma, self.learning_rate, self.vector_rate, self.clip) <= 0:
            raise BadSettings("gamma, learning_rate, vector_rate and clip must be positive.")
        if self.max_seconds is None and self.max_steps is None:
            raise BadSettings("Give max_seconds or max_steps: without either a training never ends.")
        if (self.max_seconds is not None and self.max_seconds <= 0) or (self.max_steps is not None and self.max_steps < 1):
            raise BadSettings("max_seconds must be positive and max_steps at least 1.")

    def to_json(self) -> dict[str, Any]:
        """Every setting under its name."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "TrainSettings":
        """Settings from JSON, where lists stand for tuples; raises `BadSettings` for names that are not known and values of other kinds."""
        check_names(cls, values)
        given: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}
        return cls(**given)


_CHOICES = {
    "loss": ("choices", "tokens", "cross_entropy", "kl"),
    "weights": ("dpace", "exponential"),
    "optimizer": ("muon", "adamw"),
    "schedule": ("cosine", "linear"),
    "keep": ("last", "best"),
    "beginning": ("auto", "target", "random"),
    "device": ("auto", "cpu", "cuda"),
    "precision": ("auto", "float32", "bfloat16"),
}
"""What settings that come from JSON may say; the annotations hold the same for a type checker."""

SHAPE = (
    "layers",
    "block_size",
    "target_layers",
    "window",
    "draft_vocab_size",
    "mask_token_id",
    "optimizer",
    "loss",
    "seed",
    "validation_rows",
)
"""Settings that the checkpoints of a training are made for: a training that goes on must keep them."""

FREE = ("save_steps", "save_seconds", "processes", "device", "compile")
"""Settings that say nothing about the result."""


def choose_target_layers(depth: int) -> tuple[int, ...]:
    """The hidden states to tap of a target with `depth` layers, counted from the embedding output (0).

    Large targets: an early, a middle and a late one, `2, depth // 2, depth - 3` (speculators' choice). Under eight layers these
    fall together, so small targets are tapped at the first, a middle one and the last before the final norm.
    """
    if depth >= 8:
        return (2, depth // 2, depth - 3)
    return tuple(sorted({min(1, depth), (depth + 1) // 2, depth}))


def checked_target_layers(chosen: Sequence[int] | None, depth: int) -> tuple[int, ...]:
    """`chosen` when a target of `depth` layers has them all, the default choice for None; raises `BadSettings`."""
    if chosen is None:
        return choose_target_layers(depth)
    layers = tuple(sorted(set(chosen)))
    if not layers or layers[0] < 0 or layers[-1] > depth:
        raise BadSettings(f"target_layers is {list(chosen)}, but the target has hidden states 0 to {depth}: choose from these.")
    return layers


def checked_vocabulary(size: int | None, vocabulary: int) -> int | None:
    """A draft vocabulary's size; None where it would be the target's whole one. Raises `BadSettings` where it is larger."""
    if size is not None and size > vocabulary:
        raise BadSettings(f"draft_vocab_size is {size}, but the target has {vocabulary} tokens: give fewer.")
    return None if size == vocabulary else size
