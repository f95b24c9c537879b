"""What the engine's door does with a lazy plan: read events into matches, or into a tally of them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from fyke.engine.automaton.call import Feed
from fyke.engine.conditions.program import Program, Settings
from fyke.engine.kernels import layout as L
from fyke.engine.kernels.arrays import BINDING_BYTES, Array, Data
from fyke.engine.lazy.search import LazySearch, LazySettings
from fyke.engine.lazy.tally import Tally, TallyArrays
from fyke.engine.limits import LimitReached
from fyke.engine.matchset import MatchSet, concat
from fyke.engine.state import Counters
from fyke.plan.counting import Counting, may_repeat
from fyke.plan.plan import Plan


class LazyReader:
    """The lazy search of a plan, behind the door of the engine."""

    def __init__(
        self, plan: Plan, programs: Sequence[Program], settings: Settings, names: Sequence[str]
    ) -> None:
        self.limits = plan.limits
        lazy = LazySettings(
            plan.engine == "lazy_tree",
            plan.techniques.order or plan.order,
            plan.techniques.absence != "post_processing",
            plan.schema.points,
            plan.limits,
        )
        self.search = LazySearch(plan.alternatives, programs, settings, names, lazy)
        counting = plan.counting
        self.tallied = isinstance(counting, Counting)
        self.tally = Tally(plan) if isinstance(counting, Counting) and not counting.chunks else None
        self.arrays: TallyArrays | None = None
        repeats = any(may_repeat(*pair) for pair in itertools.combinations(plan.alternatives, 2))
        self.alone = plan.output == "all" and not repeats

    def decided_early(self, number: int) -> tuple[int, ...]:
        """Return the absences of an alternative that the search itself checks."""
        return self.search.decided_early(number)

    def begin(self, table: pa.Table) -> None:
        """Take up the ordered rows of a call."""
        self.arrays = None if self.tally is None else self.tally.arrays(table)

    @property
    def streams(self) -> bool:
        """Whether chunks of matches are results by themselves: none is tallied, dropped or repeated."""
        return self.tally is None and self.alone

    def read(self, feed: Feed, data: Data, ranks: dict[str, int], counters: Counters) -> MatchSet:
        """Return the matches whose last event is new; none if they are only tallied."""
        found, bindings = [], 0
        for chunk in self.chunks(feed, data, ranks, counters):
            found.append(chunk)
            bindings += len(chunk.positions)
            if bindings * BINDING_BYTES > self.limits.buffer_bytes:
                raise LimitReached("buffer_bytes", int(chunk.positions[-1]))
        return concat(found)

    def chunks(self, feed: Feed, data: Data, ranks: dict[str, int], counters: Counters) -> Iterator[MatchSet]:
        """Yield the matches whose last event is new, in chunks of bounded size."""
        call = self.search.call(feed, data, ranks, self.arrays)
        partition, count = -1, 0
        for chunk in call.chunks():
            partition, count = self._counted(chunk, data.events, partition, count)
            yield chunk
        counters.merge(call.counters())
        if self.tally is not None:
            self.tally.take(call.counts[:-1], call.tally_i[:-1], call.tally_f[:-1])
            counters.matches = int(call.counts.sum())

    def _counted(self, chunk: MatchSet, events: Array, partition: int, count: int) -> tuple[int, int]:
        """Count the matches of each partition, which come one after the other; return the last one's.

        Matches that are only tallied are not kept, so their number has no limit.
        """
        for code, number in self._by_partition(chunk, events[L.EVENT_SEGMENT]):
            count = number + (count if code == partition else 0)
            partition = code
            if count > self.limits.matches and not self.tallied:
                raise LimitReached("matches", int(chunk.positions[-1]))
        return partition, count

    def _by_partition(self, chunk: MatchSet, codes: Array) -> Iterator[tuple[int, int]]:
        """Yield each partition of a chunk, and how many matches it has there."""
        first, last = (int(codes[chunk.positions[chunk.offsets[m]]]) for m in (0, -2))
        if first == last:
            yield first, len(chunk)
            return
        found, numbers = np.unique(codes[chunk.first], return_counts=True)
        yield from zip(found.tolist(), numbers.tolist(), strict=True)

    def tally_rows(self, table: pa.Table, segments: Array) -> pa.Table | None:
        """Return what was tallied by the last :meth:`read`."""
        return None if self.tally is None else self.tally.rows(table, segments)
