"""The public functions: events of any kind and a query in, matches of the same kind out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from fyke.call.events import Events, Kind, take_events
from fyke.call.files import described
from fyke.call.make_call import make_call
from fyke.call.metrics import Metrics
from fyke.call.options import check_options, checked_limits, checked_query, named_options
from fyke.call.relational import RelationalCall
from fyke.call.source import columns_of, spoken_columns, without_time
from fyke.engine.output.enumerated import check_compressed, enumerate_batch
from fyke.errors import InputError
from fyke.language.row_patterns import RowPatternQuery
from fyke.language.text import AnyQuery
from fyke.limits import Limits
from fyke.logical.schema import make_schema, time_pair
from fyke.logical.spelling import spelled
from fyke.plan.statistics import Statistics
from fyke.spark.batch import enumerate_frame
from fyke.spark.prepare import rejected as rejected_rows
from fyke.spark.session import is_frame
from fyke.spark.stream.late import late_rows
from fyke.techniques import Techniques


def match(
    events: Events,
    query: str | AnyQuery | RowPatternQuery,
    *,
    time: str | Sequence[str] | None = None,
    type: str | None = None,
    tie_breaker: str | Sequence[str] | None = None,
    output: str = "all",
    engine: str = "auto",
    limits: Limits | None = None,
    techniques: Techniques | None = None,
    time_unit: str | None = None,
    functions: Mapping[str, Callable[..., float]] | None = None,
    statistics: Statistics | None = None,
    metrics: Metrics | None = None,
    watermark: str | None = None,
    touching: str | None = None,
    complete_windows: bool = False,
    unique_order: bool = False,
    timeouts: bool = False,
    params: Mapping[str, Any] | None = None,
    threads: int | None = None,
) -> Any:
    """Find the matches of a pattern query, or the result of a relational one.

    Parameters
    ----------
    events
        A Spark DataFrame or the name of a view; a table of pyarrow, pandas, polars or anything that speaks
        Arrow, a list of dicts or the path of a file, without a JVM; or a dict ``{type: events}`` of these.
    query
        The text of a query over events, in either language, or of a MATCH_RECOGNIZE clause over rows; or a
        :class:`fyke.Query`, :class:`fyke.RelationalQuery` or :class:`fyke.RowPatternQuery`.
    time
        The column that says when an event happened: timestamp, date or integer; or a pair
        ``(start, end)`` for events that last.  A MATCH_RECOGNIZE clause says ORDER BY instead, and takes
        none of the options about events: of those below, ``limits``, ``metrics`` and ``params``.
    type
        The column that holds the event type.  Not needed for a dict, or if the pattern names one type.
    tie_breaker
        Columns that order events of equal time; without them such events are never in sequence.
    output
        ``"all"``: every match.  ``"non_overlap"``: in each partition, only matches that start after the last
        reported one has ended.  ``"compressed"``: the matches that end with the same event as one shared
        graph, which :func:`enumerate_matches` reads.
    engine
        ``"auto"``, ``"automaton"``, for skip_till_any_match also ``"lazy_chain"`` and ``"lazy_tree"``, for it
        and strict_contiguity ``"tree"``.  Every engine that can run the query gives the same rows.
    limits
        Bounds on memory and work, see :class:`fyke.Limits`.
    techniques
        Switches to compare ways of evaluation, see :class:`fyke.Techniques`; none changes the result.
    time_unit
        ``"s"``, ``"ms"``, ``"us"`` or ``"ns"``: what one unit of an integer time column is.
    functions
        Functions of numbers that conditions may use across events, by name.
    statistics
        What is known about the data, see :func:`statistics`.  It steers plans and changes no result.  Without
        it, the first rows of a table are measured, and on Spark usual rates are assumed.
    metrics
        A :class:`fyke.Metrics` to fill with counts, for example of the rejected rows.
    watermark
        On a streaming DataFrame: how late events may come, as ``"10 minutes"``, unless the events have a
        watermark already.  A match is reported in the first micro-batch whose watermark makes it certain.
    touching
        ``"before"``: an event is before one that starts when it ends, unless both are points.  Otherwise
        events that touch are not in sequence.
    complete_windows
        Whether to leave out matches with an absence that reaches past the data: further ahead than the last
        event ends, or further back than the first one starts.
    unique_order
        Whether time and ``tie_breaker`` tell all events of a partition apart, as a unique identifier does.
        Then columns that the query does not need are not read, shuffled and sorted by; if two events have
        the same, there is an :class:`InputError`.
    timeouts
        Whether attempts that expire are rows too.  For a sequence of single events under
        ``skip_till_next_match``: one row for each start, with the number of steps it ``reached`` and its
        ``status``, ``"match"`` or ``"timeout"``; steps that did not come are null.  For a MATCH_RECOGNIZE
        clause with WITHIN: also a row for each start without a match that no row of its window contradicts.
    params
        Values for the parameters of the query, by name: ``a.x > :limit`` with ``params={"limit": 5}``.
    threads
        How many threads read a long table; on Spark, tasks do that.  Rows, their order and their identifiers
        are the same for every number.  None: ``FYKE_THREADS``, or all cores that the process may use.

    Returns
    -------
    DataFrame or table
        One row per match, see the page on results.  A DataFrame is lazy; a table is of pandas or polars if
        the events were.

    Raises
    ------
    FykeError
        One of its subclasses; errors about the query say where in it.
    """
    options = check_options(
        query,
        time=time,
        type=type,
        tie_breaker=tie_breaker,
        output=output,
        engine=engine,
        limits=limits,
        techniques=techniques,
        time_unit=time_unit,
        functions=functions,
        statistics=statistics,
        metrics=metrics,
        watermark=watermark,
        touching=touching,
        complete_windows=complete_windows,
        unique_order=unique_order,
        timeouts=timeouts,
        params=params,
        threads=threads,
    )
    given = take_events(events)
    return given.returned(make_call(given, options).run(), output)


def match_batches(
    events: Events, query: str | AnyQuery | RowPatternQuery, **options: Any
) -> Iterator[pa.RecordBatch]:
    """Yield what :func:`match` returns for a table, with the same options, in batches of bounded size.

    A lazy engine goes on searching only when a batch has been taken, so a billion matches need no more memory
    than a thousand; for so many, raise ``limits=fyke.Limits(matches=...)``.  Other engines find all matches
    first.  So do lazy engines if a match depends on other matches (``non_overlap``, or alternatives that may
    find the same match).
    """
    checked = named_options(match_batches.__name__, query, options, "metrics")
    given = take_events(events)
    if given.on_spark:
        raise InputError(
            f"match_batches takes tables, found {described(events)}",
            remedy="On Spark use fyke.match: its results already come in batches.",
        )
    yield from make_call(given, checked).batches()


def explain(events: Events, query: str | AnyQuery | RowPatternQuery, **options: Any) -> str:
    """Say in words what a query means and how :func:`match`, with the same options, would run it.

    Nothing runs.  For a table, the costs are estimated from its first rows; for a DataFrame, only the schema
    is read, so give ``statistics`` for good estimates.  With the ``metrics`` of a run of the same query, the
    estimates are compared with what that run has observed.
    """
    checked = named_options(explain.__name__, query, options)
    return make_call(take_events(events), checked).explain()


def statistics(events: Events, query: str | AnyQuery | RowPatternQuery, **options: Any) -> Statistics:
    """Return how often the events of a query occur and how often its conditions hold.

    They are measured on the earliest 5,000 rows.  For a DataFrame this runs a Spark job, and a second one to
    count its rows if a window may hold more than these.  The options are those of :func:`match`, which takes
    the result.
    """
    checked = named_options(statistics.__name__, query, options, "metrics")
    return make_call(take_events(events), checked).measure()


@dataclass(frozen=True, slots=True)
class Matcher:
    """:func:`match` with everything but the events; it can be pickled where its options can."""

    query: AnyQuery | RowPatternQuery
    options: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, events: Events) -> Any:
        """Return the matches in some events."""
        return match(events, self.query, **self.options)

    def __str__(self) -> str:
        """Return the query and the options."""
        options = "".join(f"\n-- {name} = {value!r}" for name, value in self.options.items())
        return f"{self.query}{options}"


def matcher(query: str | AnyQuery | RowPatternQuery, **options: Any) -> Matcher:
    """Return ``match`` with everything but the events, for ``frame.transform(fyke.matcher(...))``.

    It can be pickled, for ``foreachBatch``, jobs and other processes.
    """
    parsed = checked_query(query, checked_limits(options.get("limits")))
    named_options(matcher.__name__, parsed, options)
    return Matcher(parsed, options)


def rejected(events: Events, *, time: str | Sequence[str]) -> Any:
    """Return the rows that ``match`` leaves out because they have no time, as events of the same kind."""
    if isinstance(events, Mapping):
        return {name: rejected(each, time=time) for name, each in events.items()}
    given = take_events(events)
    columns, spoken = columns_of(given.events), spoken_columns(given)
    named = time_pair(time)
    pair = named if spoken is None else tuple(spelled(name, spoken) for name in named)
    schema = make_schema(columns, time=pair)
    if given.on_spark:
        return rejected_rows(given.events, schema.time)
    return given.back(given.events.filter(without_time(given.events, schema)))


def late(events: Any, *, time: str | Sequence[str], watermark: str | None = None) -> Any:
    """Return the rows of a stream that come later than its watermark allows, as a stream of their own.

    ``time`` and ``watermark`` are those of :func:`match`.  Written to a sink, it is a query of its own with
    micro-batches of its own, and judges by their watermarks.
    """
    given = take_events(events)
    if given.kind is not Kind.STREAM or isinstance(given.events, Mapping):
        raise InputError(
            f"late takes a streaming DataFrame, found {described(events)}",
            remedy="In tables and batch DataFrames nothing is late. Give the streams of a dict one by one.",
        )
    schema = make_schema(columns_of(given.events), time=time)
    return late_rows(given.events, schema.end, watermark)


def flush(events: Any, query: str | AnyQuery, *, checkpoint: str, **options: Any) -> Any:
    """Return the matches that a stopped stream still holds open, as if its events had ended.

    A stream that has come to its end (``trigger(availableNow=True)``) cannot know that nothing will follow.
    What it has reported and what this returns are together the rows of the batch.  The checkpoint is not
    changed, so the stream can go on; what is flushed is then reported again where it still holds.

    Parameters
    ----------
    events, query, options
        Those of the call of :func:`match` that made the stream.
    checkpoint
        The ``checkpointLocation`` of the stopped query.

    Returns
    -------
    DataFrame
        A batch, with the columns of the matches.
    """
    checked = named_options(flush.__name__, query, options, "metrics")
    call = make_call(take_events(events), checked)
    if isinstance(call, RelationalCall) or not call.streams:
        raise InputError(
            f"flush takes the streaming DataFrame of a pattern, found {described(events)}",
            remedy="Give what the stream was made of: fyke.flush(events, query, ..., checkpoint='...').",
        )
    return call.flush(checkpoint)


def enumerate_matches(compressed: Any) -> Any:
    """Read the matches of ``match(..., output="compressed")``, one row each, as ``output="all"`` has them.

    For a table, return an iterator of record batches.  Each is made when it is asked for, so that any number
    of matches can be read in little memory.  For a DataFrame, return a DataFrame.
    """
    if is_frame(compressed):
        return enumerate_frame(compressed)
    if not isinstance(compressed, pa.Table):
        raise InputError(
            f"enumerate_matches takes a DataFrame or a pyarrow.Table, found {described(compressed)}"
        )
    check_compressed(compressed.schema)
    return (each for batch in compressed.to_batches() for each in enumerate_batch(batch))
