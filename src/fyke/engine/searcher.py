"""The one interface of all engines: events into matches, and what is kept between two calls.

An engine finds the matches of the positive part whose last event is new.  It is made from a compiled
query alone and holds no events; what it has to remember it hands back as its *memory*, plain data in
terms of the pattern and of positions among the rows that are kept.  ``engines.py`` lists the engines;
what each can evaluate, and at what cost, says :mod:`fyke.plan.engines`.
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
    """What a search through the new events has found.

    Attributes
    ----------
    matches
        Matches of the positive part, with variables numbered over the whole query.
    memory
        What the searcher has to remember.
    read_to
        By segment, the first event that it has not read; None: it has read all that are complete.
    graphs
        The matches as graphs, where they leave the search as such.
    tally
        The matches as a tally, where they are only counted.
    decided
        By the text of a condition, how often it was decided and how often it held.
    """

    matches: MatchSet
    memory: Memory
    read_to: Array | None = None
    graphs: GraphSet | None = None
    tally: pa.Table | None = None
    decided: Mapping[str, tuple[int, int]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Dump:
    """A memory as data that can be written down: arrays by name, and notes that JSON can say."""

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
        """Find the matches whose last event is new; count what it took in ``feed.counters``.

        Raises
        ------
        LimitReached
        """

    @property
    def looks_back(self) -> bool:
        """Whether it looks again at events it has read: then those of the last window must be kept."""

    def chunks(self, feed: Feed) -> Iterator[MatchSet] | None:
        """Yield what :meth:`read` finds in chunks of bounded size, searching on only when one is taken.

        None where chunks are no results by themselves, or where the engine finds all matches first.
        """

    def decided_early(self, alternative: int) -> Sequence[int]:
        """Return the absences of an alternative that the search itself checks, by number."""

    # --- memory -------------------------------------------------------------------------

    def live_runs(self, memory: Memory) -> int:
        """Return how many partial matches a memory holds."""

    def start(self) -> Memory:
        """Return what there is to remember before the first event."""

    def used_rows(self, memory: Memory) -> Array:
        """Return the rows that must be kept for a memory to have a meaning."""

    def moved(self, memory: Memory, places: Array) -> Memory:
        """Return the same memory after rows have moved to ``places``."""

    def split(self, memory: Memory, part_of: Array, parts: int) -> list[Memory]:
        """Return the memory of each part, given the part of every row; positions stay as they are."""

    def merge(self, memories: Sequence[Memory]) -> Memory:
        """Return several memories as one; their positions are among the same rows."""

    def dump(self, memory: Memory) -> Dump:
        """Return a memory as data that can be written down."""

    def load(self, dump: Dump, rows: int) -> Memory:
        """Return a memory that was written down beside so many rows.

        Raises
        ------
        StateError
            If it is none of this plan, or refers to rows that are not there: no kernel must read it.
        """


class RemembersNoRows:
    """The part of an engine's interface that is the same for all that remember no positions."""

    looks_back = True  # what it does not remember it must find again

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
        """Return the first: none changes a result."""
        return memories[0]


class RemembersNothing(RemembersNoRows):
    """The memory of engines that need none: the rows of the last window are enough."""

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
