"""The naive twin of relational queries: every combination of events, every window, one by one ([T] 3.3)."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from fyke.language.ast import Call, Expression, Literal, Reference, Star, map_children
from fyke.logical.check import is_aggregate
from fyke.logical.relational import AnalysedRelational
from fyke.logical.returns import END, START
from fyke.reference.events import as_time
from fyke.reference.expression import Occurrence, evaluate
from fyke.reference.types import item_type, typed_array
from fyke.reference.values import aggregate

Joined = tuple[Occurrence, ...]


def relational_table(streams: Mapping[str, Sequence[Occurrence]], analysed: AnalysedRelational) -> pa.Table:
    """Return the result of a query on the events of its streams, by alias."""
    rows = _rows(streams, analysed)
    kinds = {name: _type(Reference("", (name,)), analysed) for name in analysed.partition}
    kinds |= {START: analysed.time, END: analysed.time}
    kinds |= {column.name: _type(column.expression, analysed) for column in analysed.output.columns}
    arrays = []
    for name, kind in kinds.items():
        values = [row[name] for row in rows]
        arrays.append(as_time(values, kind) if name in (START, END) else typed_array(values, kind))
    return pa.Table.from_arrays(arrays, names=list(kinds))


def _type(item: Expression, analysed: AnalysedRelational) -> pa.DataType:
    schemas = {stream.alias: stream.schema for stream in analysed.streams}
    first = analysed.streams[0].schema  # of which partition attributes are, as of every other

    def attribute(reference: Reference) -> pa.DataType:
        columns = schemas.get(reference.variable, first).columns
        if not reference.path:
            return pa.struct(list(columns.items()))
        kind = columns[reference.path[0]]
        for name in reference.path[1:]:
            kind = kind.field(name).type
        return kind

    return item_type(item, attribute)


def _rows(streams: Mapping[str, Sequence[Occurrence]], analysed: AnalysedRelational) -> list[dict[str, Any]]:
    aliases = [stream.alias for stream in analysed.streams]
    found = [
        events
        for events in itertools.product(*(streams[alias] for alias in aliases))
        if _end(events) - _start(events) <= analysed.window and _holds(events, analysed)
    ]
    if analysed.slide is not None:
        return _aggregated(found, analysed)
    return [
        {**_key(events, analysed), START: _start(events), END: _end(events)}
        | {column.name: _value(column.expression, events, analysed) for column in analysed.output.columns}
        for events in found
    ]


def _start(events: Joined) -> int:
    return min(event.start for event in events)


def _end(events: Joined) -> int:
    return max(event.end for event in events)


def _key(events: Joined, analysed: AnalysedRelational) -> dict[str, Any]:
    return {name: events[0].values[name] for name in analysed.partition}


def _holds(events: Joined, analysed: AnalysedRelational) -> bool:
    own = [condition for stream in analysed.streams for condition in stream.conditions]
    across = [condition.expression for condition in analysed.conditions]
    return all(_value(condition, events, analysed) is True for condition in (*own, *across))


def _value(expression: Expression, events: Joined, analysed: AnalysedRelational) -> Any:
    """Return the value of an expression for a joined event."""
    aliases = ["", *(stream.alias for stream in analysed.streams)]  # "" has the partition attributes
    bindings = {alias: (event,) for alias, event in zip(aliases, (events[0], *events), strict=True)}
    found = evaluate(expression, bindings, dict.fromkeys(aliases, 0))
    return dict(found.values) if isinstance(found, Occurrence) else found


def _aggregated(found: Sequence[Joined], analysed: AnalysedRelational) -> list[dict[str, Any]]:
    window, slide = analysed.window, analysed.slide
    assert slide is not None
    first = min((_start(events) for events in found), default=0) - window
    last = max((_end(events) for events in found), default=0)
    rows = []
    for begin in range(first // slide * slide, last + 1, slide):
        groups: dict[str, list[Joined]] = {}
        for events in found:
            if begin <= _start(events) and _end(events) < begin + window:
                groups.setdefault(repr(_key(events, analysed)), []).append(events)
        for members in groups.values():
            row = {**_key(members[0], analysed), START: begin, END: begin + window - 1}
            for column in analysed.output.columns:
                item = _over(column.expression, members, analysed)
                row[column.name] = _value(item, members[0], analysed)
            rows.append(row)
    return rows


def _over(node: Expression, members: Sequence[Joined], analysed: AnalysedRelational) -> Expression:
    """Return an item with its aggregates replaced by their values."""
    if not is_aggregate(node):
        return (
            node if isinstance(node, Reference) else map_children(node, lambda n: _over(n, members, analysed))
        )
    assert isinstance(node, Call)
    argument = node.arguments[0]
    counted = isinstance(argument, Star)
    values = [1 if counted else _value(argument, events, analysed) for events in members]
    return Literal(aggregate(node.function, values))
