"""Columns of every Arrow type: compared, refused by name, or carried along; never an error of Arrow's."""

from __future__ import annotations

import datetime
from contextlib import suppress
from decimal import Decimal

import pyarrow as pa
import pytest

import fyke
from fyke import reference
from fyke.errors import InputError, TypeClashError, UnsupportedQueryError

NOW = datetime.datetime(2026, 1, 31, 12)
VALUES: dict[str, pa.Array] = {
    "boolean": pa.array([True, False]),
    "byte": pa.array([1, 2], pa.int8()),
    "unsigned": pa.array([1, 2], pa.uint64()),
    "half": pa.array([1.0, 2.0], pa.float32()).cast(pa.float16()),
    "float": pa.array([1.0, 2.0]),
    "decimal": pa.array([Decimal("1.5"), Decimal("2.5")]),
    "wide decimal": pa.array([Decimal("1.5"), Decimal("2.5")], pa.decimal256(50, 2)),
    "large string": pa.array(["a", "b"], pa.large_string()),
    "string view": pa.array(["a", "b"], pa.string_view()),
    "dictionary": pa.array(["a", "b"]).dictionary_encode(),
    "local": pa.array([NOW, NOW], pa.timestamp("ns")),
    "zoned": pa.array([NOW, NOW], pa.timestamp("s", "Europe/Berlin")),
    "date32": pa.array([NOW.date()] * 2),
    "date64": pa.array([NOW.date()] * 2, pa.date64()),
    "time": pa.array([NOW.time()] * 2),
    "duration": pa.array([datetime.timedelta(1)] * 2, pa.duration("ms")),
    "list": pa.array([[1.0], [2.0]]),
    "fixed list": pa.array([[1.0], [2.0]], pa.list_(pa.float64(), 1)),
    "struct": pa.array([{"x": 1}, {"x": 2}]),
    "map": pa.array([[("a", 1)]] * 2, pa.map_(pa.string(), pa.int64())),
    "binary": pa.array([b"a", b"b"]),
    "large binary": pa.array([b"a", b"b"], pa.large_binary()),
    "fixed binary": pa.array([b"a", b"b"], pa.binary(1)),
    "null": pa.nulls(2),
}


@pytest.mark.parametrize("left", VALUES)
def test_two_columns_are_compared_or_refused(left: str) -> None:
    for values in VALUES.values():
        events = pa.table({"kind": ["A", "B"], "t": [1, 2], "x": VALUES[left], "y": values})
        for condition in ("a.x <= b.y", "a.x < a.y"):
            _match_or_refuse(events, condition)
    for condition in ("a.x = 1", "a.x = 'a'", "[x]", "a.x > TIMESTAMP '2026-01-01'", "a.x < 5 minutes"):
        _match_or_refuse(events, condition)


def _match_or_refuse(events: pa.Table, condition: str) -> None:
    with suppress(TypeClashError, UnsupportedQueryError):
        query = f"PATTERN SEQ(A a, B b) WHERE {{ {condition} }} WITHIN 5"
        fyke.match(events, query, time="t", type="kind")


@pytest.mark.parametrize("kind", [pa.binary(2), pa.binary(), pa.large_binary()], ids=str)
def test_bytes_are_compared_across_events(kind: pa.DataType) -> None:
    texts = [b"ab", b"b\x00", None, b"ab", b"\xff\xff", b"aa"]
    fixed, other = pa.array(texts, pa.binary(2)), pa.array(texts, kind)
    events = pa.table({"kind": list("AABBBB"), "t": range(6), "x": fixed, "y": other})
    for condition, expected in (
        ("a.x = b.y", [(0, 3)]),
        ("a.x < b.y", [(0, 4), (1, 4)]),
        ("coalesce(b.y, a.x) = a.x", [(0, 2), (0, 3), (1, 2)]),
        ("a.x IN (b.x, b.y) OR b.y = a.y", [(0, 3)]),
    ):
        query = f"PATTERN SEQ(A a, B b) WHERE skip_till_any_match {{ {condition} }} "
        query += "RETURN coalesce(a.x, b.y) AS z, a.t, b.t"
        found = fyke.match(events, query, time="t", type="kind")
        assert sorted(zip(found["a_t"].to_pylist(), found["b_t"].to_pylist(), strict=True)) == expected
        assert found.sort_by("match_id").equals(
            reference.match(events, query, time="t", type="kind").sort_by("match_id")
        )


def test_dates_in_milliseconds_are_dates() -> None:
    days = [NOW.date(), NOW.date() + datetime.timedelta(2)]
    events = pa.table({"kind": ["A", "B"], "day": pa.array(days, pa.date64())})
    found = [
        fyke.match(events, f"PATTERN SEQ(A a, B b) WITHIN {length} days", time="day", type="kind").num_rows
        for length in (1, 2, 3)
    ]
    assert found == [0, 1, 1]


def test_odd_types_inside_others() -> None:
    kind = pa.struct([("day", pa.date64()), ("names", pa.list_(pa.string_view()))])
    events = pa.table({"kind": ["A"], "t": [1], "x": pa.array([{"day": NOW.date(), "names": ["a"]}], kind)})
    found = fyke.match(events, "PATTERN A a WHERE { a.x.day IS NOT NULL }", time="t", type="kind")
    assert found["a"][0].as_py()["x"] == {"day": NOW.date(), "names": ["a"]}


@pytest.mark.parametrize(
    "values, name",
    [
        (
            pa.RunEndEncodedArray.from_arrays([1], pa.array([1])),
            "run_end_encoded<run_ends: int64, values: int64>",
        ),
        (pa.array([pa.MonthDayNano([1, 1, 1])]), "month_day_nano_interval"),
        (pa.array([[pa.MonthDayNano([1, 1, 1])]]), "list<item: month_day_nano_interval>"),
    ],
    ids=["run ends", "interval", "intervals"],
)
def test_a_type_that_nothing_can_be_done_with(values: pa.Array, name: str) -> None:
    events = pa.table({"kind": ["A"], "t": [1], "x": values})
    with pytest.raises(InputError) as caught:
        fyke.match(events, "PATTERN A a", time="t", type="kind")
    assert str(caught.value) == (
        f"Fyke cannot take the column 'x' of type {name}\nDrop or cast it before matching."
    )


@pytest.mark.parametrize("name", VALUES)
def test_a_slice_of_a_table_is_a_table(name: str) -> None:
    """A part of a table shares its memory, and begins somewhere in the middle of it."""
    values = pa.chunked_array([VALUES[name]] * 4).combine_chunks()
    kinds = pa.array(["A", "B"] * 4)
    whole = pa.table({"kind": kinds, "t": range(8), "x": values, "y": values})
    part = whole.slice(3, 4)
    alone = pa.table({each: pa.array(part[each].to_pylist(), part[each].type) for each in part.column_names})
    for where in ("a.t < b.t", "a.x = b.y", "[x]"):
        query = f"PATTERN SEQ(B a, B b) WHERE skip_till_any_match {{ {where} }} WITHIN 5"
        for engine in ("automaton", "lazy_chain"):
            with suppress(TypeClashError, UnsupportedQueryError):
                found = [
                    fyke.match(each, query, time="t", type="kind", engine=engine) for each in (part, alone)
                ]
                assert found[0].to_pylist() == found[1].to_pylist()
                assert found[0].num_rows == int(name != "null" or where == "a.t < b.t")
