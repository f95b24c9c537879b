"""Found matches to rows of the result (SEMANTICS 5): fixed columns, then variables or RETURN items."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fyke.engine.aggregates import aggregate_rows, as_averaged, grouped
from fyke.engine.engine import Found
from fyke.engine.evaluate import Column, apply, evaluate
from fyke.engine.identity import match_ids
from fyke.engine.kernels import layout as L
from fyke.engine.kernels.arrays import Array
from fyke.engine.matchset import MatchSet, no_matches
from fyke.engine.tally import tally_schema
from fyke.language.ast import Call, Expression, Index, Length, Reference, walk
from fyke.pattern.check import is_aggregate
from fyke.pattern.returns import END, MATCH_ID, START
from fyke.plan.counting import Counting
from fyke.plan.match_aggregates import split_aggregates
from fyke.plan.plan import Plan
from fyke.plan.pushdown import physical


class ResultBuilder:
    """Builds result rows for one plan; the same for tables and on the workers of Spark.

    ``schema`` is that of :meth:`rows`.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.analysed = plan.pushed.analysed
        self.variables = self._variables()
        self.output = plan.pushed.output
        self.aggregates, _ = split_aggregates(self.output)
        columns = self.analysed.schema.columns
        made = {physical(derived): plan.types[derived.name] for derived in plan.pushed.exported}
        kinds = {**{name: columns[name] for name in plan.pushed.needed}, **made}
        rows = pa.table({name: pa.array([], kind) for name, kind in kinds.items()})
        self.schema: pa.Schema = self._rows(no_matches(), rows, np.zeros((L.EVENT_SIZE, 0), np.int64)).schema
        if isinstance(plan.counting, Counting):
            self.schema = tally_schema(self.schema, plan.counting)

    def _variables(self) -> dict[str, tuple[bool, tuple[str, ...]]]:
        """Return for each variable whether it is a group, and the attributes of its events."""
        found: dict[str, tuple[bool, tuple[str, ...]]] = {}
        for alternative in self.analysed.form.alternatives:
            for variable in alternative.variables:
                _, attributes = found.get(variable.name, (variable.group, ()))
                own = self.analysed.schema.attributes(variable.type)
                found[variable.name] = (variable.group, tuple(dict.fromkeys((*attributes, *own))))
        return found

    def rows(self, found: Found) -> pa.Table:
        """Return one row per match: the result, or what :meth:`finish` aggregates."""
        if found.tally is not None:
            return found.tally.cast(self.schema)
        return self._rows(found.matches, found.rows, found.events).cast(self.schema)

    def finish(self, rows: pa.Table) -> pa.Table:
        """Turn the rows of all matches into the result of a query with aggregates over matches."""
        if not self.output.over_matches:
            return rows
        tallied = isinstance(self.plan.counting, Counting)
        return aggregate_rows(rows, self.analysed.form.partition, self.output, tallied=tallied)

    def _rows(self, matches: MatchSet, rows: pa.Table, events: Array) -> pa.Table:
        values = _Values(matches, rows, self.variables, self.plan.functions)
        form, over = self.analysed.form, self.output.over_matches
        columns: dict[str, Column] = {}
        if not over:
            columns[MATCH_ID] = match_ids(matches, rows, self.plan.pushed.needed, events, form.fingerprint)
        for name in form.partition:
            columns[name] = take(rows, name, matches.first)
        if over:
            for aggregate in self.aggregates:
                argument = aggregate.argument
                value = pa.scalar(1) if argument is None else values.column(argument)
                columns[aggregate.column] = as_averaged(aggregate.function, value)
        else:
            starts, ends = matches.spans(events)
            columns[START] = _as_time(starts, rows.schema.field(self.analysed.schema.start).type)
            columns[END] = _as_time(ends, rows.schema.field(self.analysed.schema.end).type)
            for column in self.output.columns:
                columns[column.name] = values.column(column.expression)
        arrays = [v if isinstance(v, pa.Array) else pa.repeat(v, len(matches)) for v in columns.values()]
        return pa.Table.from_arrays(arrays, names=list(columns))


class _Values:
    """Values of expressions for every match, from the rows its variables are bound to."""

    def __init__(
        self,
        matches: MatchSet,
        rows: pa.Table,
        variables: Mapping[str, tuple[bool, tuple[str, ...]]],
        functions: Mapping[str, Callable[..., float]],
    ) -> None:
        self.matches, self.rows, self.variables, self.functions = matches, rows, variables, functions
        self.numbers = {name: number for number, name in enumerate(variables)}
        self.owner = matches.owner()

    def column(self, expression: Expression) -> Column:
        """Return the value of an item of RETURN for every match."""
        return evaluate(expression, self._resolve)

    def _resolve(self, node: Expression) -> Column | None:
        if isinstance(node, Length):
            counts = self._counts(node.variable)
            return pa.array(counts, mask=counts == 0)
        if isinstance(node, Call):
            return self._call(node)
        assert isinstance(node, Reference)
        if node.variable == "":
            return take(self.rows, node.path[0], self.matches.first)
        if not node.path:
            return self._events(node.variable)
        at = self._positions(node.variable, last=node.index is Index.LAST)
        return _dig(take(self.rows, node.path[0], at), node.path[1:])

    def _call(self, node: Call) -> Column | None:
        if is_aggregate(node):
            return self._group_aggregate(node)
        function = self.functions.get(node.function)
        if function is None:
            return None

        def unless_null(*values: float | None) -> float | None:
            return None if None in values else float(function(*values))

        return apply(unless_null, [self.column(argument) for argument in node.arguments])

    def _bound(self, variable: str) -> tuple[Array, Array]:
        mine = self.matches.variables == self.numbers[variable]
        return self.matches.positions[mine], self.owner[mine]

    def _counts(self, variable: str) -> Array:
        return np.bincount(self._bound(variable)[1], minlength=len(self.matches))

    def _positions(self, variable: str, *, last: bool) -> Array:
        """Return the first (or last) event of a variable in each match, -1 where it is unbound."""
        positions, owner = self._bound(variable)
        at = np.full(len(self.matches), -1, np.int64)
        if last:
            at[owner] = positions
        else:
            at[owner[::-1]] = positions[::-1]
        return at

    def _events(self, variable: str) -> Column:
        """Return the events of a variable as structs, of a group as arrays of structs."""
        group, attributes = self.variables[variable]
        if not group:
            return self._structs(attributes, self._positions(variable, last=False))
        positions, _ = self._bound(variable)
        counts = self._counts(variable)
        offsets = np.concatenate(([0], np.cumsum(counts))).astype(np.int32)
        unbound = pa.array(counts == 0)
        return pa.ListArray.from_arrays(pa.array(offsets), self._structs(attributes, positions), mask=unbound)

    def _structs(self, attributes: tuple[str, ...], at: Array) -> pa.Array:
        arrays = [take(self.rows, name, at) for name in attributes]
        fields = [pa.field(name, array.type) for name, array in zip(attributes, arrays, strict=True)]
        return pa.StructArray.from_arrays(arrays, fields=fields, mask=pa.array(at < 0))

    def _group_aggregate(self, node: Call) -> Column:
        """Aggregate an expression over the elements of a group, match by match."""
        first = next(each for each in walk(node.arguments[0]) if isinstance(each, Reference))
        positions, owner = self._bound(first.variable)

        def resolve(inner: Expression) -> Column | None:
            if isinstance(inner, Reference):
                return _dig(take(self.rows, inner.path[0], positions), inner.path[1:])
            return None

        values = evaluate(node.arguments[0], resolve)
        values = values if isinstance(values, pa.Array) else pa.repeat(values, len(positions))
        return grouped(node.function, values, owner, len(self.matches))


def take(rows: pa.Table, name: str, at: Array) -> pa.Array:
    """Return the values of a column at positions; -1 gives null."""
    indices = pa.array(at, mask=at < 0) if len(at) and bool((at < 0).any()) else pa.array(at)
    column = rows.column(name)
    taken = column.take(indices)
    return taken.combine_chunks() if isinstance(taken, pa.ChunkedArray) else taken


def _dig(array: pa.Array, path: tuple[str, ...]) -> pa.Array:
    for name in path:
        array = pc.struct_field(array, name)
    return array


def _as_time(ticks: Array, kind: pa.DataType) -> pa.Array:
    if pa.types.is_date32(kind):
        return pa.array(ticks.astype(np.int32)).cast(kind)
    return pa.array(ticks).cast(kind)
