"""Relational queries with what they say in Python, for random streams of points and of intervals."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import strategies as st

from tests.relational.naive import Case, Event

SCHEMA = pa.schema(
    [
        ("start", pa.int64()),
        ("end", pa.int64()),
        ("kind", pa.string()),
        ("name", pa.string()),
        ("price", pa.int64()),
    ]
)


def _equal(left: object, right: object) -> bool:
    return left is not None and left == right


def _below(left: int | None, right: int | None) -> bool:
    return left is not None and right is not None and left < right


def _total(group: list[tuple[Event, ...]], number: int = 0) -> int | None:
    prices = [events[number]["price"] for events in group if events[number]["price"] is not None]
    return sum(prices) if prices else None


CASES = {
    "selection": Case(
        "SELECT price, price + 1 AS more FROM [RANGE 4 SEC] A WHERE name = 'x'",
        ["A"],
        lambda a: a["name"] == "x",
        lambda a: (a["price"], None if a["price"] is None else a["price"] + 1),
        4,
    ),
    "equi-join": Case(
        "SELECT A.price, B.price FROM [RANGE 3 SEC] A; B WHERE A.name = B.name",
        ["A", "B"],
        lambda a, b: _equal(a["name"], b["name"]),
        lambda a, b: (a["price"], b["price"]),
        3,
    ),
    "theta-join": Case(
        "SELECT A.price, B.price FROM [RANGE 3 SEC] A; B WHERE A.price < B.price",
        ["A", "B"],
        lambda a, b: _below(a["price"], b["price"]),
        lambda a, b: (a["price"], b["price"]),
        3,
    ),
    "join of everything near": Case(
        "SELECT A.name AS one, B.name AS other FROM [RANGE 2 SEC] A; B",
        ["A", "B"],
        lambda a, b: True,
        lambda a, b: (a["name"], b["name"]),
        2,
    ),
    "three streams": Case(
        "SELECT A.price AS a, B.price AS b, C.price AS c FROM [RANGE 5 SEC] A; B; C "
        "WHERE A.price < C.price AND B.name = C.name",
        ["A", "B", "C"],
        lambda a, b, c: _below(a["price"], c["price"]) and _equal(b["name"], c["name"]),
        lambda a, b, c: (a["price"], b["price"], c["price"]),
        5,
    ),
    "stream with itself": Case(
        "SELECT one.price AS p, two.price AS q FROM [RANGE 3 SEC] A AS one; A AS two WHERE [name]",
        ["A", "A"],
        lambda a, b: _equal(a["name"], b["name"]),
        lambda a, b: (a["price"], b["price"]),
        3,
        key=lambda a, b: a["name"],
    ),
    "either of two": Case(
        "SELECT A.price, B.price FROM [RANGE 4 SEC] A; B WHERE A.price = B.price OR A.name = B.name",
        ["A", "B"],
        lambda a, b: _equal(a["price"], b["price"]) or _equal(a["name"], b["name"]),
        lambda a, b: (a["price"], b["price"]),
        4,
    ),
    "sliding": Case(
        "SELECT SUM(price), MAX(price), COUNT(*) FROM [RANGE 6 SEC SLIDE 2] A WHERE name = 'x'",
        ["A"],
        lambda a: a["name"] == "x",
        lambda group: (
            _total(group),
            max((a["price"] for (a,) in group if a["price"] is not None), default=None),
            len(group),
        ),
        6,
        2,
    ),
    "range no multiple of slide": Case(
        "SELECT MIN(price), COUNT(price) FROM [RANGE 5 SEC SLIDE 3 SEC] A",
        ["A"],
        lambda a: True,
        lambda group: (
            min((a["price"] for (a,) in group if a["price"] is not None), default=None),
            sum(a["price"] is not None for (a,) in group),
        ),
        5,
        3,
    ),
    "one after another, by name": Case(
        "SELECT name, SUM(price) FROM [RANGE 4 SEC] A WHERE [name]",
        ["A"],
        lambda a: a["name"] is not None,
        lambda group: (_total(group),),
        4,
        4,
        key=lambda a: a["name"],
    ),
    "aggregates of a join": Case(
        "SELECT SUM(A.price), SUM(B.price), COUNT(*) FROM [RANGE 6 SEC SLIDE 3] A; B WHERE A.name = B.name",
        ["A", "B"],
        lambda a, b: _equal(a["name"], b["name"]),
        lambda group: (_total(group), _total(group, 1), len(group)),
        6,
        3,
    ),
}


@st.composite
def _events(draw: st.DrawFn, lasting: bool, span: int) -> Event:
    start = draw(st.integers(-span, span))
    return {
        "start": start,
        "end": start + (draw(st.integers(0, 3)) if lasting else 0),
        "kind": draw(st.sampled_from("ABC")),
        "name": draw(st.sampled_from(["x", "y", None])),
        "price": draw(st.sampled_from([1, 2, 3, None])),
    }


def tables_of(least: int, span: int) -> st.SearchStrategy[pa.Table]:
    """Return tables of at least so many events, all points or not, that start within a span around 0."""

    def lists(lasting: bool) -> st.SearchStrategy[list[Event]]:
        return st.lists(_events(lasting=lasting, span=span), min_size=least, max_size=14)

    return st.booleans().flatmap(lists).map(lambda events: pa.Table.from_pylist(events, SCHEMA))


tables = tables_of(least=0, span=12)
