"""Prepared mistakes: a query that matches, the same with one mistake, and the cause that must be named."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa


@dataclass(frozen=True)
class Case:
    """``wrong`` and ``changed`` are the mistake: in the query, or in the options or events of the call."""

    name: str
    cause: str
    right: str
    wrong: str
    events: pa.Table | dict[str, pa.Table]
    options: dict[str, Any] = field(default_factory=dict)
    changed: dict[str, Any] = field(default_factory=dict)
    damaged: pa.Table | dict[str, pa.Table] | None = None
    says: str = ""
    change: str = ""
    ask: dict[str, Any] = field(default_factory=dict)


def table(*rows: tuple[Any, ...], names: str = "kind tag price at") -> pa.Table:
    return pa.Table.from_pylist([dict(zip(names.split(), row, strict=True)) for row in rows])


SHOP = table(
    ("Shelf", "t1", 9.5, 0),
    ("Shelf", "t2", 20.0, 2),
    ("Register", "t2", 20.0, 6),
    ("Scale", "t1", 9.5, 7),
    ("Exit", "t1", 9.5, 9),
    ("Exit", "t2", 20.0, 11),
    ("Shelf", "t3", 40.0, 30),
    ("Register", "t3", 40.0, 33),
    ("Exit", "t3", 42.0, 38),
)
THEFT = "PATTERN SEQ(Shelf a, ~Register b, Exit c) WHERE { [tag] } WITHIN 12"
SALE = "PATTERN SEQ(Shelf a, Register b, Exit c) WHERE { [tag] } WITHIN 12"
LOGIN = table(
    ("fail", "ann", "10.0.0.9", 0),
    ("fail", "ann", "10.0.0.9", 4),
    ("fail", "ann", "10.0.0.9", 8),
    ("login", "ann", "10.0.0.9", 12),
    ("login", "bob", "10.0.0.2", 20),
    ("fail", "bob", "10.0.0.2", 90),
    ("export", "ann", "10.0.0.9", 30),
    ("logout", "ann", "10.0.0.9", 60),
    names="kind user ip at",
)
BRUTE = "PATTERN SEQ(fail{3,} f[], login a) WHERE { [user] } WITHIN 20"
LETTERS = pa.table({"kind": list("AxBCBC"), "at": range(6)})
TICKS = pa.table(
    {
        "kind": ["T"] * 8,
        "symbol": ["S"] * 8,
        "price": [10.0, 11.0, 12.0, 13.0, 9.0, 9.5, 8.0, 7.0],
        "volume": [900, 950, 980, 990, 100, 90, 80, 70],
        "at": range(8),
    }
)
RISE = """
PATTERN SEQ(T+ a[], T b)
WHERE { [symbol] AND a[i].price > a[i-1].price AND a.len >= 3 AND b.volume < 200 }
WITHIN 10
"""
DAY = datetime(2026, 3, 1, 8)
STAMPED = pa.table(
    {
        "kind": ["start", "stop", "start", "stop"],
        "unit": ["m1", "m1", "m2", "m2"],
        "heat": [50, 70, 40, 95],
        "ts": [DAY, DAY + timedelta(minutes=40), DAY + timedelta(hours=2), DAY + timedelta(hours=3)],
    }
)
RUN = "PATTERN SEQ(start a, stop b) WHERE { [unit] } WITHIN 1 hour"
LASTING = table(
    ("brew", "k1", 0, 5),
    ("fill", "k1", 5, 9),
    ("pack", "k1", 12, 15),
    names="kind tank since until",
)
BREW = "PATTERN SEQ(brew a, fill b) WHERE { [tank] } WITHIN 20"


def with_value(events: pa.Table, column: str, row: int, value: Any) -> pa.Table:
    values = events.column(column).to_pylist()
    values[row] = value
    return events.set_column(
        events.column_names.index(column), column, pa.array(values, events.schema.field(column).type)
    )


def with_values(events: pa.Table, column: str, rows: list[int], value: Any) -> pa.Table:
    for row in rows:
        events = with_value(events, column, row, value)
    return events


POINTS = {"time": "at", "type": "kind"}
STAMPS = {"time": "ts", "type": "kind"}

CASES = [
    # --- types
    Case(
        "a typo in a type",
        "missing_type",
        SALE,
        SALE.replace("Register", "Regster"),
        SHOP,
        POINTS,
        change="Register b",
    ),
    Case(
        "a type in the wrong case",
        "missing_type",
        SALE,
        SALE.replace("Exit", "exit"),
        SHOP,
        POINTS,
        change="Exit c",
    ),
    Case(
        "type and variable swapped",
        "missing_type",
        SALE,
        SALE.replace("Shelf a", "a Shelf"),
        SHOP,
        POINTS,
        says="the type comes first",
    ),
    Case(
        "two typos",
        "missing_type",
        SALE,
        SALE.replace("Shelf", "Self").replace("Exit", "Exits"),
        SHOP,
        POINTS,
        change="Exit c",
    ),
    Case(
        "a type with a blank in the data",
        "missing_type",
        THEFT,
        THEFT,
        SHOP,
        POINTS,
        damaged=with_values(SHOP, "kind", [4, 5, 8], "Exit "),
        change="Exit ",
    ),
    Case(
        "types that are null",
        "missing_type",
        THEFT,
        THEFT,
        SHOP,
        POINTS,
        damaged=with_values(SHOP, "kind", [4, 5, 8], None),
        says="3 events have no type",
    ),
    Case(
        "a type that is quite another",
        "missing_type",
        SALE,
        SALE.replace("Register", "Payment"),
        SHOP,
        POINTS,
        says="'Payment'",
    ),
    Case(
        "the wrong type of several",
        "type",
        SALE,
        SALE.replace("Register", "Scale"),
        table(
            ("Shelf", "t1", 1.0, 0),
            ("Register", "t1", 1.0, 5),
            ("Exit", "t1", 1.0, 9),
            ("Scale", "t2", 2.0, 50),
        ),
        POINTS,
        change="Register b",
    ),
    Case(
        "a typo in a type of a group",
        "missing_type",
        BRUTE,
        BRUTE.replace("fail{", "fails{"),
        LOGIN,
        POINTS,
        change="fail{3,} f[]",
    ),
    # --- names in conditions
    Case(
        "swapped variables in a comparison",
        "condition",
        SALE.replace("[tag]", "[tag] AND a.price <= c.price"),
        SALE.replace("[tag]", "[tag] AND a.price > c.price"),
        SHOP,
        POINTS,
        says="other way round",
    ),
    Case(
        "swapped variables in a difference",
        "condition",
        SALE.replace("[tag]", "[tag] AND c.at - a.at > 5"),
        SALE.replace("[tag]", "[tag] AND a.at - c.at > 5"),
        SHOP,
        POINTS,
        says="a.at - c.at > 5",
    ),
    # --- window
    Case("a window too short", "window", SALE, SALE.replace("12", "5"), SHOP, POINTS, change="WITHIN 8"),
    Case("a window much too short", "window", SALE, SALE.replace("12", "2"), SHOP, POINTS, change="WITHIN 8"),
    Case(
        "minutes instead of hours",
        "window",
        RUN,
        RUN.replace("hour", "minute"),
        STAMPED,
        STAMPS,
        change="WITHIN 40 minutes",
    ),
    Case(
        "seconds in a column of milliseconds",
        "window",
        "PATTERN SEQ(A a, B b) WITHIN 12000",
        "PATTERN SEQ(A a, B b) WITHIN 12",
        pa.table({"kind": ["A", "B"], "at": [0, 9000]}),
        POINTS,
        says="unit",
    ),
    Case(
        "too few events in the window",
        "window",
        "PATTERN SEQ(A a, C c) WITHIN 4 EVENTS",
        "PATTERN SEQ(A a, C c) WITHIN 3 EVENTS",
        LETTERS,
        POINTS,
        change="WITHIN 4 EVENTS",
    ),
    Case(
        "a window too short for a group",
        "window",
        BRUTE,
        BRUTE.replace("20", "6"),
        LOGIN,
        POINTS,
        change="WITHIN 12",
    ),
    Case(
        "a window too short under any match",
        "window",
        SALE.replace("{", "skip_till_any_match {"),
        SALE.replace("{", "skip_till_any_match {").replace("12", "7"),
        SHOP,
        POINTS,
        change="WITHIN 8",
    ),
    # --- ties
    Case(
        "two events of one time",
        "tie",
        "PATTERN SEQ(A a, B b) WITHIN 5",
        "PATTERN SEQ(A a, B b) WITHIN 5",
        pa.table({"kind": ["A", "B"], "at": [3, 4]}),
        POINTS,
        damaged=pa.table({"kind": ["A", "B"], "at": [3, 3]}),
        says="A and B",
    ),
    Case(
        "a coarse clock",
        "tie",
        SALE,
        SALE,
        SHOP,
        POINTS,
        damaged=SHOP.set_column(3, "at", pa.array([0, 0, 0, 0, 0, 10, 20, 30, 30])),
        says="tie_breaker",
    ),
    Case(
        "no tie-breaker",
        "tie",
        "PATTERN SEQ(A a, B b, C c) WITHIN 5",
        "PATTERN SEQ(A a, B b, C c) WITHIN 5",
        pa.table({"kind": ["A", "B", "C"], "id": [1, 2, 3], "at": [3, 3, 4]}),
        {**POINTS, "tie_breaker": "id"},
        changed={"tie_breaker": None},
    ),
    Case(
        "dates instead of times",
        "tie",
        RUN.replace("1 hour", "1 day"),
        RUN.replace("1 hour", "1 day"),
        STAMPED,
        STAMPS,
        damaged=STAMPED.set_column(3, "ts", STAMPED["ts"].cast(pa.timestamp("s")).cast(pa.date32())),
    ),
    # --- keys
    Case(
        "a null key",
        "null_key",
        SALE,
        SALE,
        SHOP.slice(6),
        POINTS,
        damaged=with_value(SHOP.slice(6), "tag", 1, None),
        says="tag is null",
    ),
    Case(
        "keys that are all null",
        "null_key",
        RUN,
        RUN,
        STAMPED,
        STAMPS,
        damaged=with_values(STAMPED, "unit", [0, 1, 2, 3], None),
    ),
    Case("the wrong key", "key", SALE, SALE.replace("[tag]", "[price]"), SHOP.slice(6), POINTS, says="price"),
    Case(
        "keys that differ in capitals",
        "key",
        RUN,
        RUN,
        STAMPED,
        STAMPS,
        damaged=with_value(with_value(STAMPED, "unit", 1, "M1"), "unit", 3, "M2"),
        says="capital letters",
    ),
    Case(
        "one key too many",
        "key",
        "PATTERN SEQ(fail a, login b) WHERE { [user] } WITHIN 15",
        "PATTERN SEQ(fail a, login b) WHERE { [user, ip] } WITHIN 15",
        with_value(LOGIN, "ip", 3, "10.0.0.4"),
        POINTS,
        says="ip",
    ),
    Case(
        "an equality of keys that never holds",
        "condition",
        "PATTERN SEQ(fail a, login b) WHERE { a.user = b.user } WITHIN 15",
        "PATTERN SEQ(fail a, login b) WHERE { a.user = b.ip } WITHIN 15",
        LOGIN,
        POINTS,
        says="a.user = b.ip",
    ),
    # --- conditions
    Case(
        "a bound too high",
        "condition",
        SALE.replace("[tag]", "[tag] AND a.price > 30"),
        SALE.replace("[tag]", "[tag] AND a.price > 300"),
        SHOP,
        POINTS,
        change="a.price >= 40.0",
    ),
    Case(
        "a bound too low",
        "condition",
        SALE.replace("[tag]", "[tag] AND b.price < 50"),
        SALE.replace("[tag]", "[tag] AND b.price < 5"),
        SHOP,
        POINTS,
        change="b.price <= 20.0",
    ),
    Case(
        "a name in capitals",
        "condition",
        "PATTERN SEQ(fail a, login b) WHERE { a.user = 'ann' AND b.user = 'ann' } WITHIN 15",
        "PATTERN SEQ(fail a, login b) WHERE { a.user = 'ann' AND b.user = 'Ann' } WITHIN 15",
        LOGIN,
        POINTS,
        says="capital letters",
    ),
    Case(
        "a typo in a value",
        "condition",
        "PATTERN login a WHERE { a.ip = '10.0.0.9' }",
        "PATTERN login a WHERE { a.ip = '10.0.9' }",
        LOGIN,
        POINTS,
        change="'10.0.0.9'",
    ),
    Case(
        "an empty LIKE",
        "condition",
        "PATTERN login a WHERE { a.ip LIKE '10.%' }",
        "PATTERN login a WHERE { a.ip LIKE '11.%' }",
        LOGIN,
        POINTS,
        says="a.ip is",
    ),
    Case(
        "an IN without the value",
        "condition",
        "PATTERN login a WHERE { a.user IN ('ann', 'bob') }",
        "PATTERN login a WHERE { a.user IN ('cleo', 'dan') }",
        LOGIN,
        POINTS,
        says="'ann'",
    ),
    Case(
        "a BETWEEN beside the values",
        "condition",
        RUN.replace("[unit]", "[unit] AND b.heat BETWEEN 60 AND 80"),
        RUN.replace("[unit]", "[unit] AND b.heat BETWEEN 10 AND 20"),
        STAMPED,
        STAMPS,
        says="b.heat is",
    ),
    Case(
        "a condition across events",
        "condition",
        RUN.replace("[unit]", "[unit] AND b.heat > a.heat + 10"),
        RUN.replace("[unit]", "[unit] AND b.heat > a.heat + 100"),
        STAMPED,
        STAMPS,
        says="95 > 140",
    ),
    Case(
        "a condition on elements",
        "condition",
        RISE,
        RISE.replace("a[i].price > a[i-1].price", "a[i].price > 2 * a[i-1].price"),
        TICKS,
        POINTS,
        says="a[i].price > 2 * a[i-1].price",
    ),
    Case(
        "a condition on a length",
        "condition",
        RISE,
        RISE.replace("a.len >= 3", "a.len >= 6"),
        TICKS,
        POINTS,
        says="a.len >= 6",
    ),
    Case(
        "a condition on an aggregate",
        "condition",
        "PATTERN SEQ(T{3} a[], T b) WHERE { avg(a[].price) > 10 } WITHIN 10",
        "PATTERN SEQ(T{3} a[], T b) WHERE { avg(a[].price) > 100 } WITHIN 10",
        TICKS,
        POINTS,
        says="12.0 > 100",
    ),
    Case(
        "a disjunction that never holds",
        "condition",
        RUN.replace("[unit]", "[unit] AND (a.heat > 45 OR b.heat > 90)"),
        RUN.replace("[unit]", "[unit] AND (a.heat > 450 OR b.heat > 900)"),
        STAMPED,
        STAMPS,
        says="a.heat > 450 OR b.heat > 900",
    ),
    Case(
        "an impossible condition",
        "contradiction",
        RUN.replace("[unit]", "[unit] AND a.heat > 30 AND a.heat < 60"),
        RUN.replace("[unit]", "[unit] AND a.heat > 60 AND a.heat < 30"),
        STAMPED,
        STAMPS,
    ),
    Case(
        "an impossible computation",
        "condition",
        RUN.replace("[unit]", "[unit] AND a.heat + 1 > a.heat"),
        RUN.replace("[unit]", "[unit] AND a.heat > a.heat + 1"),
        STAMPED,
        STAMPS,
        says="a.heat > a.heat + 1",
    ),
    Case(
        "a test for null written with =",
        "null_value",
        RUN.replace("[unit]", "[unit] AND a.heat IS NOT NULL"),
        RUN.replace("[unit]", "[unit] AND a.heat != NULL"),
        STAMPED,
        STAMPS,
        says="nothing equals NULL",
    ),
    Case(
        "values that are null",
        "null_value",
        RUN.replace("[unit]", "[unit] AND b.heat > 60"),
        RUN.replace("[unit]", "[unit] AND b.heat > 60"),
        STAMPED,
        STAMPS,
        damaged=with_values(STAMPED, "heat", [1, 3], None),
        says="b.heat is null",
    ),
    Case(
        "IS NULL of values that are there",
        "condition",
        RUN.replace("[unit]", "[unit] AND b.heat IS NOT NULL"),
        RUN.replace("[unit]", "[unit] AND b.heat IS NULL"),
        STAMPED,
        STAMPS,
        says="b.heat is",
    ),
    Case(
        "AND where OR was meant",
        "condition",
        "PATTERN SEQ(login a, logout b) WHERE { [user] AND a.at > 5 } WITHIN 60",
        "PATTERN SEQ(login a, logout b) WHERE { [user] AND a.at > 5 AND b.ip = '10.0.0.2' } WITHIN 60",
        LOGIN,
        POINTS,
        says="b.ip = '10.0.0.2'",
    ),
    Case(
        "a time before all events",
        "condition",
        RUN.replace("[unit]", "[unit] AND a.ts > TIMESTAMP '2026-02-01 00:00:00'"),
        RUN.replace("[unit]", "[unit] AND a.ts < TIMESTAMP '2026-02-01 00:00:00'"),
        STAMPED,
        STAMPS,
        says="2026-02-01",
    ),
    # --- order
    Case(
        "the wrong order",
        "order",
        SALE,
        "PATTERN SEQ(Register a, Shelf b, Exit c) WHERE { [tag] } WITHIN 12",
        SHOP.slice(6),
        POINTS,
        change="SEQ(Shelf b, Register a, Exit c)",
    ),
    Case(
        "the first and the last swapped",
        "order",
        "PATTERN SEQ(login a, logout b) WHERE { [user] } WITHIN 60",
        "PATTERN SEQ(logout a, login b) WHERE { [user] } WITHIN 60",
        LOGIN,
        POINTS,
        change="SEQ(login b, logout a)",
    ),
    Case(
        "events that touch",
        "touching",
        BREW,
        BREW,
        LASTING,
        {"time": ("since", "until"), "type": "kind", "touching": "before"},
        changed={"touching": None},
        change="touching='before'",
    ),
    # --- strategies
    Case(
        "contiguity over a gap",
        "strategy",
        "PATTERN SEQ(A a, B b)",
        "PATTERN SEQ(A a, B b) WHERE partition_contiguity { }",
        LETTERS,
        POINTS,
        says="x at 1",
    ),
    Case(
        "strict where the partition was meant",
        "strategy",
        "PATTERN SEQ(start a, stop b) WHERE partition_contiguity { [unit] } WITHIN 2 hours",
        "PATTERN SEQ(start a, stop b) WHERE strict_contiguity { [unit] } WITHIN 2 hours",
        pa.table(
            {
                "kind": ["start", "start", "stop", "stop"],
                "unit": ["m1", "m2", "m1", "m2"],
                "ts": [DAY + timedelta(minutes=m) for m in (0, 5, 9, 14)],
            }
        ),
        STAMPS,
        change="partition_contiguity",
    ),
    Case(
        "the next event leads nowhere",
        "strategy",
        "PATTERN SEQ(A a, B b, C c) WHERE skip_till_any_match { b.x = c.x }",
        "PATTERN SEQ(A a, B b, C c) WHERE skip_till_next_match { b.x = c.x }",
        pa.table({"kind": list("ABBC"), "x": [0, 1, 2, 2], "at": range(4)}),
        POINTS,
        change="skip_till_any_match",
    ),
    Case(
        "a greedy streak that does not end right",
        "strategy",
        "PATTERN A+ a[] WHERE partition_contiguity { a.len = 2 AND a[1].at = 0 }",
        "PATTERN A+ a[] WHERE greedy_partition_contiguity { a.len = 2 AND a[1].at = 0 }",
        pa.table({"kind": list("AAAB"), "at": range(4)}),
        POINTS,
        change="partition_contiguity",
    ),
    # --- groups
    Case(
        "too many repetitions",
        "count",
        BRUTE,
        BRUTE.replace("{3,}", "{5,}"),
        LOGIN,
        POINTS,
        change="fail{3,} f[]",
    ),
    Case(
        "an exact number that is too high",
        "count",
        BRUTE.replace("{3,}", "{3}"),
        BRUTE.replace("{3,}", "{4}"),
        LOGIN,
        POINTS,
        says="no more than 3",
    ),
    Case(
        "too few repetitions allowed",
        "count",
        "PATTERN SEQ(A a, B{1,3} b[], C c) WHERE strict_contiguity { }",
        "PATTERN SEQ(A a, B{1,2} b[], C c) WHERE strict_contiguity { }",
        pa.table({"kind": list("ABBBC"), "at": range(5)}),
        POINTS,
        says="at most 2",
    ),
    # --- absences
    Case(
        "an absence that always fires",
        "absence",
        THEFT,
        THEFT.replace("~Register", "~Shelf").replace("[tag]", "a.price = 9.5"),
        SHOP,
        POINTS,
        says="~Shelf b",
    ),
    Case(
        "an absence that lost its key",
        "absence",
        THEFT,
        "PATTERN SEQ(Shelf a, ~Register b, Exit c) WHERE { a.tag = c.tag } WITHIN 12",
        SHOP,
        POINTS,
        says="Register at",
    ),
    Case(
        "an absence at the end",
        "absence",
        "PATTERN SEQ(Shelf a, ~Register b) WHERE { [tag] } WITHIN 2",
        "PATTERN SEQ(Shelf a, ~Register b) WHERE { [tag] } WITHIN 12",
        SHOP.slice(6),
        POINTS,
        says="Register at 33",
    ),
    Case(
        "an absence at the start",
        "absence",
        "PATTERN SEQ(~Shelf b, Exit c) WHERE { [tag] } WITHIN 5",
        "PATTERN SEQ(~Shelf b, Exit c) WHERE { [tag] } WITHIN 20",
        SHOP,
        POINTS,
        says="Shelf at",
    ),
    Case(
        "windows that reach past the data",
        "complete_windows",
        "PATTERN SEQ(Shelf a, ~Register b) WHERE { [tag] } WITHIN 40",
        "PATTERN SEQ(Shelf a, ~Register b) WHERE { [tag] } WITHIN 40",
        SHOP,
        POINTS,
        changed={"complete_windows": True},
    ),
    # --- events and selections
    Case(
        "rows without a time",
        "no_time",
        RUN,
        RUN,
        STAMPED,
        STAMPS,
        damaged=with_values(STAMPED, "ts", [1, 3], None),
        says="'stop'",
    ),
    Case(
        "no row has a time",
        "no_time",
        RUN,
        RUN,
        STAMPED,
        STAMPS,
        damaged=with_values(STAMPED, "ts", [0, 1, 2, 3], None),
    ),
    Case("no events", "no_events", RUN, RUN, STAMPED, STAMPS, damaged=STAMPED.slice(0, 0)),
    Case("a key that is not there", "no_events", RUN, RUN, STAMPED, STAMPS, ask={"key": "m7"}),
    Case(
        "an interval that is empty",
        "no_events",
        RUN,
        RUN,
        STAMPED,
        STAMPS,
        ask={"between": ("2027-01-01", "2027-02-01")},
    ),
    Case(
        "a key without one of the types",
        "not_in_selection",
        SALE,
        SALE,
        SHOP,
        POINTS,
        ask={"key": "t1"},
        says="'Register'",
    ),
    Case(
        "an interval that cuts the match",
        "between",
        RUN,
        RUN,
        STAMPED,
        STAMPS,
        ask={"key": "m1", "between": (None, DAY + timedelta(minutes=30))},
        says="not all of it",
    ),
    Case(
        "a dict of tables with a typo in a value",
        "condition",
        "PATTERN SEQ(A a, B b) WHERE { a.v = 'x' } WITHIN 9",
        "PATTERN SEQ(A a, B b) WHERE { a.v = 'X' } WITHIN 9",
        {"A": pa.table({"v": ["x"], "at": [1]}), "B": pa.table({"w": [3], "at": [4]})},
        {"time": "at"},
        says="capital letters",
    ),
]
