"""Identifiers of matches: the definition of docs/results.md in plain Python, and the engine's by the same."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal

import pyarrow as pa
import pytest

import fyke
from fyke import reference
from tests.random.results import difference

DAY = datetime.date(2026, 1, 31)
VALUES: dict[str, pa.Array] = {
    "boolean": pa.array([True, False, None]),
    "byte": pa.array([-1, 2, None], pa.int8()),
    "unsigned": pa.array([2**64 - 1, 2**63, None], pa.uint64()),
    "half": pa.array([1.5, -0.0, None], pa.float32()).cast(pa.float16()),
    "single": pa.array([0.1, 1.0, None], pa.float32()),
    "double": pa.array([math.nan, -0.0, None]),
    "decimal": pa.array([Decimal("1.50"), Decimal("-0.01"), None], pa.decimal128(9, 2)),
    "fine decimal": pa.array([Decimal("1E-20"), Decimal(0), None], pa.decimal128(38, 20)),
    "coarse decimal": pa.array([Decimal("1500"), Decimal(0), None], pa.decimal128(9, -2)),
    "wide decimal": pa.array([Decimal("1.5"), Decimal(-(10**40)), None], pa.decimal256(50, 2)),
    "string": pa.array(["é", "", None]),
    "large string": pa.array(["x", "y", None], pa.large_string()),
    "string view": pa.array(["x", "y", None], pa.string_view()),
    "dictionary": pa.array(["a", "b", None]).dictionary_encode(),
    "nanoseconds": pa.array([1, -1, None, 1_500, 2_000, -2_000], pa.timestamp("ns")),
    "microseconds": pa.array([-5, 5, None], pa.timestamp("us", "UTC")),
    "far seconds": pa.array([10**11, -(6 * 10**10), None], pa.timestamp("s")),
    "short lengths": pa.array([1, -1, None, 3_000], pa.duration("ns")),
    "lengths": pa.array([1, -1, None], pa.duration("s")),
    "time": pa.array([1, 2, None], pa.time32("s")),
    "fine time": pa.array([1, 2_000, None], pa.time64("ns")),
    "date": pa.array([DAY, None]),
    "date64": pa.array([DAY, None], pa.date64()),
    "list": pa.array([[1.0, None], [], None, [2.0]]),
    "fixed list": pa.array([[1, 2], None, [3, None]], pa.list_(pa.int32(), 2)),
    "lists": pa.array([[["a"], None, []], [], None]),
    "struct": pa.array([{"x": 1, "s": None}, None, {"x": None, "s": "b"}]),
    "empty struct": pa.array([{}, None], pa.struct([])),
    "struct of nanoseconds": pa.StructArray.from_arrays([pa.array([1, 1_000], pa.timestamp("ns"))], ["t"]),
    "map": pa.array([[("a", 1), ("b", None)], [], None], pa.map_(pa.string(), pa.int64())),
    "binary": pa.array([b"a", b"", None]),
    "fixed binary": pa.array([b"ab", None], pa.binary(2)),
    "null": pa.nulls(2),
}

# A row is known by all its columns, by its time and type alone, by what a condition mentions.
QUERIES = (
    "PATTERN A a",
    "PATTERN A a RETURN a.t",
    "PATTERN A a WHERE { a.x IS NULL OR a.t >= 0 } RETURN a.t",
)


@pytest.mark.parametrize("name", VALUES)
def test_rows_are_known_by_values_of_every_type(name: str) -> None:
    """Twins too, and a part of a longer column, which begins somewhere in the middle of its memory."""
    values = pa.concat_arrays([VALUES[name]] * 3).slice(1, 2 * len(VALUES[name]))
    times = [k // 2 for k in range(len(values))]
    events = pa.table({"kind": ["A"] * len(values), "t": times, "x": values})
    for query in QUERIES:
        found = fyke.match(events, query, time="t", type="kind")
        assert len(set(found["match_id"].to_pylist())) == len(values)
        expected = reference.match(events, query, time="t", type="kind")
        assert sorted(found["match_id"].to_pylist()) == sorted(expected["match_id"].to_pylist())


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_a_time_is_the_same_in_every_unit(unit: str) -> None:
    moments = [datetime.datetime(2026, 1, 31, 12), datetime.datetime(1901, 1, 31, 12)]
    events = pa.table({"kind": ["A", "A"], "t": pa.array(moments, pa.timestamp("us"))})
    expected = fyke.match(events, "PATTERN A a", time="t", type="kind")["match_id"]
    other = events.set_column(1, "t", events["t"].cast(pa.timestamp(unit)))
    assert fyke.match(other, "PATTERN A a", time="t", type="kind")["match_id"] == expected


def test_matches_a_nanosecond_apart_have_identifiers_of_their_own() -> None:
    """They shared one, so whoever told matches apart by it lost some."""
    ticks = [1_000_000_000, 1_000_000_001, 1_000_000_999, -1, -2]
    for kind in (pa.timestamp("ns"), pa.duration("ns"), pa.time64("ns")):
        values = pa.array([abs(tick) for tick in ticks] if kind == pa.time64("ns") else ticks, kind)
        events = pa.table({"kind": ["A"] * 5, "t": [7] * 5, "x": values})
        found = fyke.match(events, "PATTERN A a WHERE { a.t > 0 }", time="t", type="kind")
        assert len(set(found["match_id"].to_pylist())) == 5
    events = pa.table({"kind": ["A"] * 5, "t": pa.array(ticks, pa.timestamp("ns"))})
    found = fyke.match(events, "PATTERN A a", time="t", type="kind")
    assert len(set(found["match_id"].to_pylist())) == 5
    assert difference(found, reference.match(events, "PATTERN A a", time="t", type="kind")) is None


def test_the_words_of_a_known_match() -> None:
    """The definition is a promise: this identifier changes only if the promise does."""
    events = pa.table({"kind": ["A", "B"], "t": [1, 2], "x": [0.5, None], "s": ["é", ""]})
    for match in (fyke.match, reference.match):
        found = match(events, "PATTERN SEQ(A? a, B b)", time="t", type="kind")
        assert sorted(found["match_id"].to_pylist()) == [
            "94c2fd88a9ae6931a793c2e5fbcd2d34",
            "a829874327f4e42c55f9bbd09c86f9da",
        ]
