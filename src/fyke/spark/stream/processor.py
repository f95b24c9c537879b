"""The stateful operator: rows of a bucket wait until the watermark passes them, then the engine reads them.

Spark calls it for every bucket that has rows, and for those whose timer the watermark has passed.  Both come
down to one call of the engine.  The state of a bucket is kept in Spark's state store as
:mod:`fyke.engine.stored_state` lays it out: chunks of rows in a map, the small part in a value, beside the
timer that is set.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyspark.sql.streaming.stateful_processor import (
    ExpiredTimerInfo,
    StatefulProcessor,
    StatefulProcessorHandle,
    TimerValues,
)
from pyspark.sql.types import BinaryType, LongType, StringType, StructType

from fyke.engine.engine import Engine
from fyke.engine.found import Found
from fyke.engine.output.builders import builder_of
from fyke.engine.state import State
from fyke.engine.state_bytes import state_identity
from fyke.engine.stored_state import StoredStates, memory_bytes, next_call
from fyke.plan.plan import Plan
from fyke.spark.stream.buckets import MESSAGE, from_bytes, to_bytes
from fyke.spark.stream.checks import MICROSECONDS, check_same_query, described, is_late, watermark_of
from fyke.spark.stream.remembered import Remembered
from fyke.spark.stream.totals import RunningTotals
from fyke.spark.worker_errors import carrying

# What a call counts, for the progress of the query.
COUNTS = (
    "calls", "events", "event_bytes", "late", "matches", "live_runs", "run_bytes", "state_rows",
    "state_bytes", "written_bytes",
)  # fmt: skip
_OPERATORS, _MOST_BYTES = 32, 1 << 28

# What is stored.  A schema that is a text would be parsed by the JVM, twice in each task of each micro-batch.
_SMALL = StructType().add("data", BinaryType()).add("timer", LongType())
_NUMBER, _CHUNK = StructType().add("number", LongType()), StructType().add("data", BinaryType())
_ABOUT = StructType().add("query", StringType())
_KEY, _TOTAL = StructType().add("key", BinaryType()), StructType().add("data", BinaryType())

# Workers are used again, batch after batch.
_states: Remembered[tuple[Any, Any]] = Remembered(_OPERATORS)
_held: Remembered[Any] = Remembered(_MOST_BYTES)  # by operator and bucket


class SparkStore:
    """The state of the current bucket in Spark's state store."""

    def __init__(self, handle: StatefulProcessorHandle) -> None:
        self._small = handle.getValueState("small", _SMALL)
        self._chunks = handle.getMapState("chunks", _NUMBER, _CHUNK)
        self.timer: int | None = None

    def small(self) -> bytes | None:
        """Return the part that every batch changes; the timer that is set is known then."""
        found = self._small.get()
        self.timer = None if found is None else found[1]
        return None if found is None else bytes(found[0])

    def set_small(self, data: bytes | None) -> None:
        """Replace that part, or remove it."""
        if data is None:
            self._small.clear()
        else:
            self._small.update((data, self.timer))

    def chunks(self) -> Mapping[int, bytes]:
        """Return all chunks of rows."""
        return {int(key[0]): bytes(value[0]) for key, value in self._chunks.iterator()}

    def add_chunk(self, number: int, data: bytes) -> None:
        """Store a chunk."""
        self._chunks.updateValue((number,), (data,))

    def drop_chunk(self, number: int) -> None:
        """Remove a chunk."""
        self._chunks.removeKey((number,))


class BucketProcessor(StatefulProcessor):
    """Reads the rows of buckets; one for each task.

    ``operator`` names the operator, the same for all its tasks; ``schema`` is that of the rows, ``time`` the
    column that the watermark is of, and ``about`` says what the state is of.  Something is ``lasting`` if it
    stays when nothing waits any more.
    """

    lasting = False

    def __init__(self, schema: pa.Schema, operator: str, time: str, about: str) -> None:
        self.schema, self.operator, self.time, self.described = schema, operator, time, about

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Take up the store of a task."""
        self.handle = handle
        self.store = SparkStore(handle)
        self.about = handle.getValueState("about", _ABOUT)
        made = _states.get(self.operator) or self.made()
        _states.keep(self.operator, made)
        self.states, self.builder = made

    @abstractmethod
    def made(self) -> tuple[Any, Any]:
        """Return what reads and writes states, and what makes rows; workers keep both."""

    @abstractmethod
    def next_call(self, after: Any) -> int | None:
        """Return the least watermark at which a state has something to do."""

    @abstractmethod
    def told(self, found: Any) -> pa.Table:
        """Return the rows of the result."""

    def check_lasting(self) -> None:
        """Refuse, with a StateError, what is lasting and of another query."""

    @abstractmethod
    def alive(self, state: Any) -> dict[str, int]:
        """Return what is counted of partial matches."""

    def handleInputRows(
        self, key: Any, rows: Iterable[pd.DataFrame], timerValues: TimerValues
    ) -> Iterator[pd.DataFrame]:
        """Read the messages of a bucket."""
        messages = [message for frame in rows for message in frame[MESSAGE]]
        with carrying():
            yield from self._advance(int(key[0]), from_bytes(messages, self.schema), timerValues)

    def handleExpiredTimer(
        self, key: Any, timerValues: TimerValues, expiredTimerInfo: ExpiredTimerInfo
    ) -> Iterator[pd.DataFrame]:
        """Read on where the watermark has passed something that waits."""
        fired = expiredTimerInfo.getExpiryTimeInMs()
        with carrying():
            yield from self._advance(int(key[0]), self.schema.empty_table(), timerValues, fired)

    def close(self) -> None:
        """Keep nothing open."""

    def _advance(
        self, bucket: int, rows: pa.Table, timer_values: TimerValues, fired: int | None = None
    ) -> Iterator[pd.DataFrame]:
        """Call the engine with the rows of a bucket, and write down what changes."""
        watermark = watermark_of(timer_values)
        late = is_late(rows, self.time, watermark)
        rows = rows.filter(pa.array(~late)) if late.any() else rows
        with check_same_query(self.about, self.described):
            held = self.states.load(self.store, _held.get((self.operator, bucket)))
            self.check_lasting()
        if fired is not None and self.store.timer != fired:
            return  # the bucket has been called in this batch already
        if held.token == b"" and rows.num_rows == 0:
            yield call_row(b"", late=int(late.sum()))
            return
        after, found = self.states.advance(held, rows, watermark)
        self._set_timer(self.next_call(after), watermark, fired)
        if held.token == b"":
            self.about.update((self.described,))
        held, written = self.states.save(self.store, held, after)
        if held.token == b"" and not self.lasting:
            self.about.clear()
        alive = self.alive(held.state)
        self._remember(bucket, held, alive["run_bytes"])
        table = self.told(found)
        yield call_row(
            to_bytes(table) if table.num_rows else b"",
            calls=1,
            events=rows.num_rows,
            event_bytes=rows.nbytes,
            late=int(late.sum()),
            matches=found.counters.matches,
            **alive,
            state_rows=held.state.rows.num_rows,
            state_bytes=held.state.rows.nbytes,
            written_bytes=written,
        )

    def _set_timer(self, wake: int | None, watermark: int, fired: int | None) -> None:
        """Let Spark call again when the watermark has reached a moment that is later than it is now."""
        # Timers fire when the watermark is later than they are, or, by version, as late.  One that is not
        # later than the watermark may fire in this batch and be gone; those up to 0 fire before there is one.
        timer = None if wake is None else max(1, watermark // MICROSECONDS + 1, -(-wake // MICROSECONDS) - 1)
        if self.store.timer is not None and self.store.timer not in (timer, fired):
            self.handle.deleteTimer(self.store.timer)
        if timer is not None and timer != self.store.timer:
            self.handle.registerTimer(timer)
        self.store.timer = timer

    def _remember(self, bucket: int, held: Any, run_bytes: int) -> None:
        """Keep a state for the next batch: reading it from the store costs more the more it holds."""
        if held.token:
            _held.keep((self.operator, bucket), held, held.nbytes + run_bytes)
        else:
            _held.forget((self.operator, bucket))


class MatchProcessor(BucketProcessor):
    """Matches a pattern."""

    def __init__(self, plan: Plan, schema: pa.Schema, operator: str) -> None:
        super().__init__(schema, operator, plan.schema.end, described(plan, schema))
        self.plan = plan

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Take up the store of a task."""
        super().init(handle)
        self.totals = None
        if self.plan.result.over_matches:
            stored = handle.getMapState("totals", _KEY, _TOTAL)
            own = state_identity(self.plan, self.schema)
            self.totals, self.lasting = RunningTotals(stored, self.builder, own), True

    def check_lasting(self) -> None:
        """Refuse, with a StateError, running totals of another query."""
        if self.totals is not None:
            self.totals.check_whose()

    def made(self) -> tuple[StoredStates, Any]:
        """Return what reads and writes the states of the pattern, and makes rows of its matches."""
        return StoredStates(Engine(self.plan), self.schema), builder_of(self.plan)

    def next_call(self, after: State) -> int | None:
        """Return when an event that waits is read, or a match may be certain."""
        return next_call(self.states.engine, after)

    def told(self, found: Found) -> pa.Table:
        """Return the rows of matches, or the running totals that have changed."""
        return self.builder.rows(found) if self.totals is None else self.totals.add(found)

    def alive(self, state: State) -> dict[str, int]:
        """Return how many runs there are, and what they take."""
        engine = self.states.engine
        runs = engine.searcher.live_runs(state.memory)
        return {"live_runs": runs, "run_bytes": memory_bytes(engine, state)}


def call_row(message: bytes, **counts: int) -> pd.DataFrame:
    """Return the one row that a call leaves: its result as a message, and what it has counted."""
    cells = {name: np.array([counts.get(name, 0)], np.int64) for name in COUNTS}
    return pd.DataFrame({MESSAGE: [message], **cells})
