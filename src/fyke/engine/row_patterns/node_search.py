"""Host of the kernels that look up nodes: symbols of rows, their nodes, and the walk along them."""

from __future__ import annotations

from typing import Any

import numpy as np

from fyke.engine.kernels.arrays import Array
from fyke.engine.kernels.row_patterns import layout as R
from fyke.engine.kernels.row_patterns.arena import NodeArena
from fyke.engine.kernels.row_patterns.nodes import mark_partitions, mark_stretch, walk_nodes
from fyke.engine.meter import Meter
from fyke.engine.row_patterns.neighbours import RowColumns
from fyke.engine.row_patterns.order import OrderedRows
from fyke.engine.row_patterns.search import NOTHING, RowSearch, no_conditions
from fyke.engine.row_patterns.stretches import Stretch
from fyke.engine.row_patterns.symbols import of_one_row, row_symbols, symbols_of_rows
from fyke.engine.row_patterns.tables import automaton_tables
from fyke.engine.threads import Team
from fyke.plan.row_patterns.plan import RowPlan

_ROW_BYTES = 2  # a symbol and a node
_STATES = 1 << 12


class NodeRows:
    """The symbols and nodes of all rows; threads fill in their own stretches."""

    def __init__(self, plan: RowPlan, ordered: OrderedRows, team: Team) -> None:
        assert plan.nodes is not None
        self.plan, self.tables, self.ordered = plan, plan.nodes, ordered
        rows = int(ordered.segments[-1])
        self.symbols = np.empty(rows, np.uint8)
        self.nodes = np.empty(rows, np.uint8)
        numbered = plan.columns.items()
        self.of_row = {condition: bit for condition, bit in numbered if of_one_row(condition)}
        self.of_neighbours = {condition: bit for condition, bit in numbered if condition not in self.of_row}
        self.unordered: Array | None = None  # symbols of the rows of the table, by conditions on one row
        if ordered.places is not None:
            self.unordered = symbols_of_rows(ordered.table, self.of_row, team)

    def write_symbols(self, stretch: Stretch) -> None:
        """Write the symbols of the rows of a stretch."""
        first, last, begin = stretch.first, stretch.last, stretch.begin
        symbols = self.symbols[first:last]
        if self.unordered is not None:
            assert self.ordered.places is not None
            np.take(self.unordered, self.ordered.places[first:last], out=symbols, mode="clip")
        else:
            symbols[:] = row_symbols(self.ordered.table.slice(first, last - first), self.of_row)
        if self.of_neighbours:
            columns = RowColumns(self.ordered.part(begin, stretch.end))
            for condition, bit in self.of_neighbours.items():
                holds = columns.truth(condition)[first - begin : last - begin]
                symbols |= holds << np.uint8(bit) if bit else holds

    def mark(self, segments: Array) -> None:
        """Write the nodes of whole partitions."""
        mark_partitions(self.symbols, self.tables.following, segments, self.nodes, self.tables.bits)

    def mark_part(self, first: int, last: int, *, again: bool) -> int:
        """Write the nodes of a part of a partition, and return where that ended.

        Without ``again`` the rows behind it are not known yet: it is taken for the end of its partition.
        """
        behind = int(self.nodes[last]) if again else 0
        following, bits = self.tables.following, self.tables.bits
        return int(mark_stretch(self.symbols, following, self.nodes, first, last, behind, bits, again))


class NodeSearch(RowSearch):
    """The walk along the nodes of some partitions, or from some rows of one."""

    def __init__(self, plan: RowPlan, rows: NodeRows, segments: Array, meter: Meter) -> None:
        self.plan, self.rows, self.meter = plan, rows, meter
        self.segments = segments
        self.cursor = np.zeros(R.AT_SIZE, np.int64)
        self._made: Any = None

    def _call(self, arena: Any) -> int:
        return int(walk_nodes(arena))

    def _arena(self) -> NodeArena:
        plan, tables = self.plan, self.rows.tables
        rows = int(self.segments[-1] - self.segments[0])
        matches = max(64, rows >> 5)
        self.meter.hold("matches", _ROW_BYTES * rows + 16 * matches, int(self.segments[0]))
        made = automaton_tables(plan, plan.column_of, len(plan.columns), marked=False)
        settings = made["settings"]
        settings[R.SET_NODES] = tables.nodes
        settings[R.SET_MAY_BE_EMPTY] = settings[R.SET_FIRST_EMPTY] | settings[R.SET_START_EMPTY]
        states = min(rows, 1 << 20) + _STATES if settings[R.SET_LABELS] else 1
        return NodeArena(
            **no_conditions(),
            **made,
            work=self.meter.work,
            segments=self.segments,
            truth=np.zeros((1, 1), np.uint8),
            times=NOTHING,
            marks=NOTHING,
            earliest=np.zeros(1, np.int32),
            begins=np.empty(matches, np.int64),
            ends=np.empty(matches, np.int64),
            states=np.empty(states, np.uint16),
            cursor=self.cursor,
            nodes=self.rows.nodes,
            choices=tables.choices,
            starts=tables.starts,
        )
