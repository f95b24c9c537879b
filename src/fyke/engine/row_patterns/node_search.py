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
from fyke.engine.row_patterns.search import NOTHING, RowSearch, no_conditions
from fyke.engine.row_patterns.tables import automaton_tables
from fyke.plan.row_patterns.plan import RowPlan

_ROW_BYTES = 2  # a symbol and a node
_STATES = 1 << 12


class NodeRows:
    """The symbols and nodes of all rows; threads fill in their own stretches."""

    def __init__(self, plan: RowPlan, rows: int) -> None:
        assert plan.nodes is not None
        self.plan, self.tables = plan, plan.nodes
        self.symbols = np.empty(rows, np.uint8)
        self.nodes = np.empty(rows, np.uint8)

    def write_symbols(self, columns: RowColumns, first: int, last: int, begin: int) -> None:
        """Write the symbols from row ``first`` to ``last``; the rows of ``columns`` begin at ``begin``."""
        symbols = self.symbols[first:last]
        symbols[:] = 0
        for condition, bit in self.plan.columns.items():
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
        made = automaton_tables(plan, plan.column_of, len(plan.columns))
        made["settings"][R.SET_NODES] = tables.nodes
        states = min(rows, 1 << 20) + _STATES if made["settings"][R.SET_LABELS] else 1
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
