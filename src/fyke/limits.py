"""Limits that keep a query from costing unbounded time or memory, all with defaults."""

from __future__ import annotations

from dataclasses import dataclass, fields

from fyke.errors import LimitError, OptionError

_GREATEST = 2**63 - 1  # what counters hold
_REMEDY = {
    "runs": "Shorten the window, add conditions or a partition attribute, or choose a stricter strategy.",
    "buffer_bytes": "Shorten the window, or choose a strategy that keeps fewer partial matches.",
    "matches": "Shorten the window, add conditions, or choose a strategy with fewer matches.",
    "steps": "Shorten the window, add conditions or a partition attribute: too many bindings are tried.",
}


@dataclass(frozen=True, slots=True)
class Limits:
    """Each limit has a default.  Exceeding it is a typed error that says where it happened and what to do.

    The defaults stop a runaway query within a minute or two and a few gigabytes.

    Attributes
    ----------
    query_characters, query_depth
        Size and nesting of a query text.
    alternatives
        OR-free patterns a query may expand into.
    runs
        Partial matches alive at once in one partition.
    buffer_bytes
        Memory of the bindings of partial matches, and of matches that wait.
    matches
        Matches of one partition.
    steps
        Bindings tried in one partition: about 10 to 50 million of them take a second.
    """

    query_characters: int = 100_000
    query_depth: int = 100
    alternatives: int = 256
    runs: int = 2_000_000
    buffer_bytes: int = 2 * 1024**3
    matches: int = 100_000_000
    steps: int = 2_000_000_000

    def __post_init__(self) -> None:
        for spec in fields(self):
            value = getattr(self, spec.name)
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

    def exceeded(self, limit: str, where: str) -> LimitError:
        """Return the error for a limit of the search that was exceeded ``where``."""
        remedy = f"{_REMEDY[limit]} Or raise the limit: limits=fyke.Limits({limit}=...)."
        return LimitError.exceeded(limit, getattr(self, limit), where, remedy)
