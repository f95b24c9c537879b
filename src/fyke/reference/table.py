"""The naive twin of ``fyke.match`` on tables: the same arguments, the same result, none of the speed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from fyke.errors import InputError
from fyke.language.ast import events
from fyke.language.parameters import bind_parameters, bind_row_parameters
from fyke.language.query import Query
from fyke.language.relational import RelationalQuery
from fyke.language.row_patterns import RowPatternQuery
from fyke.language.text import AnyQuery, parse
from fyke.limits import Limits
from fyke.logical.analyse import Analysed, analyse
from fyke.logical.relational import AnalysedRelational, analyse_relational
from fyke.logical.schema import EventSchema
from fyke.reference.compressed import compressed_rows
from fyke.reference.events import Given, occurrences, processing_order, read_events
from fyke.reference.explicit_types import (
    alternative_with_casts,
    attributes_of,
    output_with_casts,
    with_casts,
)
from fyke.reference.expression import Functions
from fyke.reference.matches import matches, non_overlap
from fyke.reference.relational import relational_table
from fyke.reference.row_pattern_table import match_rows_of
from fyke.reference.rows import aggregated_rows, bound_variables, match_rows


def match(
    given: Given,
    query: str | AnyQuery | RowPatternQuery,
    *,
    time: str | Sequence[str] = (),
    type: str | None = None,
    tie_breaker: str | Sequence[str] | None = None,
    output: str = "all",
    limits: Limits = Limits(),
    time_unit: str | None = None,
    functions: Mapping[str, Callable[..., Any]] | None = None,
    touching: str | None = None,
    complete_windows: bool = False,
    params: Mapping[str, Any] | None = None,
    timeouts: bool = False,
) -> pa.Table:
    """Return what ``fyke.match`` must return, found naively.

    With ``touching="before"`` an event is before one that starts when it ends, unless both are points.
    With ``complete_windows`` matches are left out whose absence at the end or at the start reaches past
    the data: further than the latest end, or back beyond the earliest start; with a window of events,
    further than the events of the partition.

    A MATCH_RECOGNIZE clause takes a table and needs neither ``time`` nor ``type``: it orders rows itself.
    ``timeouts`` is for such clauses.

    A compressed result has no ``last`` and ``nodes`` here: any graph is right whose paths are the matches,
    see :func:`fyke.reference.enumerate_matches`.
    """
    asked = parse(query, limits) if isinstance(query, str) else query
    if isinstance(asked, RowPatternQuery):
        if not isinstance(given, pa.Table):
            raise InputError("a MATCH_RECOGNIZE clause takes one table", remedy="Give a pyarrow.Table.")
        return match_rows_of(given, bind_row_parameters(asked, params), functions or {}, timeouts=timeouts)
    if timeouts:
        raise InputError(
            "timeouts is here for MATCH_RECOGNIZE clauses", remedy="Match each beginning of the sequence."
        )
    parsed = bind_parameters(asked, params)
    table, schema = read_events(
        given,
        time=time,
        type_column=type,
        tie_breaker=tie_breaker,
        time_unit=time_unit,
        touching=touching,
    )
    ordered = processing_order(table, schema)
    if isinstance(parsed, RelationalQuery):
        return _match_relational(ordered, parsed, schema)
    arities = {name: function.__code__.co_argcount for name, function in (functions or {}).items()}
    analysed = analyse(parsed, schema, limits, functions=arities)
    return match_analysed(ordered, analysed, output, functions or {}, complete_windows=complete_windows)


def _match_relational(ordered: pa.Table, query: RelationalQuery, schema: EventSchema) -> pa.Table:
    """Return the result of a relational query; a stream is the rows of its type, or all if they have none."""
    analysed = analyse_relational(query, {stream.alias: schema for stream in query.streams})
    every = occurrences(ordered, schema)
    streams = {
        stream.alias: [event for event in every if schema.type_column is None or event.type == stream.name]
        for stream in query.streams
    }
    return relational_table(streams, _explicit(analysed, schema))


def _explicit(analysed: AnalysedRelational, schema: EventSchema) -> AnalysedRelational:
    types = attributes_of(schema.columns)
    streams = tuple(
        replace(each, conditions=tuple(with_casts(condition, types) for condition in each.conditions))
        for each in analysed.streams
    )
    across = tuple(
        replace(each, expression=with_casts(each.expression, types)) for each in analysed.conditions
    )
    output = output_with_casts(analysed.output, types)
    return replace(analysed, streams=streams, conditions=across, output=output)


def match_analysed(
    ordered: pa.Table,
    analysed: Analysed,
    output: str,
    functions: Functions,
    *,
    complete_windows: bool = False,
) -> pa.Table:
    """Return the result of an analysed query on events in processing order."""
    types = attributes_of(analysed.schema.columns)
    alternatives = tuple(alternative_with_casts(each, types) for each in analysed.form.alternatives)
    form = replace(analysed.form, alternatives=alternatives)
    analysed = replace(analysed, form=form, output=output_with_casts(analysed.output, types))
    every = occurrences(ordered, analysed.schema, _only_type(analysed.query))
    options = {"touching": analysed.schema.touching, "complete_windows": complete_windows}
    found = matches(analysed.form, every, analysed.window, functions, **options)
    if output == "non_overlap":
        found = non_overlap(analysed.form, found, list(bound_variables(analysed)))
    if output == "compressed":
        return compressed_rows(found, ordered, analysed)
    if analysed.output.over_matches:
        return aggregated_rows(found, analysed, functions)
    return match_rows(found, ordered, analysed, functions)


def _only_type(query: Query) -> str | None:
    """Return the type that, without a type column, stands for the whole stream: the one that is named."""
    named = (event.type for event in events(query.pattern) if event.type is not None)
    return next(named, None)
