"""The recipe: everything that decides which tokens a dataset holds, and nothing else.

It knows what may stand in a recipe and what each value means. It does not know TOML (`recipe_file`) or any source.
"""

import difflib
import hashlib
import json
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, Field, field_validator, model_validator

from core.dialects import CODES, BadPolicy, Policy
from core.mix.rules import MODEL, Contamination, Duplicates, Filters
from core.sources import DOMAINS
from core.workspace import checked_name

Unit = Literal["rows", "tokens", "trainable_tokens"]
"""What is counted: conversations, tokens of their training rows, or those of them that are trained on."""

UNITS: tuple[Unit, ...] = get_args(Unit)


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
    unit: Unit = "rows"
    """Rows are conversations (one may become several training rows) and include those held out; tokens are those of the others."""


class RecipeSource(BaseModel):
    """One source's part of the mix."""

    model_config = MODEL

    name: str
    weight: Annotated[float, Field(ge=0)]
    """Its share is its weight over the sum of all weights; 0 leaves the source out."""
    unit: Unit = "rows"
    """What the weight weighs: a source with weight 2 in tokens gives as many tokens as one with weight 2 in rows gives rows."""
    max_epochs: float = Field(default=1.0, gt=0)
    """How often each of its rows may be used."""
    max_rows: int | None = Field(default=None, ge=1)
    policy: dict[str, str] = Field(default_factory=dict)
    """Code -> repair, quarantine or keep: what its import must have done about each (`core.dialects.CODES`)."""
    filters: Filters = Filters()
    """On top of those for all sources and for its domain."""
    repairs: dict[str, Literal["keep", "drop"]] = Field(default_factory=dict)
    """What becomes of rows that were repaired, by the repair's code; "all" stands for every code that is not named."""

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

    @field_validator("repairs")
    @classmethod
    def _codes(cls, value: dict[str, str]) -> dict[str, str]:
        for code in value:
            if code != "all" and (code not in CODES or CODES[code].kind != "repair"):
                near = difflib.get_close_matches(code, [*CODES, "all"], n=1)
                raise ValueError(
                    f"{code!r} is no repair; " + (f"did you mean {near[0]}?" if near else "the Sources page shows those of a source")
                )
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
    filters: Filters = Filters()
    """For every source."""
    domain_filters: dict[str, Filters] = Field(default_factory=dict)
    """For every source of a domain."""
    duplicates: Duplicates = Duplicates()
    contamination: Contamination = Contamination()
    sources: tuple[RecipeSource, ...] = Field(min_length=1)

    @field_validator("name")
    @classmethod
    def _name(cls, value: str) -> str:
        return _usable_name(value)

    @field_validator("domain_filters")
    @classmethod
    def _domains(cls, value: dict[str, Filters]) -> dict[str, Filters]:
        for domain in value:
            if domain not in DOMAINS:
                raise ValueError(f"{domain!r} is not a domain; use one of {', '.join(DOMAINS)}")
        return value

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
        _leave_out(content, Recipe, ("filters", "domain_filters", "duplicates", "contamination"))
        for source in content["sources"]:
            _leave_out(source, RecipeSource, ("unit", "filters", "repairs", "policy"))
        return hashlib.sha256(json.dumps(content, sort_keys=True, separators=(",", ":")).encode()).hexdigest()

    @property
    def weights_unit(self) -> Unit:
        """The unit of all weights where they share one, else that of the budget."""
        units = {source.unit for source in self.sources if source.weight > 0}
        return units.pop() if len(units) == 1 else self.budget.unit

    @property
    def needs_tokens(self) -> bool:
        """Whether what it picks depends on token figures of its sources."""
        weighed = [source for source in self.sources if source.weight > 0]
        return self.budget.unit != "rows" or any(source.unit != "rows" for source in weighed)

    def source(self, name: str) -> RecipeSource | None:
        """The entry of one source, None where the recipe does not name it."""
        return next((source for source in self.sources if source.name == name), None)


def _leave_out(content: dict[str, Any], model: type[BaseModel], later: tuple[str, ...]) -> None:
    """Take keys that recipes could not have once, and that say nothing here, out of what is hashed: old recipes keep their hash."""
    for key in later:
        default = model.model_fields[key].get_default(call_default_factory=True)
        if content[key] == (default.model_dump(mode="json") if isinstance(default, BaseModel) else default):
            del content[key]


def _usable_name(value: str) -> str:
    try:
        return checked_name(value)
    except Exception as error:
        raise ValueError(str(error)) from error
