"""What is known about the data: how often events occur and how often conditions hold ([T] 3.5.3).

Statistics steer plans and never change a result.  They come from the user, from a sample or the first
chunk of the events, and from the engine while it runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fyke.errors import OptionError
from fyke.language.ast import Binary, Expression
from fyke.logical.normal_form import Condition

USUAL_RATE = 10.0
_USUAL = {"=": 0.1, "!=": 0.9, "<>": 0.9}


@dataclass(frozen=True, slots=True)
class Statistics:
    """Rates by variable, selectivities by the text of a condition.

    Attributes
    ----------
    rates
        For each variable of the pattern, how many events a window holds that could be bound to it.
    selectivities
        For each condition between events, the share of pairs (in order and window) for which it holds.
    window_rows
        How many relevant events a window holds.
    rows
        How many rows were measured; 0 if the statistics are only assumed.
    missing_types
        The event types that the query names and no event has, each with what may be meant.

    Examples
    --------
    >>> print(Statistics({"a": 12.0}, {"a.x < b.x": 0.5}, 30.0, 1000))
    statistics of 1,000 rows, 30 in a window
      a  12 a window
      a.x < b.x  holds for 50 %
    """

    rates: Mapping[str, float] = field(default_factory=dict)
    selectivities: Mapping[str, float] = field(default_factory=dict)
    window_rows: float = 0.0
    rows: int = 0
    missing_types: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for what, values, most in (("rate", self.rates, None), ("selectivity", self.selectivities, 1)):
            for name, value in values.items():
                number = isinstance(value, (int, float)) and not isinstance(value, bool)
                if not number or not value >= 0 or (most is not None and value > most):
                    allowed = "a number from 0 to 1" if most else "a number, 0 or more"
                    raise OptionError(
                        f"{what} of {name!r} must be {allowed}, found {value!r}",
                        remedy="Take statistics from fyke.statistics(events, query, ...), or leave them out.",
                    )

    def rate(self, name: str) -> float:
        """Return how many events of a variable a window holds, or the usual number if that is unknown."""
        return float(self.rates.get(name, USUAL_RATE))

    def selectivity(self, condition: Condition, text: str) -> float:
        """Return how often a condition holds, or the usual share if that is unknown."""
        found = self.selectivities.get(text)
        return usual_selectivity(condition.expression) if found is None else float(found)

    def __str__(self) -> str:
        rows = "1 row" if self.rows == 1 else f"{self.rows:,} rows"
        lines = [f"statistics of {rows}, {short(self.window_rows)} in a window"]
        if not self.rows:
            lines = ["assumed statistics"]
        lines += [f"  {name}  {short(rate)} a window" for name, rate in self.rates.items()]
        lines += [f"  {text}  holds for {100 * s:.3g} %" for text, s in self.selectivities.items()]
        lines += [f"  no event is of type {name!r}.{hint}" for name, hint in self.missing_types.items()]
        return "\n".join(lines)


def short(value: float) -> str:
    """Return a number with the digits that matter."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


class Sums:
    """Statistics as sums, weighted by rows, so that those of stretches and of tasks can be added.

    >>> sums = Sums(["a"], ["a.x < b.x"])
    >>> sums.add(Statistics({"a": 4.0}, {"a.x < b.x": 0.5}, 8.0, 100))
    >>> sums.add(Statistics({"a": 1.0}, {}, 2.0, 200))
    >>> print(sums.statistics())
    statistics of 300 rows, 4 in a window
      a  2 a window
      a.x < b.x  holds for 50 %
    """

    def __init__(self, names: Sequence[str], texts: Sequence[str]) -> None:
        self.names, self.texts = tuple(dict.fromkeys(names)), tuple(dict.fromkeys(texts))
        # Rows, rows in windows, events of each variable; of each condition its pairs, and those that hold.
        self.values = [0.0] * (2 + len(self.names) + 2 * len(self.texts))

    def add(self, found: Statistics) -> None:
        """Add what some rows have shown."""
        seen = [1.0, found.window_rows, *(found.rates.get(name, 0.0) for name in self.names)]
        for text in self.texts:
            share = found.selectivities.get(text)
            seen += [0.0, 0.0] if share is None else [1.0, share]
        self.values = [old + found.rows * new for old, new in zip(self.values, seen, strict=True)]

    def decided(self, text: str, tried: int, held: int) -> None:
        """Use a condition's decisions, if nothing better is known."""
        at = 2 + len(self.names) + 2 * self.texts.index(text)
        if tried > 0 and self.values[at] == 0.0:
            self.values[at : at + 2] = [float(tried), min(float(held), float(tried))]

    def statistics(self) -> Statistics:
        """Return the means."""
        rows, held, *rest = self.values
        if rows == 0.0:
            return Statistics()
        rates, pairs = rest[: len(self.names)], rest[len(self.names) :]
        shares = zip(self.texts, pairs[::2], pairs[1::2], strict=True)
        return Statistics(
            {name: each / rows for name, each in zip(self.names, rates, strict=True)},
            {text: min(1.0, share / count) for text, count, share in shares if count > 0.0},
            held / rows,
            int(rows),
        )


def usual_selectivity(expression: Expression) -> float:
    """Return how often a condition holds if nothing is known."""
    operator = expression.operator if isinstance(expression, Binary) else ""
    return _USUAL.get(operator, 0.5)


def is_equality(condition: Condition) -> bool:
    """Say whether a condition is an equality of two variables, which an index or a hash can look up."""
    expression = condition.expression
    equal = isinstance(expression, Binary) and expression.operator == "="
    return equal and len(condition.variables) == 2
