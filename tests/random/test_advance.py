"""The engine fed in batches: any split with rising watermarks finds the same matches, each once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

import fyke
from fyke.engine.engine import Engine
from fyke.engine.input.order import times
from fyke.engine.input.prepare import derived_types, prepare
from fyke.engine.output.builders import builder_of
from fyke.engine.state import State
from fyke.errors import LimitError
from fyke.language.ast import Strategy
from fyke.language.query import Query
from fyke.language.sase import parse
from fyke.limits import Limits
from fyke.logical.analyse import analyse
from fyke.logical.schema import make_schema
from fyke.plan.plan import make_plan
from fyke.techniques import Techniques
from tests.random.results import difference
from tests.random.streams import Case, cases
from tests.random.test_engine_against_reference import SETTINGS

DEFAULT = Techniques()
COMPARABLE = Limits(matches=20_000)


@dataclass
class Stream:
    """An engine with its state, fed batch by batch."""

    schema: pa.Schema
    query: Query
    time: str | tuple[str, str]
    tie_breaker: str | tuple[str, ...] | None = None
    output: str = "all"
    techniques: Techniques = DEFAULT
    engine: str = "automaton"
    type_column: str | None = "kind"
    touching: str | None = None
    complete_windows: bool = False
    covered: tuple[int, int] | None = None
    found: list[pa.Table] = field(default_factory=list)
    late: int = 0

    def __post_init__(self) -> None:
        columns = dict(zip(self.schema.names, self.schema.types, strict=True))
        schema = make_schema(
            columns,
            time=self.time,
            type_column=self.type_column,
            tie_breaker=self.tie_breaker,
            touching=self.touching,
        )
        analysed = analyse(self.query, schema)
        plan = make_plan(analysed, derived_types, self.output, techniques=self.techniques, engine=self.engine)
        plan = replace(plan, complete_windows=self.complete_windows, covered=self.covered)
        self.plan, self.door, self.builder = plan, Engine(plan), builder_of(plan)
        self.state: State = self.door.start(prepare(self.schema.empty_table(), plan).schema)

    def advance(self, batch: pa.Table, watermark: int | None) -> pa.Table:
        """Feed a batch and return the matches that are now certain."""
        self.state, found = self.door.advance(self.state, prepare(batch, self.plan), watermark)
        self.late += found.counters.late_rows
        self.found.append(self.builder.rows(found))
        return self.found[-1]

    def result(self) -> pa.Table:
        """Return all matches so far."""
        return self.builder.finish(pa.concat_tables(self.found))


def stream_of(case: Case, techniques: Techniques = DEFAULT) -> Stream:
    return Stream(
        case.table.schema, case.query, case.time, case.tie_breaker, case.output, techniques, **case.order
    )


def in_one_batch(case: Case, table: pa.Table) -> pa.Table:
    """Return the rows of a batch; a case with more matches than can be compared in Python is not drawn."""
    stream = stream_of(case)
    stream.plan = replace(stream.plan, limits=COMPARABLE)
    stream.door = Engine(stream.plan)
    try:
        stream.advance(table, None)
    except LimitError:
        reject()
    return stream.result()


def ends_of(case: Case) -> np.ndarray:
    end = case.time if isinstance(case.time, str) else case.time[1]
    return times(case.table.column(end))


@st.composite
def splits(draw: st.DrawFn, case: Case) -> tuple[list[int], list[int]]:
    """Draw rising watermarks and, for each row, the batch it comes in: any before it would be late."""
    ends = ends_of(case).tolist()
    moments = sorted({moment + shift for moment in ends for shift in (-1, 0, 1)}) or [0]
    watermarks = sorted(draw(st.lists(st.sampled_from(moments), max_size=5)))
    if draw(st.sampled_from((False, False, True))):
        watermarks = sorted(set(ends))  # one by one
    batches = []
    for end in ends:
        last = sum(watermark < end for watermark in watermarks)
        batches.append(last if draw(st.booleans()) else draw(st.integers(0, last)))
    return batches, watermarks


def feed(case: Case, stream: Stream, batches: Sequence[int], watermarks: Sequence[int]) -> None:
    places = np.array(batches, np.int64)
    for number, watermark in enumerate([*watermarks, None]):
        stream.advance(case.table.take(pa.array(np.flatnonzero(places == number))), watermark)


def judge_splits(
    drawn: st.SearchStrategy[Case],
    options_of: Callable[[Case], st.SearchStrategy[dict[str, Any]]],
    *,
    tells: Callable[[Case, pa.Table], bool] = lambda _, matches: matches.num_rows > 0,
    least: float = 1 / 3,
) -> None:
    """Check that an engine, under drawn options and in any split, finds what the automaton finds at once.

    At least the share ``least`` of the cases must tell something.
    """
    told = []

    @settings(SETTINGS, max_examples=120, derandomize=True)
    @given(st.data())
    def check(data: st.DataObject) -> None:
        case = data.draw(drawn)
        options = data.draw(options_of(case))
        batches, watermarks = data.draw(splits(case))
        stream = Stream(
            case.table.schema,
            case.query,
            case.time,
            case.tie_breaker,
            case.output,
            **case.order,
            **options,
        )
        feed(case, stream, batches, watermarks)
        eager = fyke.match(case.table, case.query, **case.options, engine="automaton")
        differing = difference(stream.result(), eager)
        assert differing is None, f"{options}: {differing}"
        told.append(tells(case, eager))

    check()
    assert sum(told) >= least * len(told)


@pytest.mark.parametrize("strategy", Strategy)
def test_any_split_gives_the_same_matches(strategy: Strategy) -> None:
    matched = []

    @settings(SETTINGS, max_examples=50, derandomize=True)
    @given(st.data())
    def check(data: st.DataObject) -> None:
        case = data.draw(cases(strategy, judged=False))
        batches, watermarks = data.draw(splits(case))
        stream = stream_of(case)
        feed(case, stream, batches, watermarks)
        expected = in_one_batch(case, case.table)
        differing = difference(stream.result(), expected)
        assert differing is None, differing
        assert stream.late == 0
        matched.append(expected.num_rows > 0)

    check()
    assert len(matched) >= 45
    assert sum(matched) >= len(matched) / 3


@pytest.mark.long
def test_any_split_gives_the_same_matches_for_long() -> None:
    @settings(SETTINGS, max_examples=10_000)
    @given(st.data())
    def check(data: st.DataObject) -> None:
        case = data.draw(cases(judged=False))
        batches, watermarks = data.draw(splits(case))
        stream = stream_of(case)
        feed(case, stream, batches, watermarks)
        differing = difference(stream.result(), in_one_batch(case, case.table))
        assert differing is None, differing

    check()


def test_late_rows_are_dropped_and_counted() -> None:
    late_rows = []

    @settings(SETTINGS, max_examples=60, derandomize=True)
    @given(st.data())
    def check(data: st.DataObject) -> None:
        case = data.draw(cases(judged=False))
        batches, watermarks = data.draw(splits(case))
        late = data.draw(st.lists(st.integers(0, len(batches)), max_size=3))
        batches = [len(watermarks) if place in late else batch for place, batch in enumerate(batches)]
        stream = stream_of(case)
        feed(case, stream, batches, watermarks)
        in_time = np.array(
            [
                batch == 0 or end > watermarks[batch - 1]
                for batch, end in zip(batches, ends_of(case).tolist(), strict=True)
            ],
            bool,
        )
        # Rows that can play no role do not reach the engine, late or not.
        late_and_relevant = prepare(case.table.filter(pa.array(~in_time)), stream.plan)
        assert stream.late == late_and_relevant.num_rows
        differing = difference(stream.result(), in_one_batch(case, case.table.filter(pa.array(in_time))))
        assert differing is None, differing
        late_rows.append(stream.late)

    check()
    assert sum(map(bool, late_rows)) >= 10


LONG_STREAMS = {
    "sequence": "PATTERN SEQ(A a, B b) WHERE { [k] } WITHIN 20",
    "group": "PATTERN SEQ(A a, B+ b[], C c) WHERE { [k] AND b[i].x > b[i-1].x } WITHIN 20",
    "greedy": "PATTERN AND(A a, B+ b[]) WHERE greedy_skip_till_next_match { [k] } WITHIN 12",
    "robust": "PATTERN SEQ(A a, B b, C c) WHERE robust_skip_till_next_match { [k] } WITHIN 12",
    "absence at the end": "PATTERN SEQ(A a, ~B b) WHERE { [k] } WITHIN 20",
    "absence at the start": "PATTERN SEQ(~B b, A a) WHERE { [k] } WITHIN 20",
    "strict": "PATTERN SEQ(A a, B+ b[]) WHERE strict_contiguity { a.x < 5 } WITHIN 20",
    "contiguous": "PATTERN SEQ(A a, B+ b[]) WHERE partition_contiguity { [k] } WITHIN 20",
    "greedy, strict": "PATTERN ANY+ a[] WHERE greedy_strict_contiguity { a[i].x > a[i-1].x } WITHIN 20",
    "greedy, contiguous": "PATTERN SEQ(ANY a, B+ b[]) WHERE greedy_partition_contiguity { [k] } WITHIN 20",
    "events": "PATTERN SEQ(A a, B b) WHERE { [k] } WITHIN 8 EVENTS",
    "events, absence": "PATTERN SEQ(A a, ~C c, B b, ~C d) WHERE { [k] } WITHIN 8 EVENTS",
}


def _long_batch(number: int, rows: int) -> pa.Table:
    random = np.random.default_rng(number)
    return pa.table(
        {
            "kind": random.choice(["A", "B", "C", "X"], rows),
            "t": np.sort(random.integers(100 * number, 100 * (number + 1), rows)),
            "k": random.integers(0, 5, rows),
            "x": random.integers(0, 10, rows),
        }
    )


@pytest.mark.parametrize("output", ["all", "non_overlap"])
@pytest.mark.parametrize("name", LONG_STREAMS)
def test_state_does_not_grow_on_a_long_stream(name: str, output: str) -> None:
    query = parse(LONG_STREAMS[name])
    batches = [_long_batch(number, 100) for number in range(25)]
    stream = Stream(batches[0].schema, query, "t", output=output)
    kept, runs = [], []
    for number, batch in enumerate(batches):
        stream.advance(batch, 100 * (number + 1) - 10)
        kept.append(stream.state.rows.num_rows)
        runs.append(sum(len(each.nodes) for each in stream.state.memory))
    stream.advance(batches[0].slice(0, 0), None)
    # What is unread (10 units), and at most two windows of what is read; about one row a unit.
    assert max(kept) <= 120
    assert max(kept[15:]) <= 1.5 * max(kept[:10])
    reported = sum(found.num_rows for found in stream.found)
    assert sum(found.num_rows for found in stream.found[:-1]) >= 0.9 * reported  # and not at the end of input
    assert max(runs[15:], default=0) <= 2 * max(runs[:10]) + 20
    whole = Stream(batches[0].schema, query, "t", output=output)
    whole.advance(pa.concat_tables(batches), None)
    assert whole.result().num_rows > 0
    differing = difference(stream.result(), whole.result())
    assert differing is None, differing
