"""Found matches to rows of the result (SEMANTICS 5): fixed columns, then variables or RETURN items."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fyke.engine.conditions.columns import Column, apply, cast
from fyke.engine.conditions.evaluate import evaluate
from fyke.engine.conditions.user_functions import calling
from fyke.engine.found import Found
from fyke.engine.input.single_array import one_array
from fyke.engine.kernels import layout as L
from fyke.engine.kernels.arrays import Array
from fyke.engine.kernels.output.bindings import find_bound, find_spans, list_bound, spread_bound
from fyke.engine.matchset import MatchSet, no_matches
from fyke.engine.output.aggregates import (
    aggregate_rows,
    aggregate_tallies,
    as_averaged,
    grouped,
    merge_tallies,
    tally_rows,
)
from fyke.engine.output.identity import MatchIds
from fyke.language.ast import Call, Expression, Index, Length, Reference, walk
from fyke.logical.check import is_aggregate
from fyke.logical.returns import END, MATCH_ID, START
from fyke.logical.schema import EventSchema, holds_text
from fyke.plan.counting import Counting
from fyke.plan.match_aggregates import split_aggregates
from fyke.plan.plan import Plan
from fyke.plan.pushdown import physical


@dataclass(frozen=True, slots=True)
class VariableRows:
    """Whether a variable is a group, the attributes of its events, and their type if it is always one."""

    group: bool
    attributes: tuple[str, ...]
    type: str | None


class ResultBuilder:
    """Builds result rows for one plan; the same for tables and on the workers of Spark.

    ``schema`` is that of :meth:`rows`.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.partition = plan.partition
        self.variables = self._variables()
        apart = tuple(name for name in plan.split if name not in plan.needed)
        self.ids = MatchIds(plan.needed, plan.fingerprint, apart)
        self.output = plan.result
        self.functions = self._functions()
        self.aggregates, _ = split_aggregates(self.output)
        self.tallied = isinstance(plan.counting, Counting)

    @cached_property
    def row_schema(self) -> pa.Schema:
        """The schema of one row per match: that of no matches."""
        plan, columns = self.plan, self.plan.schema.columns
        made = {physical(derived): plan.types[derived.name] for derived in plan.exported}
        kinds = {**{name: columns[name] for name in plan.needed}, **made}
        rows = pa.schema(list(kinds.items())).empty_table()
        return self._rows(no_matches(), rows, np.zeros((L.EVENT_SIZE, 0), np.int64)).schema

    @cached_property
    def schema(self) -> pa.Schema:
        """The schema of what :meth:`rows` returns."""
        if not self.tallied:
            return self.row_schema
        return tally_rows(self.row_schema.empty_table(), self.partition, self.output).schema

    def _functions(self) -> dict[str, Callable[..., float | None]]:
        """Return the user functions that RETURN calls."""
        called = (node for column in self.output.columns for node in walk(column.expression))
        names = {node.function for node in called if isinstance(node, Call)} & self.plan.functions.keys()
        return {name: calling(name, self.plan.functions[name], self.plan.arities[name]) for name in names}

    def _variables(self) -> dict[str, VariableRows]:
        found: dict[str, VariableRows] = {}
        for alternative in self.plan.alternatives:
            for variable in alternative.variables:
                own = self.plan.schema.attributes(variable.type)
                known = found.get(variable.name, VariableRows(variable.group, (), variable.type))
                attributes = tuple(dict.fromkeys((*known.attributes, *own)))
                kind = known.type if known.type == variable.type else None
                found[variable.name] = VariableRows(variable.group, attributes, kind)
        return {name: found[name] for name in self.plan.names}

    def all_rows(self, found: Found) -> pa.Table:
        """Return what :meth:`rows` returns, where one call has found all there is.

        Its rows need not fit those of other calls, so finding out their schema first, which takes as long as
        a small query, is saved.
        """
        if found.tally is not None or self.tallied or len(found.matches) == 0:
            return self.rows(found)
        return self._rows(found.matches, found.rows, found.events)

    def rows(self, found: Found) -> pa.Table:
        """Return one row per match: the result, or what :meth:`finish` aggregates; or tallies of them."""
        if found.tally is not None:
            return found.tally.cast(self.schema)
        rows = self._rows(found.matches, found.rows, found.events)
        rows = rows if rows.schema.equals(self.row_schema) else rows.cast(self.row_schema)
        return tally_rows(rows, self.partition, self.output) if self.tallied else rows

    @property
    def whole_sums(self) -> frozenset[str]:
        """The columns of tallies that are sums of integers, exact beyond 64 bits."""
        sums = (each.column for each in self.aggregates if each.function == "sum")
        return frozenset(each for each in sums if pa.types.is_integer(self.row_schema.field(each).type))

    def tally(self, found: Found) -> pa.Table:
        """Return tallies of the matches found, which add up with those of other calls."""
        rows = self.rows(found)
        return rows if self.tallied else tally_rows(rows, self.partition, self.output)

    def merge(self, tallies: Sequence[pa.Table]) -> pa.Table:
        """Return tallies that :meth:`tally` has made as one, with a row per partition."""
        return merge_tallies(pa.concat_tables(tallies), self.partition, self.output)

    def total(self, tallies: pa.Table) -> pa.Table:
        """Return the aggregates over all matches that tallies are of."""
        return aggregate_tallies(tallies, self.partition, self.output, self.whole_sums)

    def finish(self, rows: pa.Table) -> pa.Table:
        """Turn the rows of all matches into the result of a query with aggregates over matches."""
        if not self.output.over_matches:
            return rows
        if self.tallied:
            return self.total(rows)
        return aggregate_rows(rows, self.partition, self.output)

    def _rows(self, matches: MatchSet, rows: pa.Table, events: Array) -> pa.Table:
        values = _Values(matches, rows, self.variables, self.functions, self.plan.schema)
        if self.plan.query.returns is None:
            values.find_singles()
        over = self.output.over_matches
        columns: dict[str, Column] = {}
        if not over:
            columns[MATCH_ID] = self.ids.of(matches, rows, events)
        for name in self.partition:
            columns[name] = values.take(name, matches.first)
        if over:
            for aggregate in self.aggregates:
                argument = aggregate.argument
                value = pa.scalar(1) if argument is None else values.column(argument)
                columns[aggregate.column] = as_averaged(aggregate.function, value)
        else:
            starts, ends = _spans(matches, events, points=self.plan.schema.points)
            columns[START] = as_time(starts, rows.schema.field(self.plan.schema.start).type)
            columns[END] = as_time(ends, rows.schema.field(self.plan.schema.end).type)
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
        variables: Mapping[str, VariableRows],
        functions: Mapping[str, Callable[..., float | None]],
        schema: EventSchema,
    ) -> None:
        self.matches, self.rows, self.variables, self.functions = matches, rows, variables, functions
        self.kinds, self.schema = schema.columns, schema
        self.numbers = {name: number for number, name in enumerate(variables)}
        self.singles: dict[str, Array] = {}

    def find_singles(self) -> None:
        """Find the events of all variables that are no groups, in one pass over the matches."""
        names = [name for name, spec in self.variables.items() if not spec.group]
        places = np.full(len(self.variables), -1, np.int64)
        places[[self.numbers[name] for name in names]] = np.arange(len(names))
        found = np.empty((len(names), len(self.matches)), np.int64)
        matches = self.matches
        spread_bound(matches.offsets, matches.positions, matches.variables, places, found)
        self.singles = dict(zip(names, found, strict=True))

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
            return self.take(node.path[0], self.matches.first)
        if not node.path:
            return self._events(node)
        at = (
            self._element(node)
            if node.offset
            else self._positions(node.variable, last=node.index is Index.LAST)
        )
        return _dig(self.take(node.path[0], at), node.path[1:])

    def _call(self, node: Call) -> Column | None:
        if is_aggregate(node):
            return self._group_aggregate(node)
        return self._user_function(node, self._resolve)

    def _user_function(self, node: Call, resolve: Callable[[Expression], Column]) -> Column | None:
        function = self.functions.get(node.function)
        if function is None:
            return None
        values = (cast(evaluate(argument, resolve), pa.float64()) for argument in node.arguments)
        return apply(function, pa.float64(), *values)

    def _bound(self, variable: str) -> tuple[Array, Array]:
        """Return the events of a variable, match after match, and where those of each match begin."""
        matches = self.matches
        offsets = np.zeros(len(matches) + 1, np.int64)
        number = self.numbers[variable]
        positions = np.empty(len(matches.positions), np.int64)
        found = list_bound(matches.offsets, matches.positions, matches.variables, number, offsets, positions)
        positions = positions[:found]
        return positions, offsets

    def _counts(self, variable: str) -> Array:
        return np.diff(self._bound(variable)[1])

    def _element(self, node: Reference) -> Array:
        """Return an element in the middle of a group in each match, -1 where the group is too short."""
        positions, offsets = self._bound(node.variable)
        counts = np.diff(offsets)
        place = counts - 1 - node.offset if node.index is Index.LAST else np.full_like(counts, node.offset)
        there = (place >= 0) & (place < counts)
        return np.where(there, np.append(positions, -1)[np.where(there, offsets[:-1] + place, -1)], -1)

    def _positions(self, variable: str, *, last: bool) -> Array:
        """Return the first (or last) event of a variable in each match, -1 where it is unbound."""
        matches = self.matches
        at = np.empty(len(matches), np.int64)
        number = self.numbers[variable]
        find_bound(matches.offsets, matches.positions, matches.variables, number, last, at)
        return at

    def _events(self, node: Reference) -> Column:
        """Return the events of a variable as structs, of a group as arrays of structs."""
        variable = node.variable
        spec = self.variables[variable]
        if node.index in (Index.FIRST, Index.LAST):
            return self._structs(spec, self._element(node))
        if not spec.group:
            # There is one binding at most; those of late variables are near the end.
            at = self.singles.get(variable)
            at = self._positions(variable, last=self.numbers[variable] > 0) if at is None else at
            return self._structs(spec, at)
        positions, offsets = self._bound(variable)
        structs = self._structs(spec, positions)
        unbound = offsets[1:] == offsets[:-1]
        mask = pa.array(unbound) if bool(unbound.any()) else None
        return pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), structs, mask=mask)

    def _structs(self, spec: VariableRows, at: Array) -> pa.Array:
        return event_structs(self.rows, spec, at, self.schema)

    def take(self, name: str, at: Array) -> pa.Array:
        """Return the values of a column at positions; -1 gives null."""
        return take_rows(self.rows, name, at, self.kinds)

    def _group_aggregate(self, node: Call) -> Column:
        """Aggregate an expression over the elements of a group, match by match."""
        first = next(each for each in walk(node.arguments[0]) if isinstance(each, Reference))
        positions, offsets = self._bound(first.variable)
        owner = np.repeat(np.arange(len(self.matches)), np.diff(offsets))

        def resolve(inner: Expression) -> Column | None:
            if isinstance(inner, Reference):
                return _dig(self.take(inner.path[0], positions), inner.path[1:])
            return self._user_function(inner, resolve) if isinstance(inner, Call) else None

        values = evaluate(node.arguments[0], resolve)
        values = values if isinstance(values, pa.Array) else pa.repeat(values, len(positions))
        return grouped(node.function, values, owner, len(self.matches))


def take_rows(rows: pa.Table, name: str, at: Array, kinds: Mapping[str, pa.DataType]) -> pa.Array:
    """Return the values of a column at positions, of the type it has in ``kinds``; -1 gives null."""
    return _taken(rows, name, _indices(at)[0], kinds)


def event_structs(rows: pa.Table, spec: VariableRows, at: Array, schema: EventSchema) -> pa.Array:
    """Return the events of a variable at positions as structs of their attributes; -1 gives null."""
    indices, unbound = _indices(at)
    arrays = []
    for name in spec.attributes:
        constant = name == schema.type_column and unbound is None and holds_text(schema.columns[name])
        if constant and spec.type is not None:
            arrays.append(_repeated(spec.type, schema.columns[name], len(at)))
        else:
            arrays.append(_taken(rows, name, indices, schema.columns))
    fields = [pa.field(name, array.type) for name, array in zip(spec.attributes, arrays, strict=True)]
    mask = None if unbound is None else pa.array(unbound)
    return pa.StructArray.from_arrays(arrays, fields=fields, mask=mask)


def _repeated(type_name: str, kind: pa.DataType, count: int) -> pa.Array:
    """Return the type of a variable's events: they all have the one it asks for."""
    if pa.types.is_dictionary(kind):
        zeros = pa.array(np.zeros(count, np.int32)).cast(kind.index_type)
        return pa.DictionaryArray.from_arrays(zeros, pa.array([type_name]).cast(kind.value_type))
    data = type_name.encode()
    if kind != pa.string() or len(data) * count >= 2**31:
        return pa.repeat(pa.scalar(type_name).cast(kind), count)
    offsets = np.arange(count + 1, dtype=np.int32) * np.int32(len(data))
    return pa.StringArray.from_buffers(count, pa.py_buffer(offsets), pa.py_buffer(data * count))


def _taken(rows: pa.Table, name: str, indices: pa.Array, kinds: Mapping[str, pa.DataType]) -> pa.Array:
    column = rows.column(name)
    source = one_array(column)
    taken = pc.take(source, indices, boundscheck=False)
    kind = kinds.get(name)
    if isinstance(taken, pa.DictionaryArray) and kind is not None and not pa.types.is_dictionary(kind):
        return taken.dictionary_decode().cast(kind)
    return taken


def _indices(at: Array) -> tuple[pa.Array, Array | None]:
    """Return positions as Arrow wants them, and which are -1, that is null, if any."""
    unbound = at < 0 if len(at) and int(at.min()) < 0 else None
    return pa.array(at, mask=unbound), unbound


def _spans(matches: MatchSet, events: Array, *, points: bool) -> tuple[Array, Array]:
    """Return the smallest start and the largest end of each match."""
    if not points:
        return matches.spans(events)
    starts, ends = (np.empty(len(matches), np.int64) for _ in range(2))
    # Bindings are in processing order.
    both = events[L.EVENT_START], events[L.EVENT_END]
    find_spans(matches.offsets, matches.positions, *both, starts, ends)
    return starts, ends


def _dig(array: pa.Array, path: tuple[str, ...]) -> pa.Array:
    for name in path:
        array = pc.struct_field(array, name)
    return array


def as_time(ticks: Array, kind: pa.DataType, mask: Array | None = None) -> pa.Array:
    """Return int64 times in the type of the time column; null where ``mask`` says so."""
    if pa.types.is_date32(kind):
        return pa.array(ticks.astype(np.int32), mask=mask).cast(kind)
    return pa.array(ticks, mask=mask).cast(kind)
