"""Changed queries run by the engine, each within bounds: is there a match, which events, how many."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from fyke.call.events import Given, Kind
from fyke.call.pattern import PatternCall
from fyke.call.source import covering_table
from fyke.diagnosis.numbered import Numbered
from fyke.diagnosis.setup import Setup, agreements
from fyke.engine.engine import Engine
from fyke.engine.input.order import partition_codes
from fyke.engine.input.prepare import prepare
from fyke.engine.kernels import layout as L
from fyke.engine.kernels.arrays import Array
from fyke.engine.kernels.jit import seconds_compiling
from fyke.engine.matchset import MatchSet
from fyke.engine.output.builders import builder_of
from fyke.errors import LimitError, QueryError
from fyke.language import ast
from fyke.language.ast import ReturnItem, Strategy
from fyke.plan.anchors import find_anchors
from fyke.plan.plan import Plan

EXAMPLES = 500  # matches that are looked at one by one
_MATCHES = 50_000  # of a partition; more are as good as many
_SECONDS, _LEAST_SECONDS = 2.0, 0.05  # of one search, if nothing else is said
_SAMPLE = 50_000  # events that are searched first
_PIECES = (16, 256, 4096)  # where all events take too long, such a part of them is searched

Bindings = dict[str, list[int]]


class OutOfTime(Exception):
    """The time of a diagnosis is over."""


@dataclass(frozen=True, slots=True)
class Found:
    """What a search has found.

    ``count`` is the number of matches in all events, or in a part of them if it is not ``exact``.  ``starts``
    is how many events begin one.  ``matches`` are the shortest of them, the rows of each variable by number;
    ``shortest`` is how long that is, in units of the time column, or in events if the window counts those.
    """

    count: int
    exact: bool
    starts: int
    matches: tuple[Bindings, ...]
    shortest: int | None
    decided: bool = True

    @property
    def some(self) -> bool:
        """Whether there is a match."""
        return self.count > 0


_UNDECIDED = Found(0, False, 0, (), None, decided=False)
NOTHING = Found(0, True, 0, (), None)


class Prober:
    """Runs setups over the same events until its time is over: a ``deadline`` by the clock of :func:`now`."""

    def __init__(self, events: Numbered, deadline: float) -> None:
        self.events, self.deadline = events, deadline
        self.runs = 0
        self._until, self._seconds = self.deadline, _SECONDS
        self._known: dict[tuple[Setup, bool], Found] = {}
        self._some: list[pa.Table] | None = None

    @property
    def left(self) -> float:
        """The seconds that are left."""
        return self.deadline - now()

    @contextmanager
    def within(self, seconds: float, *, each: float = _SECONDS) -> Iterator[None]:
        """Let searches share so many seconds, and ``each`` take its part.

        What they leave undecided may be asked again.
        """
        before = self._until, self._seconds
        self._until, self._seconds = min(self._until, now() + seconds), each
        try:
            yield
        finally:
            self._until, self._seconds = before

    def find(self, setup: Setup, *, all_events: bool = False, table: pa.Table | None = None) -> Found:
        """Search for the matches of a setup.

        If there are many events, some are searched first, unless ``all_events``: a match there is a match.
        If all events take too long, a part of them is searched.

        Raises
        ------
        OutOfTime
        QueryError
            If the setup is no legal query.
        """
        if table is not None:
            return self._search_all(setup, table)
        known = self._known.get((setup, all_events))
        if known is None:
            found = NOTHING if all_events else self._search_some(setup)
            known = found if found.some else self._search_all(setup, self.events.table)
            if known.decided or self._until == self.deadline:
                self._known[setup, all_events] = known
        return known

    def has_searched_all(self, setup: Setup) -> bool:
        """Say whether all events were searched for the matches of a setup, to the end."""
        known = self._known.get((setup, True))
        return known is not None and known.decided

    def tried(self, setup: Setup, *, all_events: bool = False) -> Found:
        """Search for the matches of a setup; one that is no legal query has none."""
        try:
            return self.find(setup, all_events=all_events)
        except QueryError:
            return NOTHING

    def combinations(self, setup: Setup | None, found: Found) -> Found:
        """Return all combinations behind ``found``: a strategy that takes the next event hides the rest.

        With groups there may be too many, and ``found`` is returned as it is.
        """
        if setup is None or setup.query.strategy is not Strategy.NEXT:
            return found
        if any(each.group for each in ast.events(setup.query.pattern)):
            return found
        every = self.tried(replace(setup, query=replace(setup.query, strategy=Strategy.ANY)))
        return every if every.matches else found

    def _search_some(self, setup: Setup) -> Found:
        for events in self._samples():
            try:
                found = self._search(setup, events)
            except LimitError:
                continue
            if found.some:
                return replace(found, exact=False)
        return NOTHING

    def _samples(self) -> list[pa.Table]:
        """Return some of many events: those of some partitions, and those of some stretch of time."""
        if self._some is None:
            table, keys = self.events.table, tuple(agreements(self.events.query))
            self._some = []
            if table.num_rows > 4 * _SAMPLE:
                share = table.num_rows // _SAMPLE
                if keys:
                    codes = partition_codes(table, keys)
                    self._some.append(table.filter(pa.array((codes % share == 0) | (codes < 0))))
                self._some.append(table.slice(table.num_rows // 2, _SAMPLE))
        return self._some

    def _search_all(self, setup: Setup, events: pa.Table) -> Found:
        if events.num_rows == 0:
            return NOTHING
        try:
            return self._search(setup, events)
        except LimitError as error:
            many = error.limit == "matches"
        for share in _PIECES:
            size = events.num_rows // share
            if size < 2:
                break
            for begin in (0, events.num_rows // 2):
                try:
                    found = self._search(setup, events.slice(begin, size))
                except LimitError:
                    continue
                if found.some:
                    return replace(found, exact=False)
        return replace(_UNDECIDED, count=int(many))

    def plan(self, setup: Setup, events: pa.Table, items: tuple[ReturnItem, ...] | None = None) -> Plan:
        """Return the plan of a setup over a table, with bounds on its search.

        Raises
        ------
        QueryError, OutOfTime
        """
        if self.left <= 0:
            raise OutOfTime
        given, limits = self.events.options, self.events.options.limits
        most = self._seconds
        seconds = min(most, max(_LEAST_SECONDS, self._until - now()), limits.seconds or most)
        ties = given.tie_breaker
        if setup.ties:
            ties = (*ties, self.events.place, self.events.number)
        options = replace(
            given,
            query=replace(setup.query, returns=items),
            tie_breaker=ties,
            touching="before" if setup.touching else None,
            complete_windows=setup.complete_windows,
            limits=replace(limits, matches=min(_MATCHES, limits.matches), seconds=seconds),
        )
        self.runs += 1
        return PatternCall(Given(events, Kind.TABLE, lambda each: each), options).plan()

    def _search(self, setup: Setup, events: pa.Table) -> Found:
        plan = self.plan(setup, events)
        plan = covering_table(plan, events)
        rows = prepare(events, plan, whole_input=True, anchors=find_anchors(plan))
        engine = Engine(plan)
        _, found = engine.advance(engine.start(rows.schema), rows, None)
        matches = found.matches
        if len(matches) == 0:
            return NOTHING
        numbers = np.asarray(found.rows.column(self.events.number).to_numpy())
        starts = len(np.unique(matches.first))
        lengths = _lengths(plan, matches, found.events)
        chosen = matches.select(np.argsort(lengths, kind="stable")[:EXAMPLES].astype(np.int64))
        return Found(len(matches), True, starts, _bindings(chosen, plan.names, numbers), int(lengths.min()))

    def values(self, setup: Setup, items: Sequence[ReturnItem]) -> pa.Table | None:
        """Return the values of items in the matches of a setup; None if it is not legal or takes long."""
        try:
            plan = self.plan(setup, self.events.table, tuple(items))
            rows = prepare(self.events.table, plan, whole_input=True, anchors=find_anchors(plan))
            engine, builder = Engine(plan), builder_of(plan)
            _, found = engine.advance(engine.start(rows.schema), rows, None)
        except (LimitError, QueryError):
            return None
        return builder.finish(builder.rows(found))


def now() -> float:
    """Return the time by a clock that stands still while kernels are compiled."""
    return time.monotonic() - seconds_compiling()


def _lengths(plan: Plan, matches: MatchSet, events: Array) -> Array:
    """Return how long each match is, in units of the time column, or of events if the window counts those."""
    if not plan.window.counts_events:
        starts, ends = matches.spans(events)
        return np.asarray(ends - starts)
    places = events[L.EVENT_INDEX][matches.positions]
    first = np.minimum.reduceat(places, matches.offsets[:-1])
    return np.asarray(np.maximum.reduceat(places, matches.offsets[:-1]) - first + 1)


def _bindings(matches: MatchSet, names: Sequence[str], numbers: Array) -> tuple[Bindings, ...]:
    found: list[Bindings] = []
    for first, end in zip(matches.offsets[:-1], matches.offsets[1:], strict=True):
        bound: Bindings = {}
        for place in range(first, end):
            name = names[int(matches.variables[place])]
            bound.setdefault(name, []).append(int(numbers[matches.positions[place]]))
        found.append(bound)
    return tuple(found)
