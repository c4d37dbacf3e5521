"""What a recipe may ask of single rows: filters, duplicates, contamination. It knows what may be written, not how it is checked."""

import re
from typing import Annotated, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

MODEL = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, use_attribute_docstrings=True)

Finish = Literal["complete", "call", "cut", "empty"]
"""How the last answer ends: as a text should, with a tool call, in the middle of something, or without a word."""

FINISHES: tuple[Finish, ...] = get_args(Finish)

MOST = 2**63 - 1
"""TOML's largest whole number; what is above it has no place in hashes and tables either."""

Count = Annotated[int, Field(ge=0, le=MOST)]
Share = Annotated[float, Field(ge=0, le=1)]


class Filters(BaseModel):
    """What a row must be to be used; a key that is not given asks nothing. A row must pass every one.

    Rows that a filter can say nothing about (a text too short for its language to be told) fail it: they are not known to pass.
    """

    model_config = MODEL

    min_turns: Count | None = None
    """Messages without system ones."""
    max_turns: Count | None = None
    min_chars: Count | None = None
    """Characters of what can be read in the row."""
    max_chars: Count | None = None
    min_tokens: Count | None = None
    """Tokens of all its training rows under the recipe's target; the source is measured once for it."""
    max_tokens: Count | None = None
    languages: tuple[str, ...] | None = None
    """ISO 639 codes, any of them; "und" where no language can be told (code, very short texts)."""
    has_tools: bool | None = None
    has_reasoning: bool | None = None
    finish: tuple[Finish, ...] | None = None
    """How the last answer ends, any of them."""
    match: tuple[str, ...] = ()
    """Regular expressions (RE2) that must all be found in what can be read in the row; case does not count."""
    no_match: tuple[str, ...] = ()
    """Regular expressions (RE2) of which none may be found."""
    max_nontext: Share | None = None
    """Share of characters, white space aside, that are neither letters nor digits."""
    max_repetition: Share | None = None
    """Share of the row's word n-grams that stood in it before."""
    repetition_ngram: Annotated[int, Field(ge=1, le=50)] = 5
    """Words of those n-grams."""

    @field_validator("match", "no_match")
    @classmethod
    def _expressions(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for expression in value:
            try:
                re.compile(expression)
            except re.error as error:
                raise ValueError(f"{expression!r} is not a regular expression ({error}); escape what is meant literally") from error
            if re.search(r"\(\?<?[=!]|\\[1-9]", expression):
                raise ValueError(f"{expression!r} looks ahead, behind or back, which RE2 does not do; write it without")
        return value

    @field_validator("languages", "finish")
    @classmethod
    def _any(cls, value: tuple[str, ...] | None) -> tuple[str, ...] | None:
        if value == ():
            raise ValueError("an empty list lets no row pass; name at least one, or leave the key out")
        return value

    @model_validator(mode="after")
    def _ranges(self) -> "Filters":
        for what in ("turns", "chars", "tokens"):
            low, high = getattr(self, f"min_{what}"), getattr(self, f"max_{what}")
            if low is not None and high is not None and low > high:
                raise ValueError(f"min_{what} = {low} is above max_{what} = {high}, so no row can pass; swap them")
        return self

    @property
    def asks(self) -> bool:
        """Whether it asks anything at all."""
        return bool(self.model_dump(exclude_defaults=True, exclude={"repetition_ngram"}))


class Duplicates(BaseModel):
    """Which rows are the same in another's clothes. Of each group one row stays: the most preferred source's, then its first."""

    model_config = MODEL

    exact: bool = False
    """Rows that are equal when case and white space do not count."""
    near: bool = False
    """Rows whose sets of word shingles overlap (Jaccard) by at least `threshold`, found by MinHash; exact ones too."""
    threshold: Annotated[float, Field(gt=0, le=1)] = 0.8
    shingle: Annotated[int, Field(ge=1, le=50)] = 5
    """Words of a shingle."""
    within: bool = True
    """Remove duplicates inside a source."""
    across: bool = True
    """Remove duplicates between sources."""
    prefer: tuple[str, ...] = ()
    """Sources whose rows stay, the most preferred first; those not named follow in alphabetical order."""

    @property
    def asks(self) -> bool:
        """Whether duplicates are looked for at all."""
        return self.exact or self.near


class Contamination(BaseModel):
    """Benchmarks that no row to train on may repeat: a row that shares `ngram` words in a row with one of their texts is a match."""

    model_config = MODEL

    benchmarks: tuple[Annotated[str, Field(min_length=1)], ...] = ()
    """Files (JSON Lines, Parquet, …), folders or hub ids."""
    ngram: Annotated[int, Field(ge=3, le=100)] = 13
    """Words (13 as in Brown et al. 2020, appendix C)."""
    boilerplate: Annotated[int, Field(ge=2, le=MOST)] = 10
    """A run of words that stands in so many texts of the benchmarks is how they are written, not what they ask."""
    drop_boilerplate: bool = False
    """Drop rows that share nothing but boilerplate, too."""
    action: Literal["drop", "report"] = "drop"
    keep: tuple[str, ...] = ()
    """Groups whose matches are kept, by name as the report shows them (`gsm8k-test:17`, `boilerplate`)."""

    @property
    def asks(self) -> bool:
        """Whether anything is compared."""
        return bool(self.benchmarks)
