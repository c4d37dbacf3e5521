"""The recipe: everything that decides which tokens a dataset holds, and nothing else.

It knows what may stand in a recipe and what each value means. It does not know TOML (`recipe_file`) or any source.
"""

import hashlib
import json
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from core.dialects import BadPolicy, Policy
from core.workspace import checked_name

MODEL = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class RecipeTarget(BaseModel):
    """The target model: a folder or hub id with tokenizer and chat template, and what its template is given."""

    model_config = MODEL

    path: str = Field(min_length=1)
    template: str | None = None
    """A `.jinja` file that is used instead of the target's own template."""
    args: dict[str, Any] = Field(default_factory=dict)
    """Further template arguments (`tools_in_user_message = false`)."""


class RecipeSupervision(BaseModel):
    """Which tokens are trained on; the words are those of `core.chat.Supervision`."""

    model_config = MODEL

    supervise: Literal["sampled", "boundary", "content"] = "sampled"
    thinking: Literal["auto", "on", "off", "default"] = "auto"
    layout: Literal["auto", "turn", "conversation"] = "auto"
    seq_length: int = Field(default=4096, ge=2)
    """Tokens per training row."""
    turns: Literal["after_user", "all", "last", "flagged"] = "after_user"
    """Which assistant turns; "flagged" leaves out those that the data flag off."""
    reasoning: bool = True
    tool_calls: bool = True
    special_tokens: Literal["quarantine", "as_text"] = "quarantine"
    """Rows whose text holds a special token of the target: left out, or the token encoded as ordinary text."""
    overlong: Literal["truncate", "drop", "keep_last_turns"] = "truncate"
    """What becomes of rows longer than `seq_length`."""


class Budget(BaseModel):
    """How much to take in all. No amount: as much as the weights allow without running over a cap."""

    model_config = MODEL

    amount: int | None = Field(default=None, ge=1)
    unit: Literal["rows"] = "rows"
    """Rows are conversations: one conversation may become several training rows."""


class RecipeSource(BaseModel):
    """One source's part of the mix."""

    model_config = MODEL

    name: str
    weight: Annotated[float, Field(ge=0)]
    """Its share is its weight over the sum of all weights; 0 leaves the source out."""
    max_epochs: float = Field(default=1.0, gt=0)
    """How often each of its rows may be used."""
    max_rows: int | None = Field(default=None, ge=1)
    policy: dict[str, str] = Field(default_factory=dict)
    """Code -> repair, quarantine or keep: what its import must have done about each (`core.dialects.CODES`)."""

    @field_validator("name")
    @classmethod
    def _name(cls, value: str) -> str:
        return _usable_name(value)

    @field_validator("policy")
    @classmethod
    def _policy(cls, value: dict[str, str]) -> dict[str, str]:
        try:
            Policy.parse(f"{code}={action}" for code, action in value.items())
        except BadPolicy as error:
            raise ValueError(str(error)) from error
        return value


class Recipe(BaseModel):
    """A mix of sources, the target it is made for, and the one seed of every random choice."""

    model_config = MODEL

    name: str = "mix"
    seed: int = Field(default=0, ge=0, lt=2**63)
    validation: float = Field(default=0.03, ge=0, lt=1)
    """Share of the picked conversations held out for evaluation, by a hash of their prompt."""
    on_shortfall: Literal["fail", "redistribute"] = "fail"
    target: RecipeTarget
    supervision: RecipeSupervision = RecipeSupervision()
    budget: Budget = Budget()
    sources: tuple[RecipeSource, ...] = Field(min_length=1)

    @field_validator("name")
    @classmethod
    def _name(cls, value: str) -> str:
        return _usable_name(value)

    @model_validator(mode="after")
    def _whole(self) -> "Recipe":
        names = [source.name for source in self.sources]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"{', '.join(twice)} stands in it more than once; give each source one entry")
        if not any(source.weight > 0 for source in self.sources):
            raise ValueError("every source has weight 0; give at least one a weight above 0")
        return self

    @property
    def digest(self) -> str:
        """SHA-256 (hex) of what the recipe asks for: its name, formatting, defaults left out and the order of its sources do not count."""
        content = self.model_dump(mode="json", exclude={"name"})
        content["sources"] = sorted(content["sources"], key=lambda source: source["name"])
        for source in content["sources"]:
            if not source["policy"]:
                del source["policy"]
        return hashlib.sha256(json.dumps(content, sort_keys=True, separators=(",", ":")).encode()).hexdigest()

    def source(self, name: str) -> RecipeSource | None:
        """The entry of one source, None where the recipe does not name it."""
        return next((source for source in self.sources if source.name == name), None)


def _usable_name(value: str) -> str:
    try:
        return checked_name(value)
    except Exception as error:
        raise ValueError(str(error)) from error
