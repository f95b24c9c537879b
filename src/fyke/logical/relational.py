"""Relational query and the schemas of its streams to a legal, typed join and aggregation ([T] 2.1, 3.3).

A joined event is made of one event of each stream.  It is one if every condition holds and if it spans at
most RANGE: ``max(end) - min(start) <= RANGE``, which for points in time means that any two of them lie
within RANGE.  That is the window of SEMANTICS 2, and why [T] 2.1.1 wants two times.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

import pyarrow as pa

from fyke.errors import (
    AggregateError,
    AmbiguousNameError,
    Place,
    TypeClashError,
    UnknownAttributeError,
    UnknownVariableError,
    WindowUnitError,
    listed,
    near_misses,
)
from fyke.language.ast import (
    Binary,
    Call,
    Equivalence,
    Event,
    Expression,
    Index,
    IsNull,
    Length,
    Reference,
    Star,
    WindowKind,
    children,
    map_children,
    walk,
)
from fyke.language.relational import RelationalQuery
from fyke.language.unparse import unparse_expression, unparse_window
from fyke.logical.check import Checker, is_aggregate
from fyke.logical.kinds import Kind, comparable, kind_of
from fyke.logical.returns import (
    END,
    START,
    Output,
    OutputColumn,
    check_free,
    check_partition_names,
    two_of_one_name,
)
from fyke.logical.schema import EventSchema, unite_columns
from fyke.logical.scope import InferType, Scope
from fyke.logical.value_types import spell_out_decimals


@dataclass(frozen=True, slots=True)
class JoinedStream:
    """A stream of the join; ``conditions`` look at its events alone ([T] 2.1.4: static)."""

    alias: str
    type: str
    schema: EventSchema
    conditions: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class JoinCondition:
    """A condition over the events of several streams ([T] 2.1.4: parameterized)."""

    expression: Expression
    aliases: frozenset[str]

    @property
    def equal(self) -> tuple[Reference, Reference] | None:
        """The two sides, if the condition is that two attributes are equal."""
        node = self.expression
        if not (isinstance(node, Binary) and node.operator == "="):
            return None
        left, right = node.left, node.right
        return (left, right) if isinstance(left, Reference) and isinstance(right, Reference) else None


@dataclass(frozen=True, slots=True)
class AnalysedRelational:
    """A relational query that fits its streams.

    ``window`` and ``slide`` are in units of ``time``, the type of all times.  ``slide`` is None if nothing
    is aggregated; otherwise a window starts at every multiple of it and ends before it is ``window``
    long.  ``partition`` are the attributes of ``[x]``; ``output.over_matches`` says that the columns are
    aggregates over the joined events.
    """

    query: RelationalQuery
    streams: tuple[JoinedStream, ...]
    conditions: tuple[JoinCondition, ...]
    partition: tuple[str, ...]
    window: int
    slide: int | None
    time: pa.DataType
    output: Output

    def conditions_at(self, number: int) -> list[JoinCondition]:
        """Return the conditions that can be decided when stream ``number`` joins those before it."""
        joined = {stream.alias for stream in self.streams[: number + 1]}
        newest = self.streams[number].alias
        return [each for each in self.conditions if newest in each.aliases and each.aliases <= joined]


def analyse_relational(
    query: RelationalQuery, schemas: Mapping[str, EventSchema], infer: InferType | None = None
) -> AnalysedRelational:
    """Check a query against the schemas of its streams, by alias.

    Raises
    ------
    QueryError
        One of its subclasses, with the place in the query.
    """
    scope = _make_scope(query, schemas, infer)
    partition = _partition(query, scope)
    conjuncts = [*_agreements(query, partition), *_conditions(query, scope)]
    used = [(conjunct, _aliases(conjunct)) for conjunct in conjuncts]
    first = query.streams[0].alias
    streams = tuple(
        JoinedStream(
            stream.alias,
            stream.name,
            schemas[stream.alias],
            tuple(each for each, own in used if (own or {first}) == {stream.alias}),
        )
        for stream in query.streams
    )
    across = tuple(JoinCondition(each, frozenset(own)) for each, own in used if len(own) > 1)
    output = _output(query, scope, partition)
    time, unit = _common_time(query, schemas)
    window, slide = _span(query, schemas[first], unit, output.over_matches)
    return AnalysedRelational(query, streams, across, partition, window, slide, time, output)


# --- names ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _StreamScope(Scope):
    """The names of a relational query: aliases of streams, each with attributes of its own."""

    schemas: Mapping[str, EventSchema] | None = None

    def require_variable(self, name: str, place: Place | None) -> None:
        """Raise UnknownVariableError if no stream goes by ``name``."""
        if name not in self.variables:
            raise UnknownVariableError(
                f"no stream is named {name!r}",
                place=place,
                text=self.text,
                remedy=f"The streams are {listed(self.variables)}.{near_misses(name, self.variables)}",
            )

    def attribute_type(self, variable: str, path: tuple[str, ...], place: Place | None) -> pa.DataType:
        """Return the Arrow type of ``variable.path``, or raise UnknownAttributeError."""
        assert self.schemas is not None
        schema = self.schemas[variable]
        if path[0] not in schema.columns:
            raise UnknownAttributeError(
                f"the stream {variable!r} has no attribute {path[0]!r}",
                place=place,
                text=self.text,
                remedy=f"Its attributes are {listed(schema.columns)}.{near_misses(path[0], schema.columns)}",
            )
        one = Scope(replace(schema, attributes_of=None), self.variables, frozenset(), self.text)
        return one.attribute_type(variable, path, place)

    def resolved(self, reference: Reference) -> Reference:
        """Return a reference with its stream: a name that is none is an attribute of the one that has it."""
        assert self.schemas is not None
        name = reference.variable
        if name in self.variables:
            return reference
        owners = [alias for alias, schema in self.schemas.items() if name in schema.columns]
        if len(owners) == 1:
            return replace(reference, variable=owners[0], path=(name, *reference.path))
        if owners:
            raise AmbiguousNameError(
                f"{name!r} is an attribute of {' and '.join(owners)}",
                place=reference.place,
                text=self.text,
                remedy=f"Say of which, as in {owners[0]}.{name}.",
            )
        known = [*self.variables, *(each for schema in self.schemas.values() for each in schema.columns)]
        raise UnknownAttributeError(
            f"no stream is named {name!r}, and none has an attribute {name!r}",
            place=reference.place,
            text=self.text,
            remedy=f"The streams are {listed(self.variables)}.{near_misses(name, known)}",
        )


def _make_scope(
    query: RelationalQuery, schemas: Mapping[str, EventSchema], infer: InferType | None
) -> _StreamScope:
    variables: dict[str, tuple[Event, ...]] = {
        stream.alias: (Event(stream.name, stream.alias),) for stream in query.streams
    }
    some = schemas[query.streams[0].alias]
    return _StreamScope(some, variables, frozenset(), query.text, infer, None, schemas)


def _resolved(expression: Expression, scope: _StreamScope, partition: tuple[str, ...] = ()) -> Expression:
    """Return an expression whose references all name their stream; any has the partition attributes."""
    first = next(iter(scope.variables))

    def change(node: Expression) -> Expression:
        if isinstance(node, Length):  # no stream is a group: an attribute called len
            return scope.resolved(Reference(node.variable, ("len",), place=node.place))
        if isinstance(node, Reference):
            agreed = node.variable not in scope.variables and node.variable in partition
            if agreed and node.index is Index.NONE:
                return replace(node, variable=first, path=(node.variable, *node.path))
            return scope.resolved(node)
        if isinstance(node, Call) and node.function == "count" and len(node.arguments) == 1:
            counted = node.arguments[0]
            if isinstance(counted, Reference) and not counted.path and counted.variable in scope.variables:
                return replace(node, arguments=(Star(place=counted.place),))
        return map_children(node, change)

    return change(expression)


def _aliases(expression: Expression) -> set[str]:
    return {node.variable for node in walk(expression) if isinstance(node, Reference)}


# --- WHERE ----------------------------------------------------------------------------------


def _conditions(query: RelationalQuery, scope: _StreamScope) -> list[Expression]:
    checker = Checker(scope, returning=True)
    found = []
    for conjunct in query.conditions:
        if isinstance(conjunct, Equivalence):
            continue
        for node in walk(conjunct):
            if is_aggregate(node):
                assert isinstance(node, Call)
                raise AggregateError(
                    f"{unparse_expression(node)} is an aggregate, and WHERE is about the events it is over",
                    place=node.place,
                    text=query.text,
                    remedy="Select it in a labelled query, and compare it in the WHERE of another one.",
                )
        resolved = _resolved(conjunct, scope)
        checker.condition(resolved)
        found.append(spell_out_decimals(resolved, scope.type_at))
    return found


def _partition(query: RelationalQuery, scope: _StreamScope) -> tuple[str, ...]:
    """Return the attributes of the ``[x]`` conjuncts; every stream must have them."""
    found: dict[str, None] = {}
    for conjunct in query.conditions:
        if isinstance(conjunct, Equivalence):
            for attribute in conjunct.attributes:
                kinds = [
                    kind_of(scope.attribute_type(alias, (attribute,), conjunct.place))
                    for alias in scope.variables
                ]
                for kind in kinds:
                    if not comparable(kinds[0], kind):
                        raise TypeClashError(
                            f"[{attribute}] needs values that can be compared, "
                            f"found {' and '.join(sorted({each.value for each in kinds}))}",
                            place=conjunct.place,
                            text=query.text,
                            remedy="Agree on a number, a string, a time or a boolean.",
                        )
                found[attribute] = None
    return tuple(found)


def _agreements(query: RelationalQuery, partition: tuple[str, ...]) -> list[Expression]:
    """Return ``[x]`` as conditions: null agrees with nothing, and all streams with the first."""
    aliases = [stream.alias for stream in query.streams]
    found: list[Expression] = []
    for name in partition:
        values = [Reference(alias, (name,)) for alias in aliases]
        found += [IsNull(value, negated=True) for value in values]
        found += [Binary("=", values[0], value) for value in values[1:]]
    return found


# --- SELECT ---------------------------------------------------------------------------------


def _output(query: RelationalQuery, scope: _StreamScope, partition: tuple[str, ...]) -> Output:
    if query.items is None:
        columns = [OutputColumn(each.alias, Reference(each.alias, ()), Kind.EVENT) for each in query.streams]
        return _named(Output(tuple(columns), over_matches=False), query, partition)
    aggregated = any(is_aggregate(node) for item in query.items for node in walk(item.expression))
    checker = Checker(scope, returning=True)
    columns = []
    for item in query.items:
        name = item.alias or _default_name(item.expression)
        expression = _resolved(item.expression, scope, partition)
        kind = checker.kind(expression)
        expression = _with_partition(spell_out_decimals(expression, scope.type_at), partition)
        if aggregated:
            _check_aggregated(expression, item.expression, query, partition)
        if (name, expression) not in [(each, Reference("", (each,))) for each in partition]:
            columns.append(OutputColumn(name, expression, kind))
    return _named(Output(tuple(columns), aggregated), query, partition)


def _default_name(expression: Expression) -> str:
    if isinstance(expression, Reference) and expression.index is Index.NONE:
        return "_".join((expression.variable, *expression.path))
    return unparse_expression(expression)


def _with_partition(expression: Expression, partition: tuple[str, ...]) -> Expression:
    """Write partition attributes outside aggregates as references to the variable ``""``."""
    if is_aggregate(expression):
        return expression
    if isinstance(expression, Reference) and len(expression.path) == 1 and expression.path[0] in partition:
        return Reference("", expression.path, place=expression.place)
    return map_children(expression, lambda child: _with_partition(child, partition))


def _check_aggregated(
    node: Expression, item: Expression, query: RelationalQuery, partition: tuple[str, ...]
) -> None:
    """Check that beside aggregates there are partition attributes only."""
    if is_aggregate(node) or (isinstance(node, Reference) and node.variable == ""):
        return
    if isinstance(node, Reference):
        attribute = f"[{node.path[0]}]" if node.path else "[x]"
        raise AggregateError(
            f"{unparse_expression(item)} differs from event to event, but another item is an aggregate",
            place=item.place,
            text=query.text,
            remedy=f"Aggregate it too, or have a row for each of its values with WHERE {attribute}.",
        )
    for child in children(node):
        _check_aggregated(child, item, query, partition)  # type: ignore[arg-type]


def _named(output: Output, query: RelationalQuery, partition: tuple[str, ...]) -> Output:
    fixed = [*partition, START, END]
    check_partition_names(query, fixed)
    names = Counter([*fixed, *(column.name for column in output.columns)])
    for column in output.columns:
        items = query.items or ()
        made = [each.place for each in items if (each.alias or _default_name(each.expression)) == column.name]
        streams = [each.place for each in query.streams if each.alias == column.name]
        check_free(column.name, query.text, [*streams, *made])
        if names[column.name] > 1:
            rename = "Name the item with AS" if made else "Rename the stream with AS"
            raise two_of_one_name(column.name, fixed, query.text, [*streams, *made], rename)
    return output


# --- RANGE and SLIDE ------------------------------------------------------------------------


def _common_time(query: RelationalQuery, schemas: Mapping[str, EventSchema]) -> tuple[pa.DataType, int]:
    """Return the type that the times of all streams have or are brought to, and its unit."""
    united = unite_columns({alias: {START: schema.columns[schema.end]} for alias, schema in schemas.items()})
    units = {schema.unit for schema in schemas.values()}
    if query.window.kind is WindowKind.UNITS:
        timed = [schema for schema in schemas.values() if schema.unit is not None]
        if timed:
            raise WindowUnitError(
                f"RANGE {query.window.amount} has no unit, but the time column {timed[0].end!r} "
                "measures time",
                place=query.window.place,
                text=query.text,
                remedy=f"Write, for example, RANGE {query.window.amount} SEC.",
            )
        return united[START], 1
    if None in units:
        alias = next(alias for alias, schema in schemas.items() if schema.unit is None)
        raise WindowUnitError(
            f"RANGE is a length of time, but the time column {schemas[alias].end!r} is a plain number",
            place=query.window.place,
            text=query.text,
            remedy="Write RANGE without a unit, or say what those of the column are, as in time_unit='s'.",
        )
    return united[START], min(unit for unit in units if unit is not None)


def _span(query: RelationalQuery, schema: EventSchema, unit: int, aggregated: bool) -> tuple[int, int | None]:
    """Return RANGE and SLIDE in units; without SLIDE windows follow one another ([T] 2.1.2)."""
    if not aggregated:
        return query.window.amount // unit, None
    for clause, window in (("RANGE", query.window), ("SLIDE", query.slide or query.window)):
        if window.amount % unit:
            raise WindowUnitError(
                f"{clause} {unparse_window(window)} is no multiple of the unit of the time column "
                f"{schema.end!r}, and a window of aggregates starts and ends on one",
                place=window.place,
                text=query.text,
                remedy="Write a multiple of it, or cast the column to a finer one.",
            )
    return query.window.amount // unit, (query.slide or query.window).amount // unit
