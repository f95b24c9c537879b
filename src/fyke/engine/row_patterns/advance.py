"""The door of a clause where rows come bit by bit: ``advance(state, batch, watermark) -> (state, found)``.

Rows wait until the watermark has passed them, and are then read in order.  A match is reported once, when no
row that may still come can change it; so is a row in no match, if the clause asks for these, and an attempt
that has expired, if timeouts are.  A watermark of
None ends the input.  All rows reported together are those of the whole table.

Attempts that are not decided are made again with the next rows: what is kept are rows, from the first one
that an undecided attempt starts from, and as many in front of it as PREV looks back.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from fyke.engine.counters import Counters
from fyke.engine.kernels.arrays import Array
from fyke.engine.limits import LimitReached
from fyke.engine.meter import Meter
from fyke.engine.row_patterns.matches import RowMatches
from fyke.engine.row_patterns.open_search import OpenRows, OpenSearch, with_unknown_rows
from fyke.engine.row_patterns.order import integers, order_rows, row_partition_codes
from fyke.engine.row_patterns.output import Group, matched_rows, result_rows
from fyke.engine.row_patterns.row_state import RowState, empty_row_state, joined, unread
from fyke.engine.row_patterns.run import distinct, exceeded_by, skips_nowhere
from fyke.engine.row_patterns.search import SkipsNowhere
from fyke.plan.row_patterns.plan import RowPlan
from fyke.plan.row_patterns.streaming import check_streamable, open_plan, reach_of

_NEVER, _LEAST = 2**63 - 1, -(2**63)


@dataclass(frozen=True, slots=True)
class RowsFound:
    """What a call reports: rows of the result, and what it took; ``late`` rows were left out."""

    rows: pa.Table
    counters: Counters
    late: int = 0


class RowEngine:
    """The engine of one clause for rows that come bit by bit.  It holds no rows: they are in the state."""

    def __init__(self, plan: RowPlan) -> None:
        """Take a plan.

        Raises
        ------
        StreamError
            If the clause cannot be decided bit by bit.
        """
        check_streamable(plan)
        self.plan, self.reach, self.open_plan = plan, reach_of(plan), open_plan(plan)
        self.time = plan.analysed.order[0].column

    def start(self, schema: pa.Schema) -> RowState:
        """Return the state before the first row of batches with ``schema``."""
        return empty_row_state(schema)

    def advance(self, state: RowState, batch: pa.Table, watermark: int | None) -> tuple[RowState, RowsFound]:
        """Read the rows of a batch, and those that waited, up to a watermark.

        Parameters
        ----------
        state
            What the last call returned, or :meth:`start`.
        batch
            Rows in any order.  Those not after the last watermark are late and left out, as are those
            without a time.
        watermark
            Rows up to this time, in units of the first column of ORDER BY, are complete and are read; None:
            all rows are.

        Raises
        ------
        LimitError, SkipError
        """
        fresh, late = self._timely(state, batch)
        now = None if watermark is None else max(watermark, _or_least(state.watermark))
        whole = replace(joined([state, fresh]), watermark=now)
        times = integers(_array(whole.rows, self.time))
        ready = whole.read | (times <= (_NEVER if now is None else now))
        wakes = ready & ~whole.done & (~whole.read | self._is_over(times, now))
        read = _Read(self, replace(whole, read=ready), wakes)
        rows, counters = read.result()
        after = self.start(whole.rows.schema) if now is None else read.kept()
        new = int(ready.sum() - whole.read.sum())
        return after, RowsFound(rows, replace(counters, events_read=new), late)

    def _is_over(self, times: Array, watermark: int | None) -> Array:
        """Say of which rows the watermark has passed the window."""
        window = self.plan.analysed.window
        if watermark is None or window is None:
            return np.full(len(times), watermark is None)
        return np.asarray(times <= max(watermark - window, _LEAST))

    def _timely(self, state: RowState, batch: pa.Table) -> tuple[RowState, int]:
        """Return the rows of a batch that are not late, unread, and how many are."""
        rows = batch.cast(state.rows.schema) if batch.schema != state.rows.schema else batch
        column = _array(rows, self.time)
        timed = np.asarray(column.is_valid().to_numpy(zero_copy_only=False))
        late = np.zeros(rows.num_rows, bool)
        if state.watermark is not None:
            late = timed & (integers(column) <= state.watermark)
        kept = timed & ~late
        rows = rows if kept.all() else rows.filter(pa.array(kept))
        return unread(rows), int(late.sum())


class _Read:
    """The rows of a state that are read, in order, and what is found in them.

    They are those of partitions with a row that ``wakes`` it; in others nothing is decided now.
    """

    def __init__(self, engine: RowEngine, state: RowState, wakes: Array) -> None:
        self.engine, self.state = engine, state
        analysed, watermark = engine.plan.analysed, state.watermark
        places = np.flatnonzero(state.read)
        if not wakes.any():
            places = places[:0]
        elif analysed.partition and not wakes[places].all():
            codes, count = row_partition_codes(state.rows.take(pa.array(places)), analysed.partition)
            awake = np.zeros(count, bool)
            awake[codes[wakes[places]]] = True
            places = places[awake[codes]]
        table = state.rows.take(pa.array(places))
        ordered = order_rows(table, analysed.partition, analysed.order)
        self.at = np.arange(len(places))  # where each row of the order is, with unknown rows between them
        self.ends = ordered.segments[1:]  # behind the last known row of each partition
        sources = places if ordered.places is None else places[ordered.places]
        if watermark is not None:
            ordered, self.at = with_unknown_rows(ordered)
            self.ends = ordered.segments[1:] - 1
        self.sources = sources  # which row of the state each row of the order is
        done = np.zeros(int(ordered.segments[-1]), np.uint8)
        done[self.at] = state.done[sources]
        self.rows = OpenRows(ordered, done, watermark)
        self.opened = self._first_open()

    @property
    def segments(self) -> Array:
        """Where partitions begin."""
        return self.rows.ordered.segments

    def _first_open(self) -> Array:
        """Return the first row of each partition from which a match may start, or the one behind its rows."""
        begins, count = self.segments[:-1], int(self.segments[-1])
        opened = np.append(np.flatnonzero(self.rows.done == 0), count)
        return np.asarray(np.minimum(opened[np.searchsorted(opened, begins)], self.ends))

    # --- the result -----------------------------------------------------------------------------------

    def result(self) -> tuple[pa.Table, Counters]:
        """Return the rows that are decided now, and what it took to find them."""
        engine, ordered = self.engine, self.rows.ordered
        plan = engine.plan
        if not len(self.sources):
            return plan.analysed.schema.empty_table(), Counters()
        meter = Meter(plan.limits, len(self.sources))
        searched = plan if self.rows.watermark is None else engine.open_plan
        try:
            found = OpenSearch(searched, engine.reach, self.rows, meter).matches()
            self.matches = self._numbered(distinct(found, plan))
            meter.hold("matches", 24 * len(self.matches), 0, "rows")
            group = Group(self.matches, 0, int(self.segments[-1]), free=self._free())
            result = result_rows(plan, ordered, group)
        except LimitReached as reached:
            raise exceeded_by(plan, ordered, reached) from None
        except SkipsNowhere as nowhere:
            raise skips_nowhere(plan, ordered, nowhere) from None
        counters = Counters(
            bindings_tried=found.steps,
            condition_evaluations=found.evaluations,
            matches=int(self.matches.numbered.sum()),
        )
        return result, counters

    def _partition_of(self, rows: Array) -> Array:
        return np.asarray(np.searchsorted(self.segments, rows, "right") - 1)

    def _numbered(self, matches: RowMatches) -> RowMatches:
        """Return matches with their numbers, which go on where the partition was."""
        before = np.zeros(len(self.ends), np.int64)
        np.maximum.at(before, self._partition_of(self.at), self.state.numbers[self.sources])
        partitions = self._partition_of(matches.begins[matches.numbered])
        place = np.arange(len(partitions)) - np.searchsorted(partitions, partitions)
        self.counted = before + np.bincount(partitions, minlength=len(before))
        numbers = np.zeros(len(matches), np.int64)
        numbers[matches.numbered] = before[partitions] + place + 1
        return replace(matches, numbers=numbers)

    def _free(self) -> Array:
        """Return the rows of which it is decided now that they are in no match."""
        covered = np.zeros(int(self.segments[-1]), bool)
        covered[self.at] = self.state.covered[self.sources]
        self.covered = covered | matched_rows(self.matches, 0, len(covered))
        now = self._first_open()
        partitions = self._partition_of(self.at)
        decided = (self.at >= self.opened[partitions]) & (self.at < now[partitions])
        return np.asarray(self.at[decided & ~self.covered[self.at]])

    # --- what is kept ---------------------------------------------------------------------------------

    def kept(self) -> RowState:
        """Return the state with what was found out, without the rows that nothing looks at any more."""
        state, reach = self.state, self.engine.reach
        if not len(self.sources):
            return state
        partitions = self._partition_of(self.at)
        done, covered, numbers = state.done.copy(), state.covered.copy(), state.numbers.copy()
        done[self.sources] = self.rows.done[self.at]
        covered[self.sources] = self.covered[self.at]
        if reach.numbered:
            numbers[self.sources] = self.counted[partitions]
        first = self._first_open() - reach.back
        keep = np.ones(len(state.read), bool)
        keep[self.sources] = self.at >= first[partitions]
        marked = replace(state, done=done, covered=covered, numbers=numbers)
        return marked if keep.all() else marked.taken(np.flatnonzero(keep))


def next_row_call(engine: RowEngine, state: RowState) -> int | None:
    """Return the least watermark at which a state has something to do, even if no row comes.

    A row that waits is read then, or the window of an attempt is over.  None: none of this depends on time.
    """
    now = _or_least(state.watermark)
    times = integers(_array(state.rows, engine.time))
    moments = [times[~state.read]]
    window = engine.plan.analysed.window
    if window is not None:
        started = times[state.read & ~state.done]
        moments.append(started[started <= _NEVER - window] + window)
    following = min((int(each[each > now].min(initial=_NEVER)) for each in moments), default=_NEVER)
    return None if following == _NEVER else following


def _array(rows: pa.Table, name: str) -> pa.Array:
    column = rows.column(name)
    return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)


def _or_least(watermark: int | None) -> int:
    return _LEAST if watermark is None else watermark
