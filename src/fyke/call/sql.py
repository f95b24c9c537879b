"""Fyke in Spark SQL: the table function ``fyke_match``, and programs of queries over views."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import fields
from decimal import Decimal
from typing import Any

import pyarrow as pa

from fyke.call.events import take_events
from fyke.call.make_call import make_call
from fyke.call.options import check_options
from fyke.call.program import Program, named_streams
from fyke.call.statement import run_statement, stated
from fyke.errors import InputError, OptionError, listed, near_misses, shown
from fyke.language.query import Query
from fyke.language.text import is_clause, parse_program
from fyke.limits import Limits
from fyke.spark.sql_function import make_view, register_function, table_of_view

_TAKEN = ("query", "time", "end", "type", "tie_breaker", "output", "engine", "time_unit", "params", "limits")
_TYPE_NAMES = ("type", "kind", "event_type", "event")


def register(spark: Any) -> None:
    """Make the table function ``fyke_match`` known to the SQL of a session.

    Examples
    --------
    >>> ann = [("ann", "Cart", 1), ("ann", "Exit", 5)]
    >>> bob = [("bob", "Cart", 2), ("bob", "Buy", 3), ("bob", "Exit", 4)]
    >>> clicks = spark.createDataFrame(ann + bob, "visitor string, kind string, minute int")
    >>> clicks.createOrReplaceTempView("clicks")
    >>> fyke.register(spark)
    >>> spark.sql('''
    ...     SELECT visitor FROM fyke_match(
    ...         TABLE(clicks) PARTITION BY visitor ORDER BY minute,
    ...         query => 'PATTERN SEQ(Cart a, ~Buy b, Exit c) WHERE { [visitor] } WITHIN 60',
    ...         time => 'minute')
    ... ''').collect()
    [Row(visitor='ann')]

    Its arguments are those of :func:`match` by name: ``query``, and ``time``, ``type``, ``tie_breaker``,
    ``output``, ``engine`` and ``time_unit`` where they are needed; ``end`` for events that last; ``params``
    and ``limits`` as a map, or as a struct where the values are of several types.  Without ``time`` the
    events have one column of timestamps or dates.  Without ``type`` it is a column named type, kind,
    event_type or event.  Each partition of the table is matched by itself.  The columns are known when Spark
    analyses the statement, and what is wrong with the query is told then.

    Raises
    ------
    SparkError
        If this version of Spark has no table functions over Arrow batches.
    """
    register_function(spark, result_schema, match_partition)


def result_schema(columns: Mapping[str, pa.DataType], arguments: Mapping[str, Any]) -> pa.Schema:
    """Return the columns of the result of ``fyke_match`` on events with some columns."""
    nothing = pa.schema(list(columns.items())).empty_table()
    schema: pa.Schema = match_partition(nothing, arguments).schema
    return schema


def match_partition(events: pa.Table, arguments: Mapping[str, Any]) -> pa.Table:
    """Return the matches in the events of one partition."""
    for name in arguments:
        if name not in _TAKEN:
            raise OptionError(
                f"fyke_match takes no argument {name!r}.{near_misses(name, _TAKEN)}",
                remedy=f"It takes {listed(_TAKEN)}.",
            )
    given = {name: value for name, value in arguments.items() if value is not None}
    if not isinstance(given.get("query"), str):
        raise OptionError("fyke_match needs a query", remedy="Write query => 'PATTERN SEQ(A a, B b) ...'.")
    time = given.pop("time", None) or _time_column(events.schema)
    end = given.pop("end", None)
    if "limits" in given:
        given["limits"] = _limits(given["limits"])
    options = check_options(
        given.pop("query"), time=(time, end) if end else time, **_typed(given, events.schema)
    )
    with warnings.catch_warnings():
        # A type that one partition lacks may be in others, and nobody reads what a worker says.
        warnings.simplefilter("ignore", UserWarning)
        result: pa.Table = make_call(take_events(events), options).run()
    return result


def _limits(given: Any) -> Limits:
    """Return the limits of a map from names to numbers, of which SQL makes one type of number."""
    if not isinstance(given, Mapping):
        raise OptionError(
            f"limits of fyke_match is a map, found {shown(given)}",
            remedy="Write limits => map('matches', 1000).",
        )
    known = [each.name for each in fields(Limits)]
    for name in given:
        if name not in known:
            raise OptionError(f"there is no limit {name!r}.{near_misses(name, known)}")
    return Limits(**{name: _number(value) for name, value in given.items()})


def _number(value: Any) -> Any:
    """Return a number of SQL as an integer, if it is one, and else as a float."""
    if not isinstance(value, (float, Decimal)):
        return value
    return int(value) if float(value).is_integer() else float(value)


def _time_column(schema: pa.Schema) -> str:
    found = [
        field.name for field in schema if pa.types.is_timestamp(field.type) or pa.types.is_date(field.type)
    ]
    if len(found) != 1:
        raise InputError(
            f"the events have {len(found) or 'no'} columns of timestamps or dates: {listed(found)}"
            if found
            else "the events have no column of timestamps or dates",
            remedy="Name the column of their time, as in time => 'ts'.",
        )
    return str(found[0])


def _typed(given: dict[str, Any], schema: pa.Schema) -> dict[str, Any]:
    """Return options with the type column, if it goes without saying."""
    if "type" not in given:
        texts = {field.name.lower(): field.name for field in schema if pa.types.is_string(field.type)}
        found = next((texts[name] for name in _TYPE_NAMES if name in texts), None)
        given["type"] = found
    return given


def sql(spark: Any, text: str, *, time: str | Sequence[str] | None = None, **options: Any) -> Any:
    """Run a statement of Spark SQL with MATCH_RECOGNIZE clauses, or queries of Fyke, over views of a session.

    In a statement clauses stand behind tables, views or subqueries, any number of them, joined or nested.
    Fyke runs the clauses, and Spark all the rest.  Filters on the partition columns of a clause hold for the
    rows that it reads, so that other partitions are not read; not so on Connect, where nobody sees plans.
    A parameter ``:name`` may stand in a clause or outside.  Nothing stays registered in the session.

    Examples
    --------
    >>> ticks = [(1, 9), (2, 7), (3, 8)]
    >>> spark.createDataFrame(ticks, "day int, price int").createOrReplaceTempView("ticks")
    >>> fyke.sql(spark, '''
    ...     SELECT bottom FROM ticks MATCH_RECOGNIZE (
    ...         ORDER BY day
    ...         MEASURES last(down.price) AS bottom
    ...         PATTERN (strt down+ up+)
    ...         DEFINE down AS price < prev(price), up AS price > prev(price))
    ... ''').collect()
    [Row(bottom=7)]

    Parameters
    ----------
    spark
        The session.
    text
        A statement with clauses; or one query over events, or a program of labelled ones, separated by ``;``.
        Events named in a query are views or tables of that name, or the results of other queries, by their
        labels.
    time, options
        Those of :func:`match`, for all queries or clauses; a statement needs no ``time``.  With
        ``events="view"`` all events of queries, or the rows of a clause that stands alone, are in one view
        or table, and ``type`` is the column of their type.

    Returns
    -------
    The DataFrame of a statement or of one query; of a program, the DataFrames by label.  Labelled results are
    temporary views from then on, so that ``spark.sql`` reads them.

    Raises
    ------
    InputError
        If there is no view for an event that a query names.
    QueryError
        If something is wrong with a query or a clause, with its place in the text.
    """
    options = {**options, "time": time}
    source = options.pop("events", None)
    statement = stated(text, options)
    if statement is not None:
        if source is not None:
            raise OptionError("events has no meaning for a statement: it names its tables itself")
        return run_statement(spark, statement, options)
    if is_clause(text):
        return _clause(spark, text, source, options)
    return _program(spark, text, source, options)


def _clause(spark: Any, text: str, source: str | None, options: dict[str, Any]) -> Any:
    """Return the result of a clause that stands alone."""
    if source is None:
        raise OptionError(
            "the clause does not say which rows it is about",
            remedy="Write SELECT * FROM view MATCH_RECOGNIZE (...), or give events='view'.",
        )
    return make_call(take_events(_view(spark, source)), check_options(text, **options)).run()


def _program(spark: Any, text: str, source: str | None, options: dict[str, Any]) -> Any:
    limits = options.get("limits")
    queries = parse_program(text, limits if isinstance(limits, Limits) else Limits())
    if not queries:
        raise OptionError("there is no query in the text")
    single = len(queries) == 1 and queries[0].label is None
    labels = {query.label for query in queries}
    if source is not None:
        events: Any = _view(spark, source)
    else:
        if any(isinstance(query, Query) and _names_none(query) for query in queries):
            raise InputError(
                "a pattern names no type of event, so there is no view to read",
                remedy="Give the view of all events: fyke.sql(spark, text, events='view', ...).",
            )
        named = dict.fromkeys(name for query in queries for name, _ in named_streams(query))
        events = {name: _view(spark, name) for name in named if name not in labels}
    if single:
        checked = check_options(queries[0], **options)
        return make_call(take_events(events), checked).run()
    results = Program(queries).run(events, **options)
    for label, frame in results.items():
        make_view(frame, label)
    return results


def _names_none(query: Query) -> bool:
    return not named_streams(query)


def _view(spark: Any, name: str) -> Any:
    found = table_of_view(spark, name)
    if found is None:
        raise InputError(
            f"the session has no view or table {name!r}",
            remedy="Create it, as in events.createOrReplaceTempView('events').",
        )
    return found
