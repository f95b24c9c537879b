"""Limits that keep a query from costing unbounded time or memory, all with defaults."""

from __future__ import annotations

from dataclasses import dataclass, fields

from fyke.errors import LimitError, OptionError

_GREATEST = 2**63 - 1  # what counters hold
_STEPS, _STEPS_OF_AN_EVENT = 250_000_000, 1_000


@dataclass(frozen=True, slots=True)
class Limits:
    """Each limit has a default.  Exceeding it is a typed error that says where it happened and what to do.

    They mean the same for every engine, on a table and in a task of Spark.  The defaults stop a runaway query
    on a few thousand events within 20 seconds and a gigabyte.

    Attributes
    ----------
    query_characters, query_depth
        Size and nesting of a query text.
    alternatives
        OR-free patterns a query may expand into.
    runs
        Partial matches of a partition that are held at once: runs of an automaton, rows of a join tree, the
        stack of a lazy engine.
    buffer_bytes
        Memory of partial matches, of matches, and of the rows that are made of them; what a call takes beside
        its events stays within 1.25 times as much.
    matches
        Matches of a partition that are put together; those that are only counted are not.
    steps
        Work in one partition, in steps of some ten nanoseconds: a binding tried, a stored event looked at, a
        condition decided.  None: 250 million, and 1,000 for each event of the call.
    seconds
        Time of one call: of ``fyke.match`` on a table, of one batch of a task of Spark.  Compiling does not
        count.  None: no limit.
    """

    query_characters: int = 100_000
    query_depth: int = 100
    alternatives: int = 256
    runs: int = 2_000_000
    buffer_bytes: int = 750 * 1024**2
    matches: int = 100_000_000
    steps: int | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        for spec in fields(self):
            value = getattr(self, spec.name)
            if value is None and spec.default is None:
                continue
            if spec.name == "seconds":
                self._check_seconds(value)
                continue
            if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
                raise OptionError(
                    f"limit {spec.name!r} must be a whole number above zero, found {value!r}",
                    remedy="Leave a limit out to keep its default.",
                )
            if value > _GREATEST:
                raise OptionError(
                    f"limit {spec.name!r} must be at most 2^63 - 1, found {value!r}",
                    remedy="Nothing ever reaches that: it is as good as no limit.",
                )

    def _check_seconds(self, value: object) -> None:
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not number or not 0 < float(value) < float("inf"):  # type: ignore[arg-type]
            raise OptionError(
                f"limit 'seconds' must be a number above zero, found {value!r}",
                remedy="Leave it out for no limit.",
            )

    def steps_for(self, rows: int) -> int:
        """Return how many steps a partition may take in a call that reads so many rows."""
        return _STEPS + _STEPS_OF_AN_EVENT * rows if self.steps is None else self.steps

    def exceeded(self, limit: str, where: str, remedy: str, value: int | None = None) -> LimitError:
        """Return the error for a limit that was exceeded ``where``; ``value`` if it depends on the call."""
        setting = getattr(self, limit) if value is None else value
        return LimitError.exceeded(limit, setting, where, remedy)
