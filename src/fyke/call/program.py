"""Programs: queries that read one another's results ([T] 2.1.1, 2.1.6).

A labelled result is an event stream.  Its events have the type of the label, the times of the match, from
its first event to its last, and the columns of the result as attributes.
"""

from __future__ import annotations

import graphlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from fyke.call.events import Events, Given, Kind, take_events
from fyke.call.inputs import Input, Streams
from fyke.call.make_call import make_call
from fyke.call.metrics import Metrics
from fyke.call.options import Options, event_options
from fyke.call.relational import RelationalCall
from fyke.call.source import columns_of, spell_options
from fyke.errors import (
    CycleError,
    InputError,
    LabelError,
    OptionError,
    Place,
    StreamError,
    UnsupportedQueryError,
    listed,
    near_misses,
)
from fyke.html import marked_block, paragraph
from fyke.language.ast import WindowKind, events
from fyke.language.parameters import bind_together
from fyke.language.query import Query
from fyke.language.relational import RelationalQuery, Stream
from fyke.language.text import AnyQuery, parse_event_query, parse_program
from fyke.limits import Limits
from fyke.logical.returns import END, START
from fyke.spark.relational import with_times
from fyke.spark.session import is_frame


def program(queries: str | Iterable[str | AnyQuery], *, limits: Limits | None = None) -> Program:
    """Return the program of several labelled queries, which may read one another's results.

    Parameters
    ----------
    queries
        One text, whose queries are separated by ``;``, or a list of texts and queries.  Each needs a
        label; the order does not matter.
    limits
        Bounds on the size of each text, see :class:`fyke.Limits`.

    Raises
    ------
    LabelError
        If a query has no label, or two have the same.
    CycleError
        If queries need one another's results before their own.
    """
    bounds = limits or Limits()
    if isinstance(queries, str):
        return Program(parse_program(queries, bounds))
    return Program([parse_event_query(each, bounds) if isinstance(each, str) else each for each in queries])


class Program:
    """Labelled queries in an order in which each follows those whose results it reads."""

    def __init__(self, queries: Sequence[AnyQuery]) -> None:
        if not queries:
            raise OptionError("a program has at least one query, found none")
        self.queries: dict[str, AnyQuery] = {}
        for query in queries:
            self.queries[_checked_label(query, self.queries)] = query
        self.labels: tuple[str, ...] = tuple(self._ordered())

    def __str__(self) -> str:
        """Return the canonical text, which is read back as an equal program."""
        return ";\n\n".join(str(query) for query in self.queries.values())

    def __repr__(self) -> str:
        """Return the labels, and what each query reads of the others."""
        reads = {label: self.inputs(label) for label in self.queries}
        shown = [f"{label} (reads {', '.join(read)})" if read else label for label, read in reads.items()]
        return f"Program of {len(shown)} {'query' if len(shown) == 1 else 'queries'}: {', '.join(shown)}"

    def _repr_html_(self) -> str:
        words = ("PATTERN", "SELECT", "FROM", "WHERE", "WITHIN", "RETURN")
        return paragraph(repr(self)) + marked_block(str(self), words)

    def inputs(self, label: str) -> tuple[str, ...]:
        """Return the labels of the queries whose results a query reads.

        A query that names its own label reads a given stream of that name.
        """
        named = {name for name, _ in named_streams(self.queries[label])}
        return tuple(each for each in self.queries if each in named and each != label)

    def _ordered(self) -> Iterable[str]:
        try:
            yield from graphlib.TopologicalSorter(
                {each: self.inputs(each) for each in self.queries}
            ).static_order()
        except graphlib.CycleError as error:
            raise self._cycle(error.args[1]) from None

    def _cycle(self, found: Sequence[str]) -> CycleError:
        """Return the error for a cycle, told from the first of its queries in the program."""
        circle = list(reversed(found[1:]))  # each reads the next
        first = min(circle, key=list(self.queries).index)
        at = circle.index(first)
        circle = [*circle[at:], *circle[:at], first]
        query = self.queries[first]
        place = next(place for name, place in named_streams(query) if name == circle[1])
        return CycleError(
            "queries wait for one another's results: "
            f"{circle[0]!r} reads {', which reads '.join(map(repr, circle[1:]))}",
            place=place,
            text=query.text,
            remedy="Let one of them read a stream that is given.",
        )

    def run(
        self,
        events: Events,
        *,
        time: str | Sequence[str],
        type: str | None = None,
        outputs: Sequence[str] | None = None,
        metrics: Metrics | None = None,
        **options: Any,
    ) -> dict[str, Any]:
        """Return the results by label; the arguments are those of :func:`fyke.match`.

        ``metrics.queries`` has the metrics of each query by its label; of relational queries on
        DataFrames, which Spark itself runs, there are none.

        ``outputs`` are the labels wanted, all of them if it is left out; only the queries that these need
        are run.  On DataFrames nothing runs yet: each result is one lazy plan, down to the given events.

        A query reads the results that it names, and the given events as :func:`fyke.match` does.  Where
        results are among its inputs, every event has the times ``start`` and ``end``.
        """
        options |= {"time": time, "type": type, "metrics": metrics}
        bound = bind_together(self.queries, options.pop("params", None))
        checked = {label: event_options("run", query, options) for label, query in bound.items()}
        for name in outputs or ():
            if name not in self.queries:
                raise OptionError(
                    f"no query of the program is labelled {name!r}.{near_misses(name, self.queries)}",
                    remedy=f"Its labels are {listed(self.queries)}.",
                )
        given = take_events(events)
        run = _Run(self, given, {label: spell_options(given, each) for label, each in checked.items()})
        wanted = self.queries if outputs is None else outputs
        results = {label: given.returned(run.result(label), checked[label].output) for label in wanted}
        if metrics is not None:
            metrics.set_queries(run.metrics)
        return results


class _Run:
    """One run of a program: results as they are asked for, each made once."""

    def __init__(self, made_of: Program, given: Given, options: Mapping[str, Options]) -> None:
        self.program, self.given, self.options = made_of, given, options
        first = next(iter(options.values()))
        self.streams = Streams(given, time=first.time, type_column=first.type_column)
        self.results: dict[str, Any] = {}
        self.metrics: dict[str, Metrics] = {}

    def result(self, label: str) -> Any:
        """Return the result of a query."""
        needed: set[str] = set()
        waiting = [label]
        while waiting:
            each = waiting.pop()
            if each not in needed and each not in self.results:
                needed.add(each)
                waiting += self.program.inputs(each)
        for each in self.program.labels:
            if each in needed:
                self.results[each] = self._made(each)
        return self.results[label]

    def _made(self, label: str) -> Any:
        query, inputs = self.program.queries[label], self.program.inputs(label)
        options = self._with_metrics(label)
        if isinstance(query, RelationalQuery):
            for each in inputs:
                self._check_readable(each)
            results = {each: self._input(each, query) for each in inputs}
            # These are for the patterns.
            options = replace(options, output="all", engine="auto", touching=None)
            options = replace(options, complete_windows=False, unique_order=False)
            return RelationalCall(self.streams, options, results).run()
        if inputs:
            options = replace(options, time=(START, END), type_column=None, unique_order=False)
            if self.given.kind is Kind.STREAM:
                raise StreamError(
                    "in a program a pattern reads no results of other queries if the events are a stream",
                    remedy="Write them to a table, and match what comes there as a stream of its own.",
                )
            return make_call(replace(self.given, events=self._mixed(query, inputs)), options).run()
        if options.time[0] == options.time[1]:
            options = replace(options, touching=None)  # that is for the queries whose events last
        return make_call(replace(self.given, events=self._given_to(query)), options).run()

    def _check_readable(self, label: str) -> None:
        """Refuse to join or aggregate matches on a stream: Spark would drop some of them as late."""
        if self.given.kind is Kind.STREAM and isinstance(self.program.queries[label], Query):
            raise StreamError(
                f"on a stream the matches of {label!r} cannot be joined or aggregated further: they are "
                "reported when they are certain, and Spark would take them for late events then",
                remedy="Write them to a table, and query what comes there as a stream of its own.",
            )

    def _with_metrics(self, label: str) -> Options:
        """Return the options of a query, with metrics of its own if any are wanted and can be had."""
        options = self.options[label]
        uncounted = self.given.on_spark and isinstance(options.query, RelationalQuery)
        if options.metrics is None or uncounted:
            return replace(options, metrics=None)
        self.metrics[label] = Metrics()
        return replace(options, metrics=self.metrics[label])

    def _input(self, label: str, query: AnyQuery) -> Callable[[Stream], Input]:
        return lambda stream: Input(self._events(label, query, stream.place), (START, END))

    def _events(self, label: str, query: AnyQuery, place: Place | None) -> Any:
        """Return a result as events, which need times."""
        result = self.results[label]
        if START not in columns_of(result):
            raise UnsupportedQueryError(
                f"the result of {label!r} is about all matches, so its rows have no times",
                place=place,
                text=query.text,
                remedy=f"Let {label!r} return values of single matches.",
            )
        return result

    def _given_to(self, query: Query) -> Any:
        """Return the given events; only the named streams of a dict, if the others change nothing."""
        if not isinstance(self.streams.events, Mapping) or _every_event_counts(query):
            return self.streams.events
        named = dict(reversed(named_streams(query)))
        return {
            name: self.streams.stream(name, place=place, text=query.text).events
            for name, place in named.items()
        }

    def _mixed(self, query: Query, inputs: Sequence[str]) -> dict[str, Any]:
        """Return the results that a query reads and the given events, by type, all with start and end."""
        streams = named_streams(query)
        self.streams.check_named({name: place for name, place in streams if name not in inputs}, query.text)
        found: dict[str, Any] = {}
        for name, place in streams:
            if name in found:
                continue
            if name in inputs:
                found[name] = self._events(name, query, place)
            else:
                found[name] = _with_times(self.streams.stream(name, place=place, text=query.text))
        if _every_event_counts(query):
            for name, others in self.streams.others(list(found)).items():
                found[name] = _with_times(Input(others, self.streams.time))
        return found


def _with_times(given: Input) -> Any:
    """Return given events with the columns start and end.

    Raises
    ------
    InputError
        If they have a column of that name which is not their time.
    """
    times = given.time
    columns = columns_of(given.events)
    for name, time in zip((START, END), times, strict=True):
        if name in columns and name != time:
            raise InputError(
                f"the events have a column {name!r} that is not their time, "
                "and in a query that reads results it is the time of every event",
                remedy="Rename it.",
            )
    if is_frame(given.events):
        return with_times(given.events, times, (START, END))
    table: pa.Table = given.events
    for name, time in zip((START, END), times, strict=True):
        if name not in columns:
            table = table.append_column(name, table.column(time))
    return table


def _checked_label(query: AnyQuery, labels: Iterable[str]) -> str:
    _, place = named_streams(query)[0] if named_streams(query) else ("", None)
    if query.label is None:
        raise LabelError(
            "a query of a program needs a label",
            place=place,
            text=query.text,
            remedy="Write it before the query, as in 'Name: PATTERN ...' or 'Name: SELECT ...'.",
        )
    if query.label in labels:
        raise LabelError(
            f"two queries of the program are labelled {query.label!r}",
            place=place,
            text=query.text,
            remedy="Rename one of them.",
        )
    return query.label


def named_streams(query: AnyQuery) -> list[tuple[str, Place | None]]:
    """Return the streams that a query names, with their places, in the order they are written."""
    if isinstance(query, RelationalQuery):
        return [(stream.name, stream.place) for stream in query.streams]
    return [(event.type, event.place) for event in events(query.pattern) if event.type is not None]


def _every_event_counts(query: Query) -> bool:
    """Say whether events of types that a query does not name can change its result."""
    counted = query.window is not None and query.window.kind is WindowKind.EVENTS
    admitted = any(event.type is None for event in events(query.pattern))
    # Under contiguity a row that plays no part can still stand between two that do.
    return counted or admitted or query.strategy.contiguous
