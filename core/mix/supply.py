"""What a source can give, as a curve: how many tokens its first n rows are, and how many rows an amount of tokens takes.

The curve is a straight line while tokens are known from a sample only, and exact for the rows that were measured. It knows one source
and no weights.
"""

import math
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from core.errors import InputError
from core.mix.measured import Measured
from core.mix.ranking import Rows, held_out, ranked
from core.mix.recipe import Unit
from core.sources import Source

Z = 1.96
"""Standard errors on either side of a mean that hold it in 19 of 20 cases."""


class NoFigures(InputError):
    """A weight or a budget in tokens, and a source whose tokens nobody has measured."""


@dataclass(frozen=True)
class TokenEstimate:
    """What one conversation of a source becomes on average, measured on a sample through the template.

    `tokens_error` and `trainable_error` are relative, at 95 %. `measured` holds the conversations that are known exactly.
    """

    tokens: float
    trainable_tokens: float
    training_rows: float = 1.0
    sampled: int = 0
    tokens_error: float = 0.0
    trainable_error: float = 0.0
    measured: Measured | None = field(default=None, repr=False)

    def mean(self, unit: Unit) -> float:
        """Units of one conversation."""
        return {"rows": 1.0, "tokens": self.tokens, "trainable_tokens": self.trainable_tokens}[unit]

    def error(self, unit: Unit) -> float:
        """The relative error of that mean."""
        return {"rows": 0.0, "tokens": self.tokens_error, "trainable_tokens": self.trainable_error}[unit]


def estimate_from(measured: Measured, of: int, *, known: Measured | None = None) -> TokenEstimate:
    """Means over measured conversations (not none) as an estimate for `of` rows, with their errors; all measured: no error.

    `known` are further conversations with figures; they are exact in plans, but no fair sample.
    """

    def error(values: npt.NDArray[np.int32]) -> float:
        count, mean = len(values), float(values.mean())
        if count >= of or mean == 0:
            return 0.0
        spread = float(values.std(ddof=1)) if count > 1 else mean
        return Z * spread / mean / math.sqrt(count) * math.sqrt(1 - count / of)

    return TokenEstimate(
        tokens=float(measured.tokens.mean()),
        trainable_tokens=float(measured.trainable_tokens.mean()),
        training_rows=float(measured.training_rows.mean()),
        sampled=len(measured),
        tokens_error=error(measured.tokens),
        trainable_error=error(measured.trainable_tokens),
        measured=measured if known is None else known,
    )


@dataclass(frozen=True)
class Supply:
    """A source's usable rows in the order a mix takes them, epochs after the first the same again.

    `sums` holds per token unit the running sum over the rows `[usable rows + 1]`, where single rows are known; `known` is the number of
    first rows that are all known. Rows that are held out count as rows and have no tokens.
    """

    name: str
    rows: int
    trained: float = 1.0
    """Share of the rows that are not held out."""
    figures: TokenEstimate | None = None
    sums: dict[Unit, npt.NDArray[np.float64]] = field(default_factory=dict, repr=False)
    known: int = 0

    @classmethod
    def of(cls, source: Source, rows: Rows, figures: TokenEstimate | None, seed: int, validation: float) -> "Supply":
        """The supply of a source's usable rows; single rows are looked up where `figures` has measured ones."""
        if figures is None:
            return cls(source.name, len(rows))
        held = held_out(source, validation)
        trained = 1.0 - float(held[rows].mean()) if len(rows) else 1.0
        if figures.measured is None or not len(rows):
            return cls(source.name, len(rows), trained, figures)
        order = ranked(source, rows, seed)
        at, found = figures.measured.places(order)
        training = ~held[order]
        unknown = training & ~found
        sums: dict[Unit, npt.NDArray[np.float64]] = {}
        for unit, values in (("tokens", figures.measured.tokens), ("trainable_tokens", figures.measured.trainable_tokens)):
            each = np.where(found & training, values[at] if len(values) else 0, 0).astype(np.float64)
            each[unknown] = figures.mean(unit)  # type: ignore[arg-type]
            sums[unit] = np.concatenate([[0.0], np.cumsum(each)])  # type: ignore[index]
        return cls(source.name, len(rows), trained, figures, sums, int(unknown.argmax()) if unknown.any() else len(rows))

    def amount(self, unit: Unit, rows: int) -> float:
        """Units in the first `rows` rows. Raises `NoFigures`."""
        if unit == "rows":
            return float(rows)
        if unit in self.sums and self.rows:
            epochs, rest = divmod(rows, self.rows)
            return float(epochs * self.sums[unit][-1] + self.sums[unit][rest])
        if self.figures is None:
            raise self._unmeasured(unit)
        return rows * self.figures.mean(unit) * self.trained

    def position(self, unit: Unit, amount: float) -> float:
        """How many rows, a part of the next one included, hold the amount. Raises `NoFigures`."""
        if unit == "rows":
            return amount
        if unit not in self.sums:
            return amount / self._slope(unit)
        sums = self.sums[unit]
        if sums[-1] <= 0:
            raise self._nothing(unit)
        epochs = math.floor(amount / sums[-1])
        rest = amount - epochs * sums[-1]
        whole = min(int(np.searchsorted(sums, rest, side="right")) - 1, self.rows - 1)
        step = sums[whole + 1] - sums[whole]
        return float(epochs * self.rows + whole + (min(1.0, (rest - sums[whole]) / step) if step > 0 else 0.0))

    def exact(self, rows: int) -> bool:
        """Whether the tokens of the first `rows` rows are known one by one."""
        return bool(self.sums) and (rows <= self.known or self.known == self.rows)

    def error(self, unit: Unit, rows: int) -> float:
        """The relative error (95 %) of `amount`."""
        return 0.0 if self.figures is None or unit == "rows" or self.exact(rows) else self.figures.error(unit)

    def _slope(self, unit: Unit) -> float:
        if self.figures is None:
            raise self._unmeasured(unit)
        slope = self.figures.mean(unit) * self.trained
        if slope <= 0:
            raise self._nothing(unit)
        return slope

    def _unmeasured(self, unit: Unit) -> NoFigures:
        return NoFigures(f"{self.name} is weighed or limited in {unit.replace('_', ' ')}, and nobody has measured its tokens.")

    def _nothing(self, unit: Unit) -> NoFigures:
        what = f"{self.name} has no {unit.replace('_', ' ')} under this target (every row refused or held out)"
        return NoFigures(f"{what}: weigh it in rows, or leave it out.")
