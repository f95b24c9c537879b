"""The lazy engines as a searcher: events into matches, or into a tally of them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import pyarrow as pa

from fyke.engine.compiled import CompiledQuery
from fyke.engine.conditions.program import Program
from fyke.engine.feed import Feed
from fyke.engine.kernels import layout as L
from fyke.engine.lazy.search import LazyCall, LazySearch
from fyke.engine.lazy.tally import Tally
from fyke.engine.match_output import PartitionCounts, matches_bytes
from fyke.engine.matchset import MatchSet, concat
from fyke.engine.measure.clock import Clock
from fyke.engine.searcher import Reading, RemembersNothing
from fyke.engine.state import Memory
from fyke.plan.counting import Counting, may_repeat


class LazySearcher(RemembersNothing):
    """Binds rare events first, by a chain or a tree ([L]); it needs only the rows of the last windows."""

    def __init__(self, compiled: CompiledQuery) -> None:
        plan = compiled.plan
        self.limits = plan.limits
        self.programs = compiled.programs(Program)
        self.search = LazySearch(compiled, self.programs)
        counting = plan.counting
        self.tallied = isinstance(counting, Counting)
        self.tally = Tally(plan) if isinstance(counting, Counting) and not counting.chunks else None
        repeats = any(may_repeat(*pair) for pair in itertools.combinations(plan.alternatives, 2))
        self.alone = plan.format.independent and not repeats

    def decided_early(self, alternative: int) -> Sequence[int]:
        """Return the absences that are checked while variables are bound ([L] 4.4.2)."""
        return self.search.compiler.early[alternative]

    def read(self, feed: Feed, memory: Memory, clock: Clock) -> Reading:
        """Find the matches whose last event is new; if they are only tallied, return the tally."""
        values = None if self.tally is None else self.tally.arrays(feed.ordered.table)
        call = self.search.call(feed, values)
        found, bindings, matches = [], 0, 0
        for chunk in self._counted(call, feed):
            found.append(chunk)
            bindings += len(chunk.positions)
            matches += len(chunk)
            size, row = matches_bytes(bindings, matches), int(chunk.positions[-1])
            feed.meter.hold("matches", size, row, "matches")
        if self.tally is None or values is None:
            return Reading(concat(found), memory)
        feed.counters.matches = int(call.counts.sum())
        heads = feed.ordered.table.take(pa.array(feed.segments[:, 0]))
        counted = (call.counts[:-1], call.tally_i[:-1], call.tally_f[:-1])
        return Reading(concat(found), memory, tally=self.tally.rows(heads, values.typed, *counted))

    def chunks(self, feed: Feed) -> Iterator[MatchSet] | None:
        """Yield matches as they are found, if none of them may be tallied, dropped or repeated."""
        return self._counted(self.search.call(feed), feed) if self.tally is None and self.alone else None

    def _counted(self, call: LazyCall, feed: Feed) -> Iterator[MatchSet]:
        """Yield the chunks of a search; raise when a partition has more matches than the limit.

        Matches that are only tallied are not kept, so their number has no limit.
        """
        counted = PartitionCounts(feed.data.events[L.EVENT_SEGMENT], self.limits.matches)
        for chunk in call.chunks():
            if not self.tallied:
                counted.add(chunk)
            yield chunk
        feed.counters.merge(call.counters())
