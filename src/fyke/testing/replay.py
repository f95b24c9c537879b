"""Replays a timeline through micro-batches, as Spark would: watermarks, late rows, saved state, crashes."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from fyke.call.events import take_events
from fyke.call.options import event_options
from fyke.call.pattern import PatternCall
from fyke.engine.engine import Engine
from fyke.engine.input.order import times
from fyke.engine.input.prepare import prepare
from fyke.engine.output.builders import builder_of
from fyke.engine.output.rows import ResultBuilder
from fyke.engine.stored_state import StoredStates
from fyke.errors import InputError, OptionError
from fyke.language.query import Query
from fyke.language.text import parse_event_query
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

    query: Query
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


def replay(
    query: str | Query, timeline: str | Timeline, *, delay: int = 0, end: bool = True, **options: Any
) -> Replay:
    """Run a pattern over a timeline, micro-batch by micro-batch.

    Before each micro-batch the state is read from bytes by a new engine, and after it written back, as after
    a restart.  The watermark is ``delay`` behind the latest event that has arrived: events not after it
    are late.

    Parameters
    ----------
    query
        A pattern with a window.
    timeline
        The events, see :func:`parse_timeline`.
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
    pattern = parse_event_query(query) if isinstance(query, str) else query
    if not isinstance(pattern, Query):
        raise InputError(
            "replay takes a pattern, found a relational query",
            remedy="Test relational queries with fyke.match on a table.",
        )
    if not isinstance(delay, int) or isinstance(delay, bool) or delay < 0:
        raise OptionError(f"delay must be a number of time units, 0 or more, found {delay!r}")
    options = {"time": stream.time, "type": "type", **options}
    checked = event_options(replay.__name__, pattern, options, "metrics", "watermark")
    plan = PatternCall(take_events(stream.events), checked).plan()
    check_decidable(plan)
    builder, schema = builder_of(plan), prepare(stream.events.slice(0, 0), plan).schema
    totals_of = plan.partition if plan.result.over_matches else None
    store, watermark = _Store(), _BEGINNING
    found: list[pa.Table] = []
    late, sizes = [stream.events.slice(0, 0)], []

    def step(rows: pa.Table, moment: int | None) -> pa.Table:
        states = StoredStates(Engine(plan), schema)
        held = states.load(store)
        after, seen = states.advance(held, prepare(rows, plan), moment)
        states.save(store, held, after)
        if totals_of is None or not isinstance(builder, ResultBuilder):
            return builder.rows(seen)
        return RunningTotals(store, builder).add(seen)

    for number, rows in enumerate(stream.batches):
        behind = times(rows.column("time")) <= watermark
        late.append(rows.filter(pa.array(behind)))
        latest = int(times(rows.column("time")).max(initial=_BEGINNING + delay))
        rows, watermark = rows.filter(pa.array(~behind)), max(watermark, latest - delay)
        if number in stream.crashes:
            before = deepcopy(store)
            step(rows, watermark)  # died before it could be kept
            store = before
        found.append(step(rows, watermark))
        sizes.append(store.size)
    if end:
        found.append(step(stream.events.slice(0, 0), None))
        sizes.append(store.size)
    return Replay(pattern, stream.events, options, found, pa.concat_tables(late), sizes, totals_of)
