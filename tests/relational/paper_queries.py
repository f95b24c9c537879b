"""The fifteen queries of [T] as the thesis prints them, with small streams and answers worked out by hand.

Time is in seconds.  Where the thesis leaves a number X open, or shows conditions only (queries 7 to 9), the
rest is that of query 5.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import pyarrow as pa

NAMES = """a.name = "IBM" AND b.name = "Google" AND
    c.name = "Sun" AND d.name = "Oracle" AND
    e.name = "Microsoft" AND f.name = "Yahoo" AND"""


def six(conditions: str, structure: str = "abcdef", window: int = 20) -> str:
    """Return a query over six events of the stream S."""
    return f"""SELECT *
PATTERN {structure}
FROM [RANGE {window} SEC] S : a,b,c,d,e,f
WHERE SKIP_TIL_ANY(a,b,c,d,e,f) {{
    {NAMES}
    {conditions} }}"""


class PaperQuery(NamedTuple):
    """A query, its events as rows of (stream, time, id, name, price, type, volume), and the result.

    For a pattern the result is the ids of the events of each match in order; for a relational query it
    is the rows without their names.
    """

    text: str
    events: list[tuple[Any, ...]]
    expected: list[Any]


COMPANIES = ("IBM", "Google", "Sun", "Oracle", "Microsoft", "Yahoo")
COLUMNS = ("stream", "t", "id", "name", "price", "type", "volume")


def trades(*changed: tuple[int, str, int], extra: tuple[tuple[Any, ...], ...] = ()) -> list[tuple[Any, ...]]:
    """Return one trade of each company, a second apart, with price, type and volume 500 but for changes."""
    rows = [
        {"stream": "S", "t": n, "id": "abcdef"[n], "name": name, "price": 500, "type": 500, "volume": 500}
        for n, name in enumerate(COMPANIES)
    ]
    for number, column, value in changed:
        rows[number][column] = value
    return [*(tuple(row[column] for column in COLUMNS) for row in rows), *extra]


def table(events: list[tuple[Any, ...]]) -> pa.Table:
    return pa.Table.from_pylist([dict(zip(COLUMNS, event, strict=True)) for event in events])


def _quote(stream: str, t: int, name: str, price: int) -> tuple[Any, ...]:
    return (stream, t, f"{name[0]}{t}", name, price, 0, 0)


RISING = [(n, column, 100 * (n + 1)) for n in range(6) for column in ("price", "type", "volume")]

QUERIES = {
    1: PaperQuery(
        """S1: SELECT SUM(price) , MAX(price)
FROM [RANGE 10 SEC SLIDE 5 ] S1
WHERE S1.name = "IBM" """,
        [
            _quote("S1", 1, "IBM", 10),
            _quote("S1", 3, "IBM", 20),
            _quote("S1", 6, "Sun", 99),
            _quote("S1", 12, "IBM", 40),
        ],
        # Windows start every 5 seconds and are 10 long; that of -5 has the events before 5.
        [(-5, 4, 30, 20), (0, 9, 30, 20), (5, 14, 40, 40), (10, 19, 40, 40)],
    ),
    2: PaperQuery(
        """SELECT *
PATTERN ab+c
FROM [RANGE 2 SEC] S: a,b,c
WHERE SKIP_TIL_ANY(a,b,c) {
    a.name = "IBM" AND b.name = "Sun" AND c.name = "Oracle"
}""",
        [
            _quote("S", 0, "IBM", 1),
            _quote("S", 1, "Sun", 1),
            _quote("S", 2, "Oracle", 1),
            _quote("S", 3, "Oracle", 1),  # 3 seconds after IBM
        ],
        ["I0 S1 O2"],
    ),
    3: PaperQuery(
        """SELECT S1.price
FROM [RANGE 5 SEC] S1 ; S2 ; S3
WHERE S1.name = "IBM" AND S2.name = "Sun" AND S3.name = "Oracle"
      AND S1.price < S2.price AND S2.price < S3.price""",
        [
            _quote("S3", 0, "Oracle", 30),  # any order of time
            _quote("S1", 2, "IBM", 10),
            _quote("S2", 5, "Sun", 20),
            _quote("S1", 6, "IBM", 15),  # 6 seconds after Oracle
            _quote("S2", 4, "Sun", 5),  # not above IBM
            _quote("S2", 3, "IBM", 20),  # no Sun
        ],
        [(0, 5, 10)],
    ),
    4: PaperQuery(
        """SELECT *
FROM [RANGE 10 SEC] S1 ; S2 ; S3 ; S4
WHERE S1.price = S2.price AND S3.price = S4.price""",
        [
            _quote("S4", 0, "d", 7),
            _quote("S2", 3, "b", 5),
            _quote("S3", 6, "c", 7),
            _quote("S1", 10, "a", 5),
            _quote("S1", 11, "a", 5),  # 11 seconds after d
        ],
        [(0, 10, "a10", "b3", "c6", "d0")],
    ),
    5: PaperQuery(
        six("a.price = d.price AND b.price = e.price AND\n    c.price = f.price"),
        trades((1, "price", 1), (4, "price", 1), extra=(("S", 6, "g", "Yahoo", 499, 500, 500),)),
        ["a b c d e f"],
    ),
    6: PaperQuery(
        six("a.price = b.price AND c.price = d.price AND\n    e.price = f.price"),
        trades((0, "price", 1), (1, "price", 1), extra=(("S", 20, "g", "Yahoo", 500, 500, 500),)),
        ["a b c d e f", "a b c d e g"],
    ),
    7: PaperQuery(
        six(
            "a.price < b.price AND a.price < c.price AND\n    a.price < d.price AND a.price < e.price AND\n"
            "    a.price < f.price"
        ),
        trades((0, "price", 1), extra=(("S", 6, "g", "Yahoo", 1, 0, 0),)),
        ["a b c d e f"],
    ),
    8: PaperQuery(
        six(
            "a.price < d.price AND b.price < d.price AND\n    c.price < d.price AND d.price < e.price AND\n"
            "    d.price < f.price"
        ),
        trades(*RISING, extra=(("S", 21, "g", "Yahoo", 900, 0, 0),)),  # too late
        ["a b c d e f"],
    ),
    9: PaperQuery(
        six(
            "a.price < f.price AND b.price < f.price AND\n    c.price < f.price AND d.price < f.price AND\n"
            "    e.price < f.price"
        ),
        trades(
            (5, "price", 501), extra=(("S", 7, "g", "Yahoo", 600, 0, 0), ("S", 8, "h", "Yahoo", 500, 0, 0))
        ),
        ["a b c d e f", "a b c d e g"],
    ),
    10: PaperQuery(
        six("a.volume < b.volume AND c.price < d.price AND\n    e.type < f.type", window=5),
        trades(*RISING, extra=(("S", 6, "g", "Yahoo", 900, 900, 900),)),
        ["a b c d e f"],
    ),
    11: PaperQuery(
        six("a.volume < d.volume AND c.price < f.price AND\n    b.type < e.type", window=50),
        trades(*RISING, extra=(("S", 50, "g", "Yahoo", 301, 0, 0), ("S", 49, "h", "Yahoo", 300, 0, 0))),
        ["a b c d e f", "a b c d e g"],
    ),
    12: PaperQuery(
        six("a.volume < d.volume AND c.price < f.price AND\n    b.price < 100", structure="ab+cdef"),
        # Two cheap trades of Google before Sun's: either, or both.
        [
            ("S", 0, "a", "IBM", 1, 1, 1),
            ("S", 1, "b", "Google", 99, 1, 1),
            ("S", 2, "B", "Google", 98, 1, 1),
            ("S", 3, "x", "Google", 100, 1, 1),
            *(("S", n + 2, "abcdef"[n], COMPANIES[n], n, n, n) for n in range(2, 6)),
        ],
        ["a B c d e f", "a b B c d e f", "a b c d e f"],
    ),
    13: PaperQuery(
        six(
            "a.volume < d.volume AND c.price < f.price AND\n    b.price < 100 AND e.price < 100",
            structure="ab+cde+f",
        ),
        [
            ("S", 0, "a", "IBM", 1, 1, 1),
            ("S", 1, "b", "Google", 99, 1, 1),
            *(("S", n, "abcdef"[n], COMPANIES[n], n, n, n) for n in range(2, 5)),
            ("S", 5, "E", "Microsoft", 50, 1, 1),
            ("S", 6, "f", "Yahoo", 9, 1, 1),
        ],
        ["a b c d E f", "a b c d e E f", "a b c d e f"],
    ),
    14: PaperQuery(
        six("a.volume < d.volume AND c.price < e.price AND\n    b.type < f.type", window=50),
        trades(*RISING, extra=(("S", 50, "g", "Yahoo", 0, 201, 0), ("S", 50, "h", "Yahoo", 0, 200, 0))),
        ["a b c d e f", "a b c d e g"],
    ),
    15: PaperQuery(
        six("b.type < f.type", window=50),
        trades((1, "type", 1), extra=(("S", 3, "h", "Oracle", 0, 0, 0), ("S", 2, "i", "Sun", 0, 0, 0))),
        ["a b c d e f", "a b c h e f", "a b i d e f", "a b i h e f"],
    ),
}
