"""``fyke.why_not``: from events and a query to the reasons why there is no match."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from fyke.call.events import Events, Given, Kind, take_events
from fyke.call.files import described
from fyke.call.make_call import make_call
from fyke.call.options import Options, named_options
from fyke.call.pattern import PatternCall
from fyke.call.source import Source, spell_options
from fyke.diagnosis.diagnose import Diagnosis, Everywhere, diagnose
from fyke.diagnosis.finding import Finding
from fyke.diagnosis.numbered import (
    Numbered,
    inside,
    interval_of,
    key_of,
    key_values,
    needed,
    number_events,
)
from fyke.diagnosis.probe import OutOfTime, Prober, now
from fyke.diagnosis.report import Selection, WhyNot
from fyke.diagnosis.setup import Setup, agreements, asked
from fyke.engine.measure.types_seen import types_in
from fyke.errors import ContradictionError, InputError, OptionError, shown
from fyke.language.ast import WindowKind
from fyke.language.ast import events as events_of
from fyke.language.query import Query
from fyke.language.text import AnyQuery
from fyke.logical.schema import EventSchema
from fyke.spark.gather import Wanted, gather

_LEAST_SHARE = 0.25  # of the time, for the search
_NOT_HERE = ("output", "metrics", "statistics", "watermark", "timeouts", "unique_order")


def why_not(
    events: Events,
    query: str | AnyQuery,
    *,
    key: Any = None,
    between: Any = None,
    seconds: float = 8.0,
    **options: Any,
) -> WhyNot:
    """Say why a pattern has no match, and what smallest change of the query would have one.

    Parts of the query are taken away and changed, one by one and then together, and every changed query is
    run by the engine: a change is only named if it gives a match.

    Of a DataFrame the rows of the key and the interval are collected, with the columns that the query needs.
    If these are more than a million, it is a part of them, the same one every time, and the report says so.

    Parameters
    ----------
    events, query, options
        Those of :func:`fyke.match`.
    key
        Look at the events of one partition only: the value of the one attribute in ``[x]``, or a dict
        ``{column: value}``.  Rows in which it is null are looked at, too.
    between
        Look at events of an interval only: a pair of times; one of them may be None.
    seconds
        How long the answer may take, about: reading and numbering the events counts, and a fourth of this
        time is left to the search in any case.  What was not tried by then is listed.

    Returns
    -------
    A :class:`WhyNot`, which prints as text, shows as HTML in a notebook, and has ``cause``, ``findings``,
    ``to_table()`` and ``picture()``.

    Raises
    ------
    FykeError
        If :func:`fyke.match` would raise it, except for contradictions, which are a cause.
    """
    begin = now()
    checked = named_options(why_not.__name__, query, options, *_NOT_HERE)
    if not isinstance(checked.query, Query):
        raise OptionError(
            "why_not is about patterns, and this query is relational",
            remedy="If it has no rows, no events lie near one another in time, or none pass WHERE.",
        )
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not seconds > 0:
        raise OptionError(f"seconds must be a number above zero, found {shown(seconds)}")
    given = take_events(events)
    if given.kind is Kind.STREAM:
        raise InputError(
            f"why_not takes events that are stored, found {described(events)}",
            remedy="Give a table, or a batch DataFrame of the same events.",
        )
    return _explained(given, checked, key, between, (begin, float(seconds)))


def _explained(
    given: Given, options: Options, key: Any, between: Any, allowed: tuple[float, float]
) -> WhyNot:
    """Return the report; ``allowed`` is when the call began, and how many seconds it may take."""
    options = spell_options(given, options)
    call = make_call(given, options)
    assert isinstance(call, PatternCall)
    query = options.query
    assert isinstance(query, Query)
    source, bare = call.source, asked(query)
    keys = key_of(key, tuple(agreements(query)), source.schema.columns)
    interval = interval_of(between, source.schema)
    contradiction = _contradiction(call)
    source, everywhere, note = _gathered(call, keys, interval)
    numbered = number_events(source, options, query, keys)
    numbered = replace(numbered, inside=inside(numbered, interval))
    selection = Selection(keys, between, everywhere.rows, note)
    if contradiction is not None:
        told = Diagnosis(findings=[contradiction])
        return WhyNot(query, told, numbered, selection)
    setup = Setup(bare, touching=options.touching is not None, complete_windows=options.complete_windows)
    prober = Prober(numbered.within(), _deadline(*allowed))
    straddling = _straddling(prober, numbered, setup) if interval is not None else None
    if straddling is not None:
        return WhyNot(query, Diagnosis(findings=[straddling]), numbered, selection)
    told = diagnose(prober, setup, everywhere)
    return WhyNot(query, told, numbered, selection, prober.runs)


def _deadline(begin: float, seconds: float) -> float:
    """Return when the search is to end, of which a slow reading of the events leaves it a part."""
    return max(begin + seconds, now() + seconds * _LEAST_SHARE)


def _gathered(
    call: PatternCall, key: dict[str, Any], interval: tuple[int, int] | None
) -> tuple[Source, Everywhere, str]:
    """Return the events as a table, what there is besides, and what was left out, in words."""
    source, schema, query = call.source, call.source.schema, call.options.query
    assert isinstance(query, Query)
    column = schema.type_column
    if not source.on_spark:
        types = [] if column is None else types_in(source.events.column(column))
        return source, Everywhere(source.events.num_rows, types), ""
    named = [each.type for each in events_of(query.pattern) if each.type is not None] if column else []
    wanted = Wanted(
        key_values(schema, key),
        _span(query, schema, interval),
        needed(schema, query, key),
        list(dict.fromkeys(named)),
        agreements(query),
        every_row=any(each.type is None for each in events_of(query.pattern))
        or query.strategy.contiguous
        or (query.window is not None and query.window.kind is WindowKind.EVENTS),
    )
    found = gather(source.events, schema, wanted)
    kept = {name: schema.columns[name] for name in found.table.column_names}
    table = Source(found.table, replace(schema, columns=kept, attributes_of=None), on_spark=False)
    return table, Everywhere(found.rows, found.types, bool(found.note)), found.note


def _span(query: Query, schema: EventSchema, interval: tuple[int, int] | None) -> tuple[int, int] | None:
    """Return the interval with a window on both sides, where a match may be that is not all of it inside."""
    window = query.window
    if interval is None or window is None or window.kind is WindowKind.EVENTS:
        return None
    length = window.amount // (schema.unit or 1) if window.kind is WindowKind.DURATION else window.amount
    return max(interval[0] - length, -(2**63)), min(interval[1] + length, 2**63 - 1)


def _contradiction(call: PatternCall) -> Finding | None:
    """Return what makes a query impossible, if something does; other errors are raised."""
    try:
        call.plan()
    except ContradictionError as error:
        return Finding("contradiction", 0.0, f"{error.message[:1].upper()}{error.message[1:]}.", error.remedy)
    return None


def _straddling(prober: Prober, numbered: Numbered, setup: Setup) -> Finding | None:
    """Return what is to be said if there is a match, but not within the interval alone."""
    if numbered.inside is None or numbered.inside.all() or not numbered.inside.any():
        return None
    try:
        if prober.find(setup, all_events=True).some:
            return None
        found = prober.find(setup, table=numbered.table)
    except OutOfTime:
        return None
    rows = np.flatnonzero(numbered.inside)
    for match in found.matches:
        bound = [row for each in match.values() for row in each]
        if np.isin(bound, rows).any():
            end = numbered.schema.end
            first, last = (numbered.full.column(end)[row].as_py() for row in (min(bound), max(bound)))
            return Finding(
                "between",
                0.1,
                f"There is a match, from {first} to {last}, and not all of it is in the interval.",
                f"between=({first!r}, {last!r})",
                found.count,
                found.exact,
                setup,
                match,
            )
    return None
