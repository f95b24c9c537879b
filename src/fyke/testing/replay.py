"""Replays a timeline through micro-batches, as Spark would: watermarks, late rows, saved state, crashes."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from fyke.call.events import take_events
from fyke.call.options import RowOptions, event_options, named_options
from fyke.call.pattern import PatternCall
from fyke.call.row_patterns import RowPatternCall
from fyke.call.timeouts import with_status
from fyke.engine.engine import Engine
from fyke.engine.input.order import times
from fyke.engine.input.prepare import in_plain_types, prepare
from fyke.engine.output.builders import builder_of
from fyke.engine.output.rows import ResultBuilder
from fyke.engine.row_patterns.advance import RowEngine
from fyke.engine.row_patterns.stored_rows import StoredRows
from fyke.engine.state_bytes import state_identity
from fyke.engine.stored_state import StoredStates
from fyke.errors import InputError, OptionError, StreamError
from fyke.language.query import Query
from fyke.language.row_patterns import RowPatternQuery
from fyke.language.text import parse
from fyke.plan.row_patterns.streaming import check_streamable
from fyke.spark.stream.checks import check_decidable
from fyke.spark.stream.totals import RunningTotals
from fyke.testing.timeline import Timeline, parse_timeline

_BEGINNING = -(2**63)


class _Store:
    """The state of a stream, as a state store holds it between micro-batches."""

    def __init__(self) -> None:
        self.value: bytes | None = None
        self.stored: dict[int, bytes] = {}
        self.totals: dict[bytes, bytes] = {}

    def small(self) -> bytes | None:
        return self.value

    def set_small(self, data: bytes | None) -> None:
        self.value = data

    def chunks(self) -> Mapping[int, bytes]:
        return self.stored

    def add_chunk(self, number: int, data: bytes) -> None:
        self.stored[number] = data

    def drop_chunk(self, number: int) -> None:
        del self.stored[number]

    def getValue(self, key: tuple[bytes]) -> tuple[bytes] | None:
        return (self.totals[key[0]],) if key[0] in self.totals else None

    def updateValue(self, key: tuple[bytes], value: tuple[bytes]) -> None:
        self.totals[key[0]] = value[0]

    @property
    def size(self) -> int:
        return len(self.value or b"") + sum(map(len, self.stored.values()))


@dataclass(frozen=True, slots=True)
class Replay:
    """What a stream has shown: the matches that each micro-batch reported, and the late events.

    ``batches`` has a table for each micro-batch, and a last one for the end of the stream if it was ended.
    ``state_bytes`` says how much was kept after each.  Of a query with aggregates over matches, each table
    has the running totals that its micro-batch has changed, and ``totals_of`` names the attributes they are
    by.
    """

    query: Query | RowPatternQuery
    events: pa.Table
    options: Mapping[str, Any]
    batches: list[pa.Table] = field(default_factory=list)
    late: pa.Table = field(default_factory=lambda: pa.table({}))
    state_bytes: list[int] = field(default_factory=list)
    totals_of: tuple[str, ...] | None = None

    @property
    def matches(self) -> pa.Table:
        """All matches, in the order in which they were reported."""
        return pa.concat_tables(self.batches)


class _EventSteps:
    """The micro-batches of a pattern: each reads the state from a store with a new engine, and writes it."""

    def __init__(self, query: Query, stream: Timeline, options: Mapping[str, Any]) -> None:
        checked = event_options(replay.__name__, query, options, "metrics", "watermark")
        self._call = PatternCall(take_events(stream.events), checked)
        self._plan = plan = self._call.plan()
        check_decidable(plan)
        self._builder, self._schema = builder_of(plan), prepare(stream.events.slice(0, 0), plan).schema
        self.totals_of = plan.partition if plan.result.over_matches else None

    def step(self, store: _Store, rows: pa.Table, watermark: int | None) -> pa.Table:
        """Return what a micro-batch reports."""
        states = StoredStates(Engine(self._plan), self._schema)
        held = states.load(store)
        after, seen = states.advance(held, prepare(rows, self._plan), watermark)
        states.save(store, held, after)
        if self.totals_of is not None and isinstance(self._builder, ResultBuilder):
            own = state_identity(self._plan, self._schema)
            return RunningTotals(store, self._builder, own).add(seen)
        found, options = self._builder.rows(seen), self._call.options
        if not options.timeouts:
            return found
        assert isinstance(options.query, Query)
        return with_status(found, options.query)


class _RowSteps:
    """The same of a MATCH_RECOGNIZE clause."""

    totals_of = None

    def __init__(self, query: RowPatternQuery, stream: Timeline, options: Mapping[str, Any]) -> None:
        checked = named_options(replay.__name__, query, options, "metrics", "watermark")
        assert isinstance(checked, RowOptions)
        self._plan = RowPatternCall(take_events(stream.events), checked).plan
        check_streamable(self._plan)
        first = self._plan.analysed.order[0].column
        if first != "time":
            raise StreamError(
                f"on a stream ORDER BY must begin with the time of the rows, and it begins with {first}",
                remedy="Write ORDER BY time: that is what the times of a timeline are called.",
            )
        self._schema = in_plain_types(stream.events).schema

    def step(self, store: _Store, rows: pa.Table, watermark: int | None) -> pa.Table:
        """Return what a micro-batch reports."""
        states = StoredRows(RowEngine(self._plan), self._schema)
        held = states.load(store)
        after, seen = states.advance(held, in_plain_types(rows), watermark)
        states.save(store, held, after)
        return seen.rows


def replay(
    query: str | Query | RowPatternQuery,
    timeline: str | Timeline,
    *,
    delay: int = 0,
    end: bool = True,
    **options: Any,
) -> Replay:
    """Run a pattern or a MATCH_RECOGNIZE clause over a timeline, micro-batch by micro-batch.

    Before each micro-batch the state is read from bytes by a new engine, and after it written back, as after
    a restart.  The watermark is ``delay`` behind the latest event that has arrived: events not after it
    are late.

    Parameters
    ----------
    query
        A pattern with a window, or a clause with ``ORDER BY time``.
    timeline
        The events, see :func:`parse_timeline`.  To a clause they are rows with the columns ``type``, ``time``
        and the attributes.
    delay
        How late events may come, in the unit of their times.
    end
        Whether the stream ends with its last event: then every match is reported at last.
    options
        Those of :func:`fyke.match` but for the columns, which the timeline knows.

    Raises
    ------
    FykeError
        If the timeline cannot be read, or the query cannot run.
    """
    stream = parse_timeline(timeline) if isinstance(timeline, str) else timeline
    asked = parse(query) if isinstance(query, str) else query
    if not isinstance(asked, (Query, RowPatternQuery)):
        raise InputError(
            "replay takes a pattern or a MATCH_RECOGNIZE clause, found a relational query",
            remedy="Test relational queries with fyke.match on a table.",
        )
    if not isinstance(delay, int) or isinstance(delay, bool) or delay < 0:
        raise OptionError(f"delay must be a number of time units, 0 or more, found {delay!r}")
    steps: _EventSteps | _RowSteps
    if isinstance(asked, RowPatternQuery):
        steps = _RowSteps(asked, stream, options)
    else:
        options = {"time": stream.time, "type": "type", **options}
        steps = _EventSteps(asked, stream, options)
    seen = Replay(asked, stream.events, options, totals_of=steps.totals_of)
    store, watermark = _Store(), _BEGINNING
    late = [stream.events.slice(0, 0)]
    for number, rows in enumerate(stream.batches):
        behind = times(rows.column("time")) <= watermark
        late.append(rows.filter(pa.array(behind)))
        latest = int(times(rows.column("time")).max(initial=_BEGINNING + delay))
        rows, watermark = rows.filter(pa.array(~behind)), max(watermark, latest - delay)
        if number in stream.crashes:
            steps.step(deepcopy(store), rows, watermark)  # died before it could be kept
        seen.batches.append(steps.step(store, rows, watermark))
        seen.state_bytes.append(store.size)
    if end:
        seen.batches.append(steps.step(store, stream.events.slice(0, 0), None))
        seen.state_bytes.append(store.size)
    return replace(seen, late=pa.concat_tables(late))
