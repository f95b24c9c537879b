"""From events and a query to what a timeline shows: the rows that matches bind, in lanes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from fyke.call.events import Events, Given, Kind, take_events
from fyke.call.files import described
from fyke.call.make_call import make_call
from fyke.call.options import Options, named_options
from fyke.call.pattern import PatternCall
from fyke.call.source import covering_table, spell_options
from fyke.diagnosis.numbered import Numbered, inside, interval_of, key_of, number_events
from fyke.diagnosis.setup import absences, agreements, asked, present
from fyke.engine.engine import Engine
from fyke.engine.input.prepare import prepare
from fyke.engine.kernels.arrays import Array
from fyke.errors import InputError, OptionError, shown
from fyke.language.ast import Not, events
from fyke.language.query import Query
from fyke.language.text import AnyQuery
from fyke.language.unparse import unparse_pattern
from fyke.pictures.timeline_data import Bound, Mark, Stretch, Timeline
from fyke.plan.anchors import find_anchors
from fyke.plan.window import Extent

OTHER = "other"
_CELLS = 12  # attributes that are told of an event
_LANES = 24


@dataclass(frozen=True, slots=True)
class Matched:
    """Numbered events with the rows that each match binds, by variable, and the number of all matches."""

    events: Numbered
    query: Query
    matches: Sequence[Mapping[str, Sequence[int]]]
    count: int
    window: Extent


def find_matches(
    given_events: Events,
    query: str | AnyQuery,
    caller: str,
    key: Any,
    between: Any,
    most: int,
    options: Mapping[str, Any],
) -> Matched:
    """Run a query and return the rows of its first matches.

    Raises
    ------
    FykeError
        As :func:`fyke.match` does, or if the events are a stream.
    """
    checked = named_options(caller, query, options, "metrics", "watermark", "timeouts")
    if not isinstance(checked.query, Query):
        raise OptionError(f"{caller} shows matches of patterns, and this query is relational")
    given = take_events(given_events)
    if given.kind is not Kind.TABLE:
        raise InputError(
            f"{caller} takes a table, found {described(given_events)}",
            remedy="Collect some rows of the DataFrame first, as in events.filter(...).toArrow().",
        )
    checked = spell_options(given, checked)
    call = make_call(given, checked)
    assert isinstance(call, PatternCall)
    assert isinstance(checked.query, Query)
    source, bare = call.source, asked(checked.query)
    keys = key_of(key, tuple(agreements(bare)), source.schema.columns)
    numbered = number_events(source, checked, bare, keys)
    chosen = inside(numbered, interval_of(between, source.schema))
    table = numbered.table if chosen is None else numbered.table.filter(pa.array(chosen))
    return _matched(numbered, checked, bare, table, most)


def _matched(numbered: Numbered, options: Options, query: Query, table: pa.Table, most: int) -> Matched:
    output = "non_overlap" if options.output == "non_overlap" else "all"
    changed = replace(numbered.options, query=query, output=output, statistics=options.statistics)
    plan = PatternCall(Given(table, Kind.TABLE, lambda each: each), changed).plan()
    plan = covering_table(plan, table)
    rows = prepare(table, plan, whole_input=True, anchors=find_anchors(plan))
    engine = Engine(plan)
    _, found = engine.advance(engine.start(rows.schema), rows, None)
    numbers = np.asarray(found.rows.column(numbered.number).to_numpy())
    matches = found.matches
    order = (
        np.argsort(numbers[matches.first], kind="stable")[:most] if len(matches) else np.zeros(0, np.int64)
    )
    few = matches.select(order.astype(np.int64))
    bound = []
    for first, end in zip(few.offsets[:-1], few.offsets[1:], strict=True):
        of_match: dict[str, list[int]] = {}
        for place in range(first, end):
            name = plan.names[int(few.variables[place])]
            of_match.setdefault(name, []).append(int(numbers[few.positions[place]]))
        bound.append(of_match)
    return Matched(numbered, query, bound, len(matches), plan.window)


def lay_out(found: Matched, rows: Array, by: str, title: str, notes: Sequence[str] = ()) -> Timeline:
    """Return a timeline of some rows, with lanes by variable, by key or by type."""
    events_, query = found.events, found.query
    absent = [(each, event) for each in absences(query.pattern) for event in events(each)]
    bound_to = {row: name for match in found.matches for name, bound in match.items() for row in bound}
    types, keys = _texts(events_, rows)
    places = {int(row): number for number, row in enumerate(rows)}
    if by == "variable":
        declared = [*present(query.pattern), *(event for _, event in absent)]
        by_type = {event.type: event.variable for event in reversed(declared) if event.type is not None}
        lanes = [event.variable for event in events(query.pattern)]
        names = [
            bound_to.get(int(row), by_type.get(kind, OTHER)) for row, kind in zip(rows, types, strict=True)
        ]
        lanes += [OTHER] if OTHER in names else []
    else:
        names = keys if by == "key" else types
        lanes = list(dict.fromkeys(names))
        if len(lanes) > _LANES:
            lanes = [*lanes[: _LANES - 1], OTHER]
            names = [name if name in lanes else OTHER for name in names]
    numbers = {name: number for number, name in enumerate(lanes)}
    starts, ends = events_.starts, events_.ends
    attributes = _attributes(events_, rows)
    marks = [
        Mark(int(row), int(starts[row]), int(ends[row]), numbers[name], kind, key, values)
        for row, name, kind, key, values in zip(rows, names, types, keys, attributes, strict=True)
    ]
    matches = [
        _bound(match, places, found)
        for match in found.matches
        if all(row in places for each in match.values() for row in each)
    ]
    shaded = [
        stretch
        for match in found.matches
        for stretch in _absent(match, query, absent, numbers if by == "variable" else {}, found)
    ]
    schema = events_.schema
    kind = schema.columns[schema.end]
    labels = {event.variable: f"{event.variable}: {event.type or 'ANY'}" for event in present(query.pattern)}
    labels |= {event.variable: f"~{event.variable}: {event.type or 'ANY'}" for _, event in absent}
    return Timeline(
        [labels.get(name, name) if by == "variable" else name for name in lanes],
        marks,
        matches,
        shaded,
        unit=schema.unit,
        dated=not pa.types.is_integer(kind),
        title=title,
        notes=notes,
        of_match=frozenset(number for match in matches for number in match.marks),
    )


def _bound(match: Mapping[str, Sequence[int]], places: Mapping[int, int], found: Matched) -> Bound:
    variables = {name: [places[row] for row in rows] for name, rows in match.items()}
    return Bound(variables, _window(match, found))


def _window(match: Mapping[str, Sequence[int]], found: Matched) -> tuple[int, int] | None:
    if not found.window.counts_time:
        return None
    first = min(int(found.events.starts[row]) for rows in match.values() for row in rows)
    return first, first + found.window.clipped


def _absent(
    match: Mapping[str, Sequence[int]],
    query: Query,
    absent: Sequence[tuple[Not, Any]],
    lanes: Mapping[str, int],
    found: Matched,
) -> list[Stretch]:
    """Return where absent events of a match must not be: between neighbours, or to the window's end."""
    stretches, order = [], [event.variable for event in events(query.pattern)]
    window = _window(match, found)
    for absence, event in absent:
        if event.variable not in lanes:
            continue
        place = order.index(event.variable)
        before = [row for name in order[:place] for row in match.get(name, ())]
        after = [row for name in order[place:] for row in match.get(name, ())]
        start = max(int(found.events.ends[row]) for row in before) if before else None
        end = min(int(found.events.starts[row]) for row in after) if after else None
        if window is not None:
            start = window[0] if start is None else start
            end = window[1] if end is None else end
        if start is not None and end is not None and end >= start:
            stretches.append(
                Stretch(start, end, lanes[event.variable], f"no {unparse_pattern(absence)[1:]} here")
            )
    return stretches


def _texts(events_: Numbered, rows: Array) -> tuple[list[str], list[str]]:
    """Return the type and the key of each row, as texts."""
    full, schema = events_.full, events_.schema
    types = _strings(full, schema.type_column, rows) if schema.type_column else [""] * len(rows)
    columns = [_strings(full, name, rows) for name in agreements(events_.query)]
    keys = [", ".join(values) for values in zip(*columns, strict=True)] if columns else ["all"] * len(rows)
    return types, keys


def _strings(table: pa.Table, name: str, rows: Array) -> list[str]:
    values = table.column(name).take(pa.array(rows)).to_pylist()
    return ["null" if value is None else str(value) for value in values]


def _attributes(events_: Numbered, rows: Array) -> list[dict[str, Any]]:
    schema = events_.schema
    plain = [name for name in schema.columns if name not in (*schema.time, schema.type_column)][:_CELLS]
    if not plain:
        return [{} for _ in rows]
    taken = events_.full.select(plain).take(pa.array(rows))
    return [{name: shown(value, 40) for name, value in row.items()} for row in taken.to_pylist()]
