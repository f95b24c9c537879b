"""Random relational queries: the engine against the reference, and any text against the parser."""

from __future__ import annotations

import contextlib
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fyke
from fyke.errors import FykeError, LimitError, QueryError
from tests.relational.cases import CASES, SCHEMA, tables_of
from tests.relational.paper_queries import QUERIES, table
from tests.relational.test_tables import rows_of

SECONDS: dict[str, Any] = {"time": ("start", "end"), "type": "kind", "time_unit": "s"}


@st.composite
def queries(draw: st.DrawFn) -> str:
    """Return a join or an aggregation of one to three streams under random conditions."""
    count = draw(st.integers(1, 3))
    names = ["a", "b", "c"][:count]
    streams = "; ".join(f"{draw(st.sampled_from('ABC'))} AS {name}" for name in names)
    terms = [f"{name}.{column}" for name in names for column in ("price", "start", "end")]
    number = st.sampled_from([*terms, "2", "0"])
    sums = st.builds(lambda x, op, y: f"({x} {op} {y})", number, st.sampled_from("+-*/%"), number)
    tests = st.one_of(
        st.builds(
            lambda x, op, y: f"{x} {op} {y}",
            st.one_of(number, sums),
            st.sampled_from(["=", "!=", "<", ">="]),
            number,
        ),
        st.builds(lambda x, y: f"{x}.name = {y}.name", st.sampled_from(names), st.sampled_from(names)),
        st.builds(lambda x: f"{x}.name IN ('x', NULL)", st.sampled_from(names)),
        st.builds(lambda x, y: f"({x} IS NULL OR NOT {y} BETWEEN 1 AND 2)", number, number),
        st.just("[name]"),
    )
    where = draw(st.lists(tests, max_size=2, unique=True))
    window = draw(st.integers(2, 9))
    if draw(st.booleans()):
        functions = st.sampled_from(["SUM", "MIN", "MAX", "COUNT", "AVG"])
        items = draw(st.lists(st.builds(lambda f, x: f"{f}({x})", functions, number), min_size=1, max_size=2))
        slide = f" SLIDE {draw(st.integers(1, window))}" if draw(st.booleans()) else ""
    else:
        items, slide = draw(st.lists(st.one_of(number, sums), min_size=1, max_size=2)), ""
    selected = ", ".join(f"{item} AS i{n}" for n, item in enumerate(items))
    text = f"SELECT {selected} FROM [RANGE {window} SEC{slide}] {streams}"
    return text + (f" WHERE {' AND '.join(where)}" if where else "")


@settings(max_examples=300, deadline=None)
@given(text=queries(), events=tables_of(least=8, span=5))
def test_engine_and_reference_agree(text: str, events: pa.Table) -> None:
    found = fyke.match(events, text, **SECONDS)
    expected = fyke.reference.match(events, text, **SECONDS)
    assert found.schema == expected.schema
    assert rows_of(found) == rows_of(expected)


@settings(max_examples=100, deadline=None)
@given(text=queries())
def test_text_comes_back(text: str) -> None:
    query = fyke.parse(text)
    assert fyke.parse(str(query)) == query


@pytest.mark.parametrize("number", QUERIES)
def test_reference_on_the_queries_of_the_paper(number: int) -> None:
    options: dict[str, Any] = {"time": "t", "type": "stream", "time_unit": "s"}
    events = table(QUERIES[number].events)
    found = fyke.match(events, QUERIES[number].text, **options)
    expected = fyke.reference.match(events, QUERIES[number].text, **options)
    assert sorted(map(repr, found.to_pylist())) == sorted(map(repr, expected.to_pylist()))


WORDS = [
    *[
        "SELECT",
        "FROM",
        "[",
        "]",
        "RANGE",
        "SLIDE",
        "10",
        "SEC",
        "PATTERN",
        "WHERE",
        "S1",
        ";",
        ":",
        ",",
        "*",
        "ab+c",
        "a.x",
        '"',
        "'",
        "`",
        "(",
        ")",
        "{",
        "}",
        "SUM",
        "AND",
        "AS",
    ]
]


@settings(max_examples=300, deadline=None)
@given(words=st.lists(st.one_of(st.sampled_from(WORDS), st.text(max_size=3)), max_size=12))
def test_any_text_is_a_query_or_an_error_of_the_query(words: list[str]) -> None:
    for text in (" ".join(["SELECT", *words]), " ".join(["A: SELECT * FROM [RANGE 1 SEC]", *words])):
        failures: list[QueryError] = []
        try:
            fyke.parse(text)
        except QueryError as error:
            failures.append(error)
        assert all(error.place is not None for error in failures)
        with contextlib.suppress(FykeError):
            fyke.program(text)


def test_limits_on_what_a_join_or_a_slide_may_cost() -> None:
    rows = [{"start": 0, "end": 0, "kind": "A", "name": "x", "price": n} for n in range(100)]
    events = pa.Table.from_pylist(rows, SCHEMA)
    limits = fyke.Limits(matches=5_000)
    for text, what in (
        ("SELECT a.price AS x FROM [RANGE 1 SEC] A AS a; A AS b", "the join has more than 5000 events"),
        ("SELECT SUM(price) FROM [RANGE 100 SEC SLIDE 1] A", "the windows have more than 5000 events"),
    ):
        with pytest.raises(LimitError) as caught:
            fyke.match(events, text, limits=limits, **SECONDS)
        assert caught.value.message == what
        assert caught.value.limit == "matches"


@pytest.mark.parametrize(
    "limits",
    [fyke.Limits(steps=9_000), fyke.Limits(buffer_bytes=200_000), fyke.Limits(seconds=1e-9)],
    ids=["steps", "buffer_bytes", "seconds"],
)
def test_limits_on_the_work_memory_and_time_of_a_join(limits: fyke.Limits, request: Any) -> None:
    rows = [{"start": 0, "end": 0, "kind": "A", "name": "x", "price": n} for n in range(100)]
    events = pa.Table.from_pylist(rows, SCHEMA)
    text = "SELECT a.price AS x FROM [RANGE 1 SEC] A AS a; A AS b"
    assert fyke.match(events, text, **SECONDS).num_rows == 10_000
    with pytest.raises(LimitError, match="was exceeded by the pairs of events of the join") as caught:
        fyke.match(events, text, limits=limits, **SECONDS)
    assert caught.value.limit == request.node.callspec.id


def test_explain_and_matcher() -> None:
    events = SCHEMA.empty_table()
    assert fyke.explain(events, CASES["aggregates of a join"].text, **SECONDS).split("\n")[4:] == [
        "join, by Arrow",
        "--------------",
        "  stream   A: A",
        "  stream   B: B",
        "  on       A.name = B.name",
        "  within   6 seconds, from the first start to the last end",
        "",
        "aggregation",
        "-----------",
        "  window   6 seconds long, and whole events only",
        "  every    3 seconds",
        "  one row  a window",
        "  item     sum(A.price)",
        "  item     sum(B.price)",
        "  item     count(*)",
    ]
    assert fyke.matcher(CASES["selection"].text, **SECONDS)(events).num_rows == 0


def test_rows_without_a_time_are_told_of() -> None:
    events = pa.table({"t": pa.array([1, None, 3]), "x": [1, 2, 3]})
    text = "SELECT x FROM [RANGE 1 SEC] S"
    with pytest.warns(fyke.RejectedRowsWarning, match="1 of 3 rows have no time"):
        assert fyke.match(events, text, time="t", time_unit="s").num_rows == 2
    metrics = fyke.Metrics()
    fyke.match(events, text, time="t", time_unit="s", metrics=metrics)
    counted = metrics.get()
    told = fyke.explain(events, text, time="t", time_unit="s", metrics=metrics).split("\n")
    assert told[-4:-2] == ["observed", "--------"]
    assert told[-2] == f"  read     {counted['events_read']} events of {counted['rows']} rows"
    assert told[-1] == f"  made     {counted['matches']} rows"
    assert (counted["rows"], counted["rejected_rows"], counted["matches"]) == (3, 1, 2)
