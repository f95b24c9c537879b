"""Limits that keep a query from costing unbounded time or memory, all with defaults."""

from __future__ import annotations

from dataclasses import dataclass, fields

from fyke.errors import OptionError


@dataclass(frozen=True, slots=True)
class Limits:
    """Each limit has a default and ends in a typed error that names it.

    Attributes
    ----------
    query_characters, query_depth
        Size and nesting of a query text.
    alternatives
        OR-free patterns a query may expand into.
    runs
        Partial matches alive at once in one partition.
    buffer_nodes
        Bindings held by live partial matches and by matches waiting for their window.
    matches
        Matches of one call: of a table, or of a chunk of one Spark task.
    steps
        Bindings tried in one partition.
    """

    query_characters: int = 100_000
    query_depth: int = 100
    alternatives: int = 256
    runs: int = 2_000_000
    buffer_nodes: int = 50_000_000
    matches: int = 100_000_000
    steps: int = 20_000_000_000

    def __post_init__(self) -> None:
        for spec in fields(self):
            value = getattr(self, spec.name)
            if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
                raise OptionError(
                    f"limit {spec.name!r} must be a whole number above zero, found {value!r}",
                    remedy="Leave a limit out to keep its default.",
                )
