"""Matches that several calls of ``advance`` must not lose, repeat or put out of order."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa
import pytest

from fyke.language.sase import parse
from tests.random.results import difference
from tests.random.test_advance import Stream

STREAMS: dict[str, tuple[str, list[tuple[Any, ...]]]] = {
    "robust matches of one prefix that end apart": (
        "PATTERN SEQ(A a, B+ b[]) WHERE robust_skip_till_next_match { b[i].x > a.x } WITHIN 5",
        [("A", 1, 0), ("B", 2, 1), ("B", 4, 1), ("B", 5, 1), ("A", 7, 0), ("B", 8, 1)],
    ),
    "ties at the end of a window of events": (
        "PATTERN AND(A a, B+ b[]) WHERE skip_till_any_match { a.x >= 0 } WITHIN 3 EVENTS",
        [("A", 1, 0), ("B", 2, 0), ("B", 2, 1), ("B", 2, 2), ("A", 3, 0), ("A", 4, 0), ("B", 5, 0)],
    ),
    "one match, found by two alternatives, by one of them later": (
        "PATTERN SEQ(A a, OR(B{1} b[], B+ b[])) WHERE greedy_skip_till_next_match { a.x >= 0 } WITHIN 5",
        [("A", 1, 0), ("B", 2, 0), ("C", 9, 0), ("A", 20, 0), ("B", 21, 0), ("B", 22, 0), ("C", 40, 0)],
    ),
    "a partition of NaN": (
        "PATTERN SEQ(A a, B b) WHERE skip_till_any_match { [v] } WITHIN 5",
        [("A", 1, 0), ("A", 2, 0), ("B", 5, 0), ("B", 6, 0), ("C", 10, 0), ("C", 11, 0), ("C", 30, 0)],
    ),
    "rows that wait far ahead of a window of events": (
        "PATTERN SEQ(~B b, A a, C c) WHERE { a.x >= 0 } WITHIN 3 EVENTS",
        [
            ("B", 1, 0),
            ("A", 2, 0),
            ("C", 3, 0),
            *[("X", 50 + n, 0) for n in range(9)],
            ("A", 4, 0),
            ("C", 5, 0),
        ],
    ),
}


@pytest.mark.parametrize("output", ["all", "non_overlap"])
@pytest.mark.parametrize("ahead", [0, 100], ids=["each row in time", "all rows at first"])
@pytest.mark.parametrize("name", STREAMS)
def test_event_by_event(name: str, ahead: int, output: str) -> None:
    text, rows = STREAMS[name]
    columns = list(zip(*rows, strict=True))
    table = pa.table({"kind": columns[0], "t": columns[1], "x": columns[2], "v": [math.nan] * len(rows)})
    whole, stream = (Stream(table.schema, parse(text), "t", output=output) for _ in range(2))
    whole.advance(table, None)
    times = sorted(set(columns[1]))
    for earlier, now in zip([-1 - ahead, *times], [*times, None], strict=True):
        arrives = [k for k, t in enumerate(columns[1]) if earlier < t <= (now or 999)]
        if ahead:
            arrives = list(range(len(rows))) if now == times[0] else []
        stream.advance(table.take(pa.array(arrives, pa.int64())), now)
    assert whole.result().num_rows > 0
    differing = difference(stream.result(), whole.result())
    assert differing is None, differing


def test_ends_of_partitions_are_forgotten() -> None:
    schema = pa.schema({"kind": pa.string(), "t": pa.int64(), "k": pa.int64()})
    stream = Stream(schema, parse("PATTERN A a WHERE { [k] } WITHIN 5"), "t", output="non_overlap")
    for t in range(0, 200, 2):
        stream.advance(pa.table({"kind": ["A"], "t": [t], "k": [t]}), t)
        assert stream.state.last_ends is None or stream.state.last_ends.num_rows <= 6
    stream.advance(schema.empty_table(), None)
    assert stream.result().num_rows == 100
