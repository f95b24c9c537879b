"""The interface of all engines: events into matches, and what is kept between two calls.

A searcher finds the matches of the positive part whose last event is new.  It is made from a compiled
query alone and holds no events.  What it must remember it returns as its *memory*: plain data, in terms of
the pattern and of positions among the kept rows.  ``engines.py`` lists the searchers by name;
:mod:`fyke.plan.engines` says what each engine can evaluate, and at what cost.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from fyke.engine.compiled import CompiledQuery
from fyke.engine.conditions.program import Program
from fyke.engine.feed import Feed
from fyke.engine.kernels.arrays import Array
from fyke.engine.matchset import MatchSet
from fyke.engine.measure.clock import Clock
from fyke.engine.output.graphs import GraphSet
from fyke.engine.state import Memory
from fyke.errors import StateError


@dataclass(frozen=True, slots=True)
class Reading:
    """What a search through the new events finds.

    Attributes
    ----------
    matches
        Matches of the positive part, with variables numbered over the whole query.
    memory
        What the searcher must remember.
    read_to
        The first unread event of each segment; None: all complete events have been read.
    graphs
        The matches as graphs, if they leave the search in that form.
    tally
        The matches as a tally, if they are only counted.
    decided
        How often each condition, by its text, was decided, and how often it held.
    """

    matches: MatchSet
    memory: Memory
    read_to: Array | None = None
    graphs: GraphSet | None = None
    tally: pa.Table | None = None
    decided: Mapping[str, tuple[int, int]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Dump:
    """A memory in a form that can be saved: arrays by name, and notes that are valid JSON."""

    arrays: Mapping[str, Array] = field(default_factory=dict)
    notes: Any = None


class Searcher(Protocol):
    """An engine for one plan."""

    def __init__(self, compiled: CompiledQuery) -> None: ...

    @property
    def programs(self) -> Sequence[Program]:
        """The compiled alternatives."""

    # --- searching ----------------------------------------------------------------------

    def read(self, feed: Feed, memory: Memory, clock: Clock) -> Reading:
        """Find the matches whose last event is new; count the work in ``feed.counters``.

        Raises
        ------
        LimitReached
        """

    @property
    def looks_back(self) -> bool:
        """Whether it looks again at events it has read: then those of the last window must be kept."""

    @property
    def may_stay(self) -> bool:
        """Whether it is worth keeping for the next table: it is small, and no statistics have shaped it."""

    def chunks(self, feed: Feed) -> Iterator[MatchSet] | None:
        """Yield what :meth:`read` finds in chunks of bounded size, and search on only when one is taken.

        None if a chunk is not a result by itself, or if the engine finds all matches first.
        """

    def decided_early(self, alternative: int) -> Sequence[int]:
        """Return the numbers of the absences of an alternative that the search itself checks."""

    # --- memory -------------------------------------------------------------------------

    def live_runs(self, memory: Memory) -> int:
        """Return how many partial matches a memory holds."""

    def start(self) -> Memory:
        """Return the memory before the first event."""

    def used_rows(self, memory: Memory) -> Array:
        """Return the rows that a memory refers to, which must be kept."""

    def moved(self, memory: Memory, places: Array) -> Memory:
        """Return the same memory after rows have moved to ``places``."""

    def split(self, memory: Memory, part_of: Array, parts: int) -> list[Memory]:
        """Return the memory of each part, given the part of every row; positions do not change."""

    def merge(self, memories: Sequence[Memory]) -> Memory:
        """Return several memories as one; their positions refer to the same rows."""

    def dump(self, memory: Memory) -> Dump:
        """Return a memory in a form that can be saved."""

    def load(self, dump: Dump, rows: int) -> Memory:
        """Return a memory that was saved together with so many rows.

        Raises
        ------
        StateError
            If it does not belong to this plan, or refers to rows that are not there: no kernel may read it.
        """


class RemembersNoRows:
    """The part of the interface that is the same for all searchers that remember no positions."""

    looks_back = True  # what it does not remember it must find again
    may_stay = True

    def live_runs(self, memory: Memory) -> int:
        """Return 0: partial matches are made anew from the events that are kept."""
        return 0

    def used_rows(self, memory: Memory) -> Array:
        """Return no rows."""
        return np.zeros(0, np.int64)

    def moved(self, memory: Memory, places: Array) -> Memory:
        """Return the memory as it is."""
        return memory

    def split(self, memory: Memory, part_of: Array, parts: int) -> list[Memory]:
        """Return the same memory for each part."""
        return [memory] * parts

    def merge(self, memories: Sequence[Memory]) -> Memory:
        """Return the first memory: none of them changes a result."""
        return memories[0]


class RemembersNothing(RemembersNoRows):
    """The memory of searchers that need none, because the rows of the last window are enough."""

    def start(self) -> Memory:
        """Return nothing."""
        return None

    def dump(self, memory: Memory) -> Dump:
        """Return nothing."""
        return Dump()

    def load(self, dump: Dump, rows: int) -> Memory:
        """Return nothing, and refuse anything else."""
        if dump.arrays or dump.notes is not None:
            raise StateError.damaged("its engine remembers nothing, and something is there")
        return None
