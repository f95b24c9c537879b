"""Options and columns that do not fit: typed errors, word for word, never a raw one."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import fyke
from fyke.errors import InputError, OptionError, OutputNameError, TimeColumnError

EVENTS = pa.table({"kind": ["A", "B"], "t": [1, 2], "x": [1, 2]})
QUERY = "PATTERN SEQ(A a, B b)"
OPTIONS: dict[str, Any] = {"time": "t", "type": "kind"}

TIME = (
    "time must be the name of a column or a pair (start, end), found {}\n"
    "Give time='ts', or time=('start_ts', 'end_ts') for events that last."
)
FUNCTIONS = "Write, for example, functions={'distance': lambda x, y: (x * x + y * y) ** 0.5}."


class Callable_:
    """Callable, but no function that could be compiled."""

    def __call__(self, x: float) -> float:
        return x


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"time": None}, TIME.format("None")),
    ({"time": 5}, TIME.format("5")),
    ({"time": ("t", 5)}, TIME.format("('t', 5)")),
    ({"time": ["t"]}, TIME.format("['t']")),
    (
        {"type": 5},
        "type must be the name of a column, found 5\n"
        "Give type='kind', the column that says what kind of event a row is.",
    ),
    (
        {"type": ["kind"]},
        "type must be the name of a column, found ['kind']\n"
        "Give type='kind', the column that says what kind of event a row is.",
    ),
    (
        {"tie_breaker": 5},
        "tie_breaker must be the name of a column or a list of names, found 5\n"
        "Give tie_breaker='id', or tie_breaker=['line', 'id'].",
    ),
    (
        {"tie_breaker": ["x", 5]},
        "tie_breaker must be the name of a column or a list of names, found ['x', 5]\n"
        "Give tie_breaker='id', or tie_breaker=['line', 'id'].",
    ),
    (
        {"time_unit": ["s"]},
        "time_unit must be one of 's', 'ms', 'us', 'ns', found ['s']\n"
        "It says what one unit of an integer time column is.",
    ),
    (
        {"functions": {"g": 3}},
        f"functions must be a dict of functions by name, found 'g': 3\n{FUNCTIONS}",
    ),
    ({"functions": [3]}, f"functions must be a dict of functions by name, found [3]\n{FUNCTIONS}"),
    (
        {"functions": {5: math.sin}},
        f"functions must be a dict of functions by name, found 5: <built-in function sin>\n{FUNCTIONS}",
    ),
    (
        {"functions": {"g": max}},
        "function 'g' does not say how many numbers it takes\n"
        "Wrap it, as in functions={'g': lambda x, y: f(x, y)}.",
    ),
    (
        {"functions": {"g": lambda *x: 1.0}},
        "function 'g' does not say how many numbers it takes\n"
        "Wrap it, as in functions={'g': lambda x, y: f(x, y)}.",
    ),
    (
        {"functions": {"g": lambda: 1.0}},
        "function 'g' takes 0 arguments; one to 6 numbers are possible",
    ),
]


@pytest.mark.parametrize("options, text", WRONG, ids=lambda value: str(value)[:40])
def test_an_option_that_is_no_option(options: dict[str, Any], text: str) -> None:
    for call in (fyke.match, fyke.explain, fyke.statistics):
        with pytest.raises(OptionError) as caught:
            call(EVENTS, QUERY, **{**OPTIONS, **options})
        assert str(caught.value) == text
    with pytest.raises(OptionError) as caught:
        fyke.program(f"Q: {QUERY}").run(EVENTS, **{**OPTIONS, **options})
    assert str(caught.value) == text


@pytest.mark.parametrize(
    "array, stored",
    [
        (
            pa.ExtensionArray.from_storage(pa.uuid(), pa.array([b"a" * 16, b"b" * 16], pa.binary(16))),
            [b"a" * 16, b"b" * 16],
        ),
        (pa.ExtensionArray.from_storage(pa.bool8(), pa.array([1, 0], pa.int8())), [1, 0]),
        (pa.array([date(2024, 1, 1), None]).dictionary_encode(), [date(2024, 1, 1), None]),
    ],
    ids=["uuid", "bool8", "dictionary of dates"],
)
def test_columns_of_types_that_arrow_itself_cannot_compute_with(array: pa.Array, stored: list[Any]) -> None:
    odd = EVENTS.append_column("y", array)
    for query in (QUERY, f"{QUERY} WHERE {{ a.y IS NOT NULL }}", f"{QUERY} RETURN a.y AS a, b.y AS b"):
        found = fyke.match(odd, query, **OPTIONS)
        assert found.equals(fyke.reference.match(odd, query, **OPTIONS))
    assert [found["a"][0].as_py(), found["b"][0].as_py()] == stored


def test_a_call_without_a_time() -> None:
    for call in (fyke.explain, fyke.statistics, lambda events, query, **more: fyke.matcher(query, **more)):
        with pytest.raises(OptionError, match="found None"):
            call(EVENTS, QUERY, type="kind")
    with pytest.raises(OptionError, match="found 5"):
        fyke.rejected(EVENTS, time=5)  # type: ignore[arg-type]


def test_a_callable_that_is_no_function() -> None:
    with pytest.raises(OptionError, match=r"function 'g' cannot be compiled: .* is no function of Python"):
        fyke.match(EVENTS, QUERY, functions={"g": Callable_()}, **OPTIONS)


def test_a_limit_beyond_what_counters_hold() -> None:
    for name in ("steps", "runs", "matches", "buffer_bytes", "alternatives"):
        with pytest.raises(OptionError) as caught:
            fyke.Limits(**{name: 2**63})
        assert str(caught.value) == (
            f"limit '{name}' must be at most 2^63 - 1, found 9223372036854775808\n"
            "Nothing ever reaches that: it is as good as no limit."
        )
    limits = fyke.Limits(steps=2**63 - 1, runs=2**63 - 1, matches=2**63 - 1, buffer_bytes=2**63 - 1)
    for engine in ("automaton", "lazy_chain", "lazy_tree", "tree"):
        query = "PATTERN SEQ(A a, B b) WHERE skip_till_any_match { a.x < b.x }"
        assert fyke.match(EVENTS, query, limits=limits, engine=engine, **OPTIONS).num_rows == 1


# --- columns ----------------------------------------------------------------------------------------


def with_type(values: pa.Array) -> pa.Table:
    return EVENTS.set_column(0, "kind", values)


@pytest.mark.parametrize(
    "kinds, first, second",
    [
        (pa.array([1, 2]), '"1"', '"2"'),
        (pa.array([1, 2], pa.uint64()), '"1"', '"2"'),
        (pa.array([1, 2]).dictionary_encode(), '"1"', '"2"'),
        (pa.array([True, False]), '"true"', '"false"'),
        (pa.array([date(2026, 1, 1), date(2026, 1, 2)]), '"2026-01-01"', '"2026-01-02"'),
        (pa.array([b"A", b"B"]), "A", "B"),
        (pa.array(["A", "B"], pa.large_string()), "A", "B"),
    ],
    ids=lambda value: str(value.type) if isinstance(value, pa.Array) else "",
)
@pytest.mark.parametrize("engine", ["automaton", "lazy_chain", "tree"])
def test_types_that_are_no_strings(kinds: pa.Array, first: str, second: str, engine: str) -> None:
    """A type is named by its text; a name that is no number is that of no event."""
    events = with_type(kinds)
    pattern = f"PATTERN SEQ({first} a, {second} b) WHERE skip_till_any_match"
    found = fyke.match(events, pattern, engine=engine, **OPTIONS)
    assert [row["a"]["kind"] for row in found.to_pylist()] == [events["kind"][0].as_py()]
    assert found.schema.field("a").type.field("kind").type == events.schema.field("kind").type
    assert fyke.reference.match(events, pattern, **OPTIONS).equals(found)
    unheard = "PATTERN SEQ(Unheard a, Of b) WHERE skip_till_any_match"
    assert fyke.match(events, unheard, engine=engine, **OPTIONS).num_rows == 0


@pytest.mark.parametrize(
    "kinds",
    [
        pa.array([[1], [2]]),
        pa.array([1.0, 2.0]),
        pa.nulls(2),
        pa.array([{"a": 1}] * 2),
        pa.array([1, 2], pa.duration("s")),
    ],
    ids=lambda value: str(value.type),
)
@pytest.mark.parametrize("query", [QUERY, "SELECT * FROM [RANGE 5 SEC] A; B"], ids=["pattern", "relational"])
def test_types_without_a_text(kinds: pa.Array, query: str) -> None:
    more = {"time_unit": "s"} if query.startswith("SELECT") else {}
    with pytest.raises(InputError) as caught:
        fyke.match(with_type(kinds), query, **OPTIONS, **more)
    assert str(caught.value) == (
        f"type column 'kind' is {kinds.type}; event types are text, whole numbers, booleans or dates\n"
        "Cast it to a string, or name the column that says what kind of event a row is."
    )


@pytest.mark.parametrize("query", [QUERY, "SELECT * FROM [RANGE 5 SEC] A; B"], ids=["pattern", "relational"])
def test_types_of_bytes_that_are_no_text(query: str) -> None:
    more = {"time_unit": "s"} if query.startswith("SELECT") else {}
    with pytest.raises(InputError, match="the type column 'kind' is binary, and not all of it is text"):
        fyke.match(with_type(pa.array([b"A", b"\xff"])), query, **OPTIONS, **more)


def test_a_time_with_a_zone_beside_one_without() -> None:
    times = pa.array([1, 2])
    for zones in ((None, "UTC"), ("Europe/Paris", None)):
        columns = [times.cast(pa.timestamp("us", zone)) for zone in zones]
        events = pa.table({"s": columns[0], "e": columns[1]})
        kinds = [str(column.type) for column in columns]
        for call in (
            lambda given: fyke.match(given, "PATTERN A a", time=("s", "e")),
            lambda given: fyke.match(given, "SELECT s FROM [RANGE 1 SEC] A", time=("s", "e")),
            lambda given: fyke.rejected(given, time=("s", "e")),
        ):
            with pytest.raises(TimeColumnError) as caught:
                call(events)
            assert str(caught.value) == (
                f"start 's' is {kinds[0]} and end 'e' is {kinds[1]}\nCast both to the same type."
            )
    two_zones = pa.table(
        {"s": times.cast(pa.timestamp("us", "UTC")), "e": times.cast(pa.timestamp("us", "Asia/Tokyo"))}
    )
    assert fyke.match(two_zones, "PATTERN A a", time=("s", "e")).num_rows == 2


def test_two_columns_of_one_name() -> None:
    events = pa.table(
        [pa.array(["A", "B"]), pa.array([1, 2]), pa.array([1, 2]), pa.array([3, 4])], ["kind", "t", "x", "x"]
    )
    text = (
        "the events have 2 columns named 'x'\nRename all but one of them with rename_columns, or drop them."
    )
    calls: list[Callable[[], Any]] = [
        lambda: fyke.match(events, QUERY, **OPTIONS),
        lambda: fyke.match({"A": events, "B": events}, QUERY, time="t"),
        lambda: fyke.match(events, "SELECT t FROM [RANGE 1 SEC] A", time="t", time_unit="s"),
        lambda: fyke.rejected(events, time="t"),
        lambda: fyke.program(f"Q: {QUERY}").run(events, **OPTIONS),
    ]
    for call in calls:
        with pytest.raises(InputError) as caught:
            call()
        assert str(caught.value) == text


@pytest.mark.parametrize("name", ["__fyke_roles", "__fyke_number", "__fyke_d0", "__FYKE_x", "__fyke_type"])
def test_names_that_are_fykes_own(name: str) -> None:
    for renamed in (["kind", "t", name], ["kind", name, "x"], [name, "t", "x"]):
        events = EVENTS.rename_columns(renamed)
        for given, more in (
            (events, {"time": renamed[1], "type": renamed[0]}),
            ({"A": events, "B": events}, {"time": renamed[1]}),
        ):
            with pytest.raises(InputError) as caught:
                fyke.match(given, QUERY, **more)  # type: ignore[arg-type]
            assert str(caught.value) == (
                f"the events have a column '{name}', and names that begin with __fyke_ are Fyke's own\n"
                "Rename it."
            )


@pytest.mark.parametrize(
    "query, place",
    [
        ("PATTERN SEQ(A a, B b) RETURN a.x AS __fyke_metrics", "line 1, column 30"),
        ("PATTERN SEQ(A __fyke_roles, B b)", "line 1, column 13"),
        ("SELECT x AS __Fyke_x FROM [RANGE 1 SEC] A", "line 1, column 8"),
    ],
)
def test_results_with_names_that_are_fykes_own(query: str, place: str) -> None:
    more = {"time_unit": "s"} if query.startswith("SELECT") else {}
    with pytest.raises(OutputNameError, match="names that begin with __fyke_ are Fyke's own") as caught:
        fyke.match(EVENTS, query, **OPTIONS, **more)
    assert place in str(caught.value)


def test_a_unit_of_times_that_have_one() -> None:
    events = pa.table({"ts": pa.array([1, 2], pa.timestamp("us")), "x": [1, 2]})
    for query in ("PATTERN A a", "SELECT x FROM [RANGE 1 SEC] A"):
        with pytest.raises(OptionError) as caught:
            fyke.match(events, query, time="ts", time_unit="s")
        assert str(caught.value) == (
            "time_unit='s' has a meaning for integer times, and 'ts' is timestamp[us]\nLeave time_unit out."
        )


# --- unsigned integers and small decimals -----------------------------------------------------------

LARGE = pa.table(
    {
        "kind": ["A", "B"],
        "t": [1, 2],
        "x": pa.array([1, 2**63], pa.uint64()),
        "y": pa.array([7, 7], pa.uint64()),
    }
)


@pytest.mark.parametrize(
    "query",
    [
        "PATTERN SEQ(A a, B b) WHERE skip_till_any_match { a.x < b.x }",
        "PATTERN SEQ(A a, B b) WHERE { b.x > 5 }",
        "PATTERN SEQ(A a, B b) RETURN b.x + 1 AS s",
        "PATTERN B b RETURN max(b.x) AS s",
        "PATTERN B+ b[] RETURN sum(b[].x) AS s",
        "SELECT A.x + B.x AS s FROM [RANGE 5 SEC] A; B",
        "SELECT SUM(x) AS s FROM [RANGE 5 SEC] B",
        "SELECT t FROM [RANGE 5 SEC] B WHERE x > 5",
    ],
)
def test_whole_numbers_beyond_63_bits(query: str) -> None:
    more = {"time_unit": "s"} if query.startswith("SELECT") else {}
    with pytest.raises(InputError) as caught:
        fyke.match(LARGE, query, **OPTIONS, **more)
    assert str(caught.value) == (
        "the column 'x' is uint64 and holds 9223372036854775808; conditions and items take whole "
        "numbers up to 2^63 - 1\n"
        "Cast it to decimal128(20, 0), or to a string if it is a name."
    )


@pytest.mark.parametrize(
    "query",
    [
        "PATTERN SEQ(A a, B b)",
        "PATTERN SEQ(A a, B+ b[])",
        "PATTERN SEQ(A a, B b) RETURN a.x, b.x",
        "PATTERN B b WHERE { [x] }",
        "PATTERN B b WHERE { b.x IS NOT NULL }",
        "PATTERN B b WHERE { [x] } RETURN count(*) AS n",
        "SELECT * FROM [RANGE 5 SEC] A; B",
        "SELECT B.x FROM [RANGE 5 SEC] A; B",
    ],
)
def test_whole_numbers_beyond_63_bits_can_be_carried(query: str) -> None:
    more = {"time_unit": "s"} if query.startswith("SELECT") else {}
    for ties in ({}, {"tie_breaker": "x"}):
        found = fyke.match(LARGE, query, **OPTIONS, **more, **ties)
        assert str(2**63) in str(found.to_pylist())


def test_unsigned_numbers_within_63_bits_and_columns_that_nobody_needs() -> None:
    query = "PATTERN SEQ(A a, B b) WHERE { a.y = b.y AND a.y + 1 > 7 } RETURN a.y"
    assert fyke.match(LARGE, query, **OPTIONS)["a_y"].to_pylist() == [7]


def test_a_time_of_uint64_is_refused_by_its_name() -> None:
    events = EVENTS.set_column(1, "t", pa.array([1, 2], pa.uint64()))
    with pytest.raises(TimeColumnError) as caught:
        fyke.match(events, QUERY, **OPTIONS)
    assert str(caught.value) == (
        "time column 't' is uint64, which reaches beyond the times there are\nCast it to int64."
    )
    assert (
        fyke.match(EVENTS.set_column(1, "t", pa.array([1, 2], pa.uint32())), QUERY, **OPTIONS).num_rows == 1
    )


@pytest.mark.parametrize("kind", [pa.decimal32(5, 2), pa.decimal64(12, 2)], ids=str)
@pytest.mark.parametrize(
    "where", ["[d]", "a.d = b.d", "a.d + 1 > b.d", "a.d = 1.50", "skip_till_any_match { [d] AND a.d <= b.d }"]
)
def test_small_decimals(kind: pa.DataType, where: str) -> None:
    prices = pa.array([Decimal("1.50")] * 2)
    clause = where if where.startswith("skip") else f"{{ {where} }}"
    query = f"PATTERN SEQ(A a, B b) WHERE {clause} WITHIN 9"
    found, expected = (
        fyke.match(EVENTS.append_column("d", prices.cast(each)), query, **OPTIONS)
        for each in (kind, pa.decimal128(kind.precision, kind.scale))
    )
    assert found.num_rows == 1
    assert found.equals(expected)
    judged = fyke.reference.match(EVENTS.append_column("d", prices.cast(kind)), query, **OPTIONS)
    assert judged.equals(found)
