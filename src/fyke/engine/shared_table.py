"""A table that many plans read: its types are told apart once, and each plan gets the rows of its types.

What a plan costs then grows with the rows it looks at, not with all of them.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa

from fyke.engine.counters import Counters
from fyke.engine.cut import cut_table
from fyke.engine.input.order import times
from fyke.engine.input.single_array import one_array
from fyke.engine.kernels.arrays import Array
from fyke.engine.measure.clock import Clock
from fyke.engine.meter import Budget
from fyke.engine.read_table import TableReader
from fyke.engine.threads import Team
from fyke.language.ast import Expression, Reference, walk
from fyke.logical.schema import EventSchema
from fyke.plan.anchors import find_anchors
from fyke.plan.plan import Plan


class SharedTable:
    """Events with a time, in the order of their times, for any number of plans over the same schema."""

    def __init__(self, table: pa.Table, schema: EventSchema) -> None:
        ends = times(table.column(schema.end))
        if not bool((ends[1:] >= ends[:-1]).all()):
            order = np.argsort(ends, kind="stable")
            table, ends = table.take(pa.array(order)), ends[order]
        self.table, self.schema, self.ends = table.combine_chunks(), schema, ends
        self._by_type: dict[str, Array] | None = None
        self._rows: dict[frozenset[str], Array] = {}
        self._columns: dict[tuple[frozenset[str], str], pa.ChunkedArray] = {}

    def run(self, plan: Plan, threads: int = 1) -> tuple[pa.Table, Counters, Clock]:
        """Return the result of a plan, what it has counted, and the time it took.

        Raises
        ------
        FykeError
        """
        clock, table = Clock(), self.rows_of(plan)
        budget = Budget(plan.limits, table.num_rows)
        team = Team(threads, budget.stop)
        cut = cut_table(table, plan, find_anchors(plan), team)
        budget.rows = cut.relevant
        clock.lap("prepare")
        result, counters = TableReader(plan, cut, budget, team).result(clock)
        counters.events_filtered = self.table.num_rows - cut.relevant
        return result, counters, clock

    def rows_of(self, plan: Plan) -> pa.Table:
        """Return the rows of the types that a plan names, with the columns it reads; all if others count."""
        types = frozenset(role.type for role in plan.roles if role.type is not None)
        typed = self.schema.type_column is not None and all(role.type is not None for role in plan.roles)
        if not typed or plan.every_row_counts or plan.looks_past_data:
            return self.table
        rows = self._positions(types)
        if len(rows) == self.table.num_rows:
            return self.table
        ends = self.ends[rows]
        names = dict.fromkeys((*self.schema.time, *_read(plan)))
        if not bool((ends[1:] > ends[:-1]).all()):
            names |= dict.fromkeys(self.schema.order_columns())
        return pa.table({name: self._taken(types, name, rows) for name in names})

    def _positions(self, types: frozenset[str]) -> Array:
        """Return the rows of some types, in the order of the table; the same types are looked up once."""
        if types not in self._rows:
            if self._by_type is None:
                self._by_type = self._told_apart()
            found = [self._by_type[name] for name in types if name in self._by_type]
            every = np.concatenate([np.zeros(0, np.int64), *found])
            self._rows[types] = np.sort(every, kind="stable") if len(found) > 1 else every
        return self._rows[types]

    def _told_apart(self) -> dict[str, Array]:
        """Return the rows of each type."""
        assert self.schema.type_column is not None
        column = one_array(self.table.column(self.schema.type_column))
        if isinstance(column, pa.DictionaryArray):
            column = column.dictionary_decode()
        encoded = column.cast(pa.string()).dictionary_encode()
        codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        order = np.argsort(codes, kind="stable")
        bounds = np.searchsorted(codes[order], np.arange(len(encoded.dictionary) + 1))
        names = encoded.dictionary.to_pylist()
        return {name: order[bounds[code] : bounds[code + 1]] for code, name in enumerate(names)}

    def _taken(self, types: frozenset[str], name: str, rows: Array) -> pa.ChunkedArray:
        key = (types, name)
        if key not in self._columns:
            self._columns[key] = self.table.column(name).take(pa.array(rows))
        return self._columns[key]


def _read(plan: Plan) -> Iterable[str]:
    """Return the attributes that a plan reads."""
    schema = plan.schema
    conditions: list[Expression] = [each for role in plan.roles for each in role.conditions]
    conditions += [each.expression for each in plan.made]
    yield from plan.needed
    yield from plan.keys
    if schema.type_column is not None:
        yield schema.type_column
    for condition in conditions:
        yield from (node.path[0] for node in walk(condition) if isinstance(node, Reference))
