"""The one door of the engine: ``advance(state, batch, watermark) -> (state, found)``.

Batch, stream and tests all go through it.  A batch of prepared rows is added to the rows in the state.
Events up to the watermark are read in processing order.  Matches are reported once, when no later event
can change them.  A watermark of None ends the input.  The result is a function of plan, state, batch and
watermark: an engine object keeps nothing but what it has compiled from the plan.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from fyke.engine.compiled import CompiledQuery, literals_of
from fyke.engine.counters import Counters
from fyke.engine.engines import SEARCHERS
from fyke.engine.feed import Feed
from fyke.engine.found import Found
from fyke.engine.input.list_lengths import check_list_lengths
from fyke.engine.input.order import order_rows, times
from fyke.engine.input.segments import between, count_ties, find_segments, number_events
from fyke.engine.kernels import layout as L
from fyke.engine.kernels.arrays import Array
from fyke.engine.limits import limits_by_partition
from fyke.engine.matchset import MatchSet, concat, no_matches
from fyke.engine.measure.clock import Clock
from fyke.engine.meter import Meter
from fyke.engine.output.graphs import graphs_of
from fyke.engine.searcher import Reading
from fyke.engine.selection.certain import (
    can_be_ruled_out,
    same_moment,
    split_certain,
    split_in_order,
    still_visible,
)
from fyke.engine.selection.choose import Chooser
from fyke.engine.selection.non_overlap import keep_apart
from fyke.engine.state import Memory, State, empty_state
from fyke.plan.plan import Plan
from fyke.plan.successions import direct_successions

_END_OF_TIME = 2**63 - 1


@dataclass(frozen=True, slots=True)
class _Selected:
    """The matches that a call reports, and those that wait."""

    ready: MatchSet
    waiting: MatchSet
    chosen: MatchSet
    last_ends: pa.Table | None


class Engine:
    """The engine for one plan.  It holds no events: they are in the state."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.compiled = CompiledQuery(plan)
        self.searcher = SEARCHERS[plan.engine](self.compiled)
        self.chooser = Chooser(self.compiled, self.searcher)
        self.literals = literals_of(self.searcher.programs)
        self.successions = direct_successions(plan)
        self.late = can_be_ruled_out(plan, self.searcher.programs)
        self.waits = bool(self.late.any())
        absences = any(program.absence_rows for program in self.searcher.programs)
        self._start: State | None = None  # made once: it is the same for all calls
        self.looks_back = self.searcher.looks_back or absences or plan.window.counts_events

    def start(self, schema: pa.Schema) -> State:
        """Return the state before the first event of prepared batches with ``schema``."""
        if self._start is None or not self._start.rows.schema.equals(schema):
            self._start = empty_state(schema, self.searcher.start())
        return self._start

    def advance(
        self,
        state: State,
        batch: pa.Table,
        watermark: int | None,
        *,
        sorted_rows: bool = False,
        clock: Clock | None = None,
        meter: Meter | None = None,
    ) -> tuple[State, Found]:
        """Read the events of a batch, and those that waited, up to a watermark.

        Parameters
        ----------
        state
            What the last call returned, or :meth:`start`.
        batch
            Prepared rows, in any order.  Rows not after the last watermark are late and left out.
        watermark
            Events that end up to this time are complete and are read; None: all events are.
        sorted_rows
            Whether the rows of the batch are already in processing order within each partition.
        clock
            Measures how long each phase takes.
        meter
            Counts what the call costs; one of its own unless other calls share it.
        """
        clock = clock or Clock()
        feed = self._take_up(state, batch, watermark, sorted_rows, clock, meter)
        return self._find(state, feed, clock)

    def _find(self, state: State, feed: Feed, clock: Clock) -> tuple[State, Found]:
        """Search what was taken up, and choose among the matches."""
        table, counters = feed.ordered.table, feed.counters
        with limits_by_partition(table, self.plan):
            memory = self.searcher.moved(state.memory, feed.places)
            reading = self.searcher.read(feed, memory, clock)
            read_to = self._count_read(feed, reading)
            clock.lap("search")
            selected = self._select(state, feed, reading.matches)
        counters.matches += len(selected.ready)
        graphs = None
        if self.plan.format.shared:
            graphs = graphs_of(selected.ready) if reading.graphs is None else reading.graphs
            if reading.graphs is not None:
                counters.matches = counters.intermediate_matches = graphs.matches()
        clock.lap("choose")
        found = Found(
            selected.ready, table, feed.ordered.events, counters, graphs, reading.tally, reading.decided
        )
        return self._keep(feed, read_to, reading.memory, selected), found

    def advance_in_chunks(
        self,
        state: State,
        batch: pa.Table,
        watermark: int | None,
        *,
        sorted_rows: bool = False,
        clock: Clock | None = None,
        meter: Meter | None = None,
    ) -> Generator[Found, None, State]:
        """Do what :meth:`advance` does, but yield matches in chunks and return the state.

        Where each match is certain by itself, a searcher that can do so goes on only when a chunk has been
        taken, so that memory does not grow with the matches.
        """
        clock = clock or Clock()
        waits = self.waits and (watermark is not None or len(state.waiting) > 0)
        feed = self._take_up(state, batch, watermark, sorted_rows, clock, meter)
        chunks = None if waits else self.searcher.chunks(feed)
        if chunks is None:
            after, found = self._find(state, feed, clock)
            yield found
            return after
        table, events = feed.ordered.table, feed.ordered.events
        with limits_by_partition(table, self.plan):
            for matches in chunks:
                clock.lap("search")
                ready = self.chooser.choose(matches, feed)
                clock.lap("choose")
                feed.meter.suspend()
                yield Found(ready, table, events, Counters(matches=len(ready)))
                feed.meter.resume()
        clock.lap("search")
        read_to = self._count_read(feed, None)
        yield Found(no_matches(), table, events, feed.counters)
        nothing = no_matches()
        return self._keep(feed, read_to, state.memory, _Selected(nothing, nothing, nothing, None))

    def _take_up(
        self,
        state: State,
        batch: pa.Table,
        watermark: int | None,
        sorted_rows: bool,
        clock: Clock,
        meter: Meter | None,
    ) -> Feed:
        """Sort the rows of a batch together with those that were kept, and encode them as arrays."""
        counters = Counters()
        clock.restart()
        meter = meter or Meter(self.plan.limits, state.rows.num_rows + batch.num_rows)
        batch = self._without_late(state, batch, counters)
        rows = pa.concat_tables([state.rows, batch]) if state.rows.num_rows else batch
        ordered = order_rows(rows, self.plan, sorted_rows=sorted_rows and state.rows.num_rows == 0)
        places = np.empty(rows.num_rows, np.int64)
        places[ordered.permutation] = np.arange(rows.num_rows)
        read = np.zeros(rows.num_rows, bool)
        read[places[: len(state.read)]] = state.read
        if self.plan.window.counts_events and len(state.index):
            number_events(ordered, places, state.read, state.index)
        segments = find_segments(ordered, read, watermark)
        clock.lap("order")
        data, ranks = self.compiled.encode(ordered.table, ordered.events, self.literals)
        check_list_lengths(self.searcher.programs, data)
        clock.lap("encode")
        now = _END_OF_TIME if watermark is None else int(watermark)
        return Feed(ordered, places, read, segments, watermark is None, now, data, ranks, counters, meter)

    def _without_late(self, state: State, batch: pa.Table, counters: Counters) -> pa.Table:
        if state.watermark is None or batch.num_rows == 0:
            return batch
        late = times(batch.column(self.plan.schema.end)) <= state.watermark
        counters.late_rows = int(late.sum())
        return batch.filter(pa.array(~late)) if counters.late_rows else batch

    def _count_read(self, feed: Feed, reading: Reading | None) -> Array:
        """Count the events read; return the first unread event of each segment."""
        read_to = feed.segments[:, 2] if reading is None or reading.read_to is None else reading.read_to
        feed.counters.events_read = int((read_to - feed.segments[:, 1]).sum())
        feed.counters.tied_rows, feed.counters.tied_successors = count_ties(
            feed.ordered.events, feed.segments[:, 1], read_to, self.successions, apart=self.plan.reads_apart
        )
        return read_to

    # --- which matches ----------------------------------------------------------------

    def _select(self, state: State, feed: Feed, matches: MatchSet) -> _Selected:
        """Choose among the matches that are certain now, and for ``non_overlap`` take them in order."""
        plan, places = self.plan, feed.places
        waiting = concat([state.waiting.moved(places), matches]) if len(state.waiting) else matches
        certain, waiting = waiting, no_matches()
        if self.waits:
            certain, waiting = split_certain(certain, feed, plan.window, self.late)
        chosen = self.chooser.choose(certain, feed)
        if not plan.format.apart:
            return _Selected(chosen, waiting, no_matches(), None)
        chosen = concat([state.chosen.moved(places), chosen]) if len(state.chosen) else chosen
        ready, chosen = split_in_order(chosen, waiting, feed, plan)
        # A match still to come ends less than a window ago, and is at most a window long.
        forgotten = feed.now - 2 * plan.window.length if plan.window.counts_time else None
        ready, last_ends = keep_apart(ready, feed.ordered, list(plan.partition), state.last_ends, forgotten)
        return _Selected(ready, waiting, chosen, last_ends)

    # --- what to keep -----------------------------------------------------------------

    def _keep(self, feed: Feed, read_to: Array, memory: Memory, selected: _Selected) -> State:
        """Return the state after a call: rows that are unread, or within a window of the watermark."""
        ordered = feed.ordered
        if feed.flush:
            after = self.start(ordered.table.schema)
            return after if selected.last_ends is None else replace(after, last_ends=selected.last_ends)
        read = feed.read | between(feed.segments[:, 0], read_to, len(feed.read))
        waits = self.waits or self.plan.format.apart
        keep = ~read
        used = [self.searcher.used_rows(memory), selected.waiting.positions, selected.chosen.positions]
        if self.looks_back:
            keep |= still_visible(feed, read, self.plan.window, waits=waits)
            keep[np.concatenate(used)] = True
        else:
            keep |= same_moment(ordered, np.concatenate(used))
        places = np.cumsum(keep) - 1
        return State(
            ordered.table.filter(pa.array(keep)),
            read[keep],
            ordered.events[L.EVENT_INDEX][keep],
            self.searcher.moved(memory, places),
            selected.waiting.moved(places),
            selected.chosen.moved(places),
            feed.now,
            selected.last_ends,
        )
