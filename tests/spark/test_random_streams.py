"""Random queries through Spark itself: micro-batches in any order of arrival bring the rows of the batch."""

from __future__ import annotations

from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession

import fyke
from fyke.errors import FykeError, StreamError
from fyke.language.ast import Strategy, WindowKind
from fyke.language.query import Query
from tests.random.queries import features, queries
from tests.random.streams import tables
from tests.random.test_engine_against_reference import SETTINGS
from tests.spark.live import Live, finished
from tests.spark.tables import assert_same

pytestmark = [pytest.mark.spark, pytest.mark.long]

COUNT, PORTIONS = 64, 3
LATENESS, DELAY = 4_000_000, "5 seconds"  # events are about a second apart
UTC = pa.timestamp("us", tz="UTC")


class RandomStream:
    """A query and its events, in portions, some of them seconds late."""

    def __init__(self, query: Query, table: pa.Table, output: str, seed: int) -> None:
        self.query, self.output = query, output
        self.events = table.set_column(table.schema.get_field_index("t"), "t", table["t"].cast(UTC))
        lateness = np.random.default_rng(seed).integers(0, LATENESS, table.num_rows)
        order = np.argsort(self.events["t"].cast(pa.int64()).to_numpy() + lateness, kind="stable")
        self.portions = [self.events.take(pa.array(part)) for part in np.array_split(order, PORTIONS)]

    @property
    def options(self) -> dict[str, Any]:
        return {"time": "t", "type": "kind", "output": self.output}

    @property
    def totals(self) -> bool:
        """Whether it returns aggregates over matches: these have no end, and are written in update mode."""
        return "match_id" not in self.batch().column_names and self.query.returns is not None

    def __repr__(self) -> str:
        rows = "\n".join(f"{number}: {p.to_pylist()}" for number, p in enumerate(self.portions))
        return f"{self.query}\n{self.options}\n{rows}"

    def batch(self) -> pa.Table:
        return fyke.match(self.events, self.query, metrics=fyke.Metrics(), **self.options)


def drawn(count: int, strategy: Strategy, *, counts: bool) -> list[RandomStream]:
    """Return so many cases of a strategy, with a window that ``counts`` events or with one of time."""
    found: list[RandomStream] = []

    @settings(SETTINGS, max_examples=60, derandomize=True)
    @given(st.data())
    def draw(data: st.DataObject) -> None:
        query = data.draw(queries(10**9, strategy))
        assume(query.window is not None)
        assume((query.window.kind is WindowKind.EVENTS) == counts)
        table = data.draw(tables(query, "ms", judged=False))
        output = data.draw(st.sampled_from(("all", "all", "non_overlap")))
        case = RandomStream(query, table, output, len(found))
        try:
            matches = case.batch().num_rows
        except FykeError:
            assume(False)
        # Half of them with matches at least.
        assume(table.num_rows > 2 and not case.totals and (matches or len(found) % 2))
        found.append(case)

    draw()
    return found[:count]


def on_stream(case: RandomStream, live: Live) -> DataFrame | None:
    """Return the matches of a case as a stream; None if they cannot be decided on one."""
    for portion in case.portions:
        live.add(portion)
    try:
        return fyke.match(live.events(), case.query, **case.options, watermark=DELAY)
    except StreamError:
        return None


def test_random_queries_bring_the_rows_of_the_batch(spark: SparkSession, tmp_path: Path) -> None:
    each = COUNT // len(Strategy)
    cases = [case for strategy in Strategy for case in drawn(each - 2, strategy, counts=False)]
    cases += [case for strategy in Strategy for case in drawn(2, strategy, counts=True)]
    told: Counter[str] = Counter()
    compared = matched = reported = 0
    for number, case in enumerate(cases):
        live = Live(spark, tmp_path / str(number), case.events.schema)
        frame = on_stream(case, live)
        if frame is None:
            continue
        finished(partial(live.start, frame, "out", once=True))
        checkpoint = str(live.root / "out.checkpoint")
        given = {**case.options, "watermark": DELAY}
        rest = fyke.flush(live.events(), case.query, **given, checkpoint=checkpoint).toArrow()
        expected, written = case.batch(), live.written(frame, "out")
        found = pa.concat_tables([written, rest.cast(written.schema)])
        try:
            assert_same(found, expected)
        except AssertionError as error:
            raise AssertionError(f"{case}\n{error}") from error
        told.update(set(features(case.query)))
        compared, matched = compared + 1, matched + (expected.num_rows > 0)
        reported += written.num_rows
    assert compared >= 60
    assert matched >= compared / 2
    assert reported > compared / 2  # not all of it at the end
    assert {strategy.value for strategy in Strategy} <= told.keys()
    assert {"And", "Or", "Not", "window events", "RETURN", "Equivalence"} <= told.keys()
