"""Host of the search where more rows may come: an unknown row behind each partition, truth where known."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from fyke.engine.kernels.arrays import Array
from fyke.engine.kernels.row_patterns import layout as R
from fyke.engine.kernels.row_patterns.arena import HistoryArena, OpenArena
from fyke.engine.kernels.row_patterns.open import search_open_rows
from fyke.engine.meter import Meter
from fyke.engine.row_patterns.across import Position
from fyke.engine.row_patterns.matches import RowMatches
from fyke.engine.row_patterns.neighbours import RowColumns
from fyke.engine.row_patterns.order import OrderedRows
from fyke.engine.row_patterns.search import LAST, HistorySearch
from fyke.logical.row_patterns.analysed import Located, RowValue, asks_for_label
from fyke.plan.row_patterns.automaton import END
from fyke.plan.row_patterns.plan import RowPlan, conjuncts_of
from fyke.plan.row_patterns.streaming import Reach, looks_ahead, reach_of

_LATEST = 2**63 - 1


def telling_search(plan: RowPlan, columns: RowColumns, meter: Meter, first: int, last: int) -> OpenSearch:
    """Return the search, from row ``first`` to before ``last``, of a plan that tells attempts that expire.

    All rows that decide these attempts are there.
    """
    done = np.ones(columns.rows, np.uint8)
    done[first:last] = 0
    return OpenSearch(plan, reach_of(plan), OpenRows(columns.ordered, done, None), meter)


@dataclass(frozen=True, slots=True)
class OpenRows:
    """Ordered rows with what is known of them.

    Attributes
    ----------
    ordered
        The rows; unless ``watermark`` is None each partition ends with an unknown row, which is null.
    done
        From which rows attempts are decided; a search adds to them.
    watermark
        Rows that come are later than this; None: no row comes any more.
    """

    ordered: OrderedRows
    done: Array
    watermark: int | None

    @property
    def unknown(self) -> Array:
        """The places of unknown rows."""
        return self.ordered.segments[1:] - 1 if self.watermark is not None else np.zeros(0, np.int64)


def with_unknown_rows(ordered: OrderedRows) -> tuple[OrderedRows, Array]:
    """Return ordered rows with a row of nulls behind each partition, and where each row is then."""
    table, segments = ordered.table, ordered.segments
    count, partitions = int(segments[-1]), len(segments) - 1
    kinds = pa.schema([field.with_nullable(True) for field in table.schema])
    nothing = pa.Table.from_arrays([pa.nulls(1, field.type) for field in kinds], schema=kinds)
    now = np.arange(count) + np.repeat(np.arange(partitions), np.diff(segments))
    places = np.full(count + partitions, table.num_rows)
    places[now] = np.arange(count) if ordered.places is None else ordered.places
    whole = pa.concat_tables([table.cast(kinds), nothing])
    return OrderedRows(whole, places, segments + np.arange(len(segments))), now


class OpenSearch(HistorySearch):
    """The search for matches that no row still to come can change.

    ``plan`` is that of open partitions if they are; see :mod:`fyke.plan.row_patterns.streaming`.
    """

    def __init__(self, plan: RowPlan, reach: Reach, rows: OpenRows, meter: Meter) -> None:
        super().__init__(plan, RowColumns(rows.ordered), meter)
        self.reach, self.rows = reach, rows
        self.unsure: Array = np.zeros((1, 1), np.uint8)
        self.ahead = np.zeros(R.AHEAD_SIZE, np.int64)
        self.ahead[R.AHEAD_OPEN] = int(rows.watermark is not None)
        self.ahead[R.AHEAD_FROM_BEGIN], self.ahead[R.AHEAD_FROM_END] = reach.from_begin, reach.from_end
        self.ahead[R.AHEAD_APART] = int(reach.apart)
        self.ahead[R.AHEAD_TIMEOUTS] = int(plan.analysed.timeouts)

    def matches(self, first: int = 0, last: int = LAST) -> RowMatches:
        """Return the decided matches, and the attempts that have expired if these are told."""
        found = super().matches(first, last)
        if not self.plan.analysed.timeouts:
            return found
        return replace(found, expired=self._made.expired[: len(found)].astype(bool))

    def _call(self, arena: Any) -> int:
        return int(search_open_rows(arena))

    def _arena(self) -> OpenArena:
        held = super()._arena()
        reach, offsets = self._reach()
        return OpenArena(
            **{name: getattr(held, name) for name in held.fields},
            ahead=self.ahead,
            done=self.rows.done,
            unsure=self.unsure,
            reach=reach,
            reach_offsets=offsets,
            expired=np.zeros(len(held.begins), np.uint8),
            latest=self._latest(held),
        )

    def _latest(self, held: HistoryArena) -> Array:
        """Return room for how far ways come, with the states marked that another row can follow."""
        if not self.plan.analysed.timeouts:
            return np.zeros(1, np.int32)
        automaton = self.plan.automaton
        states = len(automaton.labels)
        at_end = states - 1 if self.reach.waits_for_end and self.rows.watermark is not None else END
        for state, moves in enumerate(automaton.moves):
            if any(to not in (END, at_end) for to in moves):
                held.flags[state] |= R.FLAG_WAITS
        size = int(np.diff(self.segments).max(initial=0)) * states
        self.meter.hold("latest", 4 * size, self._longest_row())
        return np.zeros(size + 1, np.int32)

    def _provide(self, status: int, arena: Any) -> None:
        super()._provide(status, arena)
        if status == R.NEED_MATCHES:
            arena.update(expired=self._grown(arena.expired, 1))

    # --- what is known ------------------------------------------------------------------------------

    def _truth(self) -> tuple[Array, dict[int, int]]:
        """Return where each condition holds or may hold, and the number of the condition of each label."""
        if self.rows.watermark is None:
            return super()._truth()
        count = self.columns.rows
        is_unknown = np.zeros(count, bool)
        is_unknown[self.rows.unknown] = True
        rows: list[Array] = []
        unsure: list[Array] = []
        numbers = self.plan.column_of
        for condition in self.plan.columns:
            holds, open_rows = self._holds(condition)
            rows.append(holds | is_unknown)
            unsure.append(open_rows)
        if self.reach.waits_for_end:  # by the variable that only unknown rows are of
            numbers[len(self.plan.conditions) - 1] = len(rows)
            rows.append(is_unknown)
            unsure.append(np.zeros(count, bool))
        self.meter.hold("truth", 2 * len(rows) * count, 0)
        if any(each.any() for each in unsure):
            self.unsure = np.array(unsure, np.uint8)
        else:
            self.ahead[R.AHEAD_DEFINE] = 0
        return np.array(rows, np.uint8).reshape(len(rows), count), numbers

    def _holds(self, condition: RowValue) -> tuple[Array, Array]:
        """Return where a condition holds or may hold, and where rows to come decide which."""
        ahead = looks_ahead(condition)
        if ahead == 0:
            holds = self.columns.truth(condition).astype(bool)
            return holds, np.zeros(len(holds), bool)
        self.ahead[R.AHEAD_DEFINE] = max(int(self.ahead[R.AHEAD_DEFINE]), ahead)
        holds = np.ones(self.columns.rows, bool)
        unsure = np.zeros(self.columns.rows, bool)
        for part in conjuncts_of(condition):
            beyond = self._within_reach(looks_ahead(part))
            holds &= self.columns.truth(part).astype(bool) | beyond
            unsure |= beyond
        return holds, unsure & holds

    def _within_reach(self, ahead: int) -> Array:
        """Say which rows have an unknown row at most so many rows on."""
        lengths = np.diff(self.segments)
        place = np.arange(self.columns.rows)
        last = np.repeat(self.segments[1:] - 1, lengths)
        return (place + ahead >= last) & (place < last) if ahead else np.zeros(len(place), bool)

    def _times(self) -> Array:
        """Return the times of WITHIN; of an unknown row the earliest that it can have."""
        if self.plan.analysed.window is None or self.rows.watermark is None:
            return super()._times()
        times = super()._times().copy()
        unknown = self.rows.unknown
        # What ends with its partition is open as long as the next row is, however late that comes.
        earliest = min(self.rows.watermark, _LATEST - 1) + 1
        times[unknown] = times[unknown - 1] if self.reach.waits_for_end else earliest
        return times

    def _timed(self) -> Array | None:
        return None if self.rows.watermark is not None else super()._timed()

    def _reach(self) -> tuple[Array, Array]:
        """Return the rows ahead that conditions over other rows of a match look at, and where lists begin."""
        found: list[list[int]] = []
        offsets = [0]
        for label in self.program.numbers:
            condition = self.plan.conditions[label]
            assert condition is not None
            assert condition.across is not None
            for each in condition.across.inputs:
                if isinstance(each, Located) and each.physical > 0:
                    found.append([self._position(each), each.physical])
            offsets.append(len(found))
        return np.array(found or [[0, 0]], np.int64), np.array(offsets, np.int64)

    def _position(self, each: Located) -> int:
        """Return the number of the position from where an input looks ahead."""
        assert each.value is not None
        program = self.program
        among = -1 if each.labels is None else program.sets.index(each.labels)
        made = Position(each.start, among, each.logical, 0)
        if asks_for_label(each.value):
            made = replace(made, physical=each.physical)
        return program.positions.index(made)
