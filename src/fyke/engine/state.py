"""What an engine keeps between two calls of ``advance``: rows, the searcher's memory, matches that wait.

A state is data.  With the plan alone, any engine object in any process can continue from it
(:mod:`fyke.engine.state_bytes`).  It can be split and merged by partition
(:mod:`fyke.engine.partition_state`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from fyke.engine.kernels.arrays import Array
from fyke.engine.matchset import MatchSet, no_matches

Memory = Any  # what a searcher keeps; see fyke.engine.searcher


@dataclass(frozen=True, slots=True)
class State:
    """The state of an engine after a batch.

    Attributes
    ----------
    rows
        Prepared rows that are unread, or that something may still look at.
    read
        Which of them have been read.
    index
        Their numbers within their partitions, for WITHIN n EVENTS.
    memory
        What the searcher remembers, in terms of the pattern and of positions among ``rows``.
    waiting
        Matches of the positive part that later events may still rule out.
    chosen
        For ``non_overlap``: matches that are certain, but may not be next in order.
    watermark
        Every event up to this end time has been read; None before the first batch.
    last_ends
        For ``non_overlap``: the partition values, and the end of the last match reported in each.
    """

    rows: pa.Table
    read: Array
    index: Array
    memory: Memory
    waiting: MatchSet = field(default_factory=no_matches)
    chosen: MatchSet = field(default_factory=no_matches)
    watermark: int | None = None
    last_ends: pa.Table | None = None

    @property
    def idle(self) -> bool:
        """Whether it holds nothing that matters for a later event, so that it need not be kept."""
        return self.rows.num_rows == 0 and (self.last_ends is None or self.last_ends.num_rows == 0)


def empty_state(schema: pa.Schema, memory: Memory) -> State:
    """Return the state before the first event."""
    return State(schema.empty_table(), np.zeros(0, bool), np.zeros(0, np.int64), memory)
