"""The errors of a query that does not fit its events: what, where, and what to do, word for word.

``bad_input/*.txt`` hold the cases: a query, in which «...» stands around the stretch that the error
must point at, then the error and what it says, then the remedy.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from fyke import errors
from fyke.errors import (
    ContradictionError,
    FykeError,
    MissingColumnError,
    OptionError,
    OutputNameError,
    QueryError,
    SchemaClashError,
    TimeColumnError,
    TooManyAlternativesError,
    TooManyVariablesError,
    TypeClashError,
    UnknownAttributeError,
    UnknownFunctionError,
    UnsupportedQueryError,
    WindowLengthError,
    WindowUnitError,
)
from fyke.language.ast import Binary, Event, Literal, Reference, Window, WindowKind
from fyke.language.query import Query
from fyke.language.sase import parse
from fyke.limits import Limits
from fyke.logical.analyse import analyse
from fyke.logical.schema import EventSchema, make_schema, unite_columns

COLUMNS = {
    "ts": pa.timestamp("us"),
    "kind": pa.string(),
    "id": pa.int64(),
    "price": pa.float64(),
    "name": pa.string(),
    "ok": pa.bool_(),
    "history": pa.list_(pa.float64()),
    "loc": pa.struct([("lat", pa.float64()), ("city", pa.struct([("zip", pa.string())]))]),
    "tags": pa.map_(pa.string(), pa.string()),
}
TIMED = make_schema(COLUMNS, time="ts", type_column="kind")
COUNTED = make_schema({"t": pa.int64(), "kind": pa.string()}, time="t", type_column="kind")
DAILY = make_schema({"day": pa.date32(), "kind": pa.string()}, time="day", type_column="kind")
LASTING = make_schema(
    {"s": pa.timestamp("s"), "e": pa.timestamp("s"), "kind": pa.string()}, time=("s", "e"), type_column="kind"
)
UNTYPED = make_schema({"ts": pa.timestamp("us"), "id": pa.int64()}, time="ts")
INPUTS = EventSchema(
    COLUMNS, ("ts", "ts"), "kind", {"Shelf": ("ts", "id", "name"), "Exit": ("ts", "id", "price")}
)

Case = tuple[EventSchema, str, type[QueryError], str, str]


def cases() -> Iterator[Case]:
    """Yield the cases of all files: schema, marked query, error, message, remedy."""
    for file in sorted((Path(__file__).parent / "bad_input").glob("*.txt")):
        schema = INPUTS if file.stem == "inputs" else TIMED
        for block in file.read_text(encoding="utf-8").strip().split("\n\n"):
            if not block.startswith("#"):
                *query, said, remedy = block.split("\n")
                name, _, message = said.partition(": ")
                yield schema, "\n".join(query), getattr(errors, name), message, remedy


EVERY: list[Case] = [
    *cases(),
    (
        COUNTED,
        "PATTERN A a «WITHIN 5 minutes»",
        WindowUnitError,
        "the window is a length of time, but the time column 't' is a plain number",
        "Write the window as a number in the column's own units, or say what they are, as in time_unit='ms'.",
    ),
    (
        COUNTED,
        "PATTERN SEQ(A a, B b, C+ c[], D d) «WITHIN 2»",
        ContradictionError,
        "4 events in sequence are at least 3 units of 't' apart, but WITHIN allows 2",
        "Lengthen the window, or give a tie_breaker, which puts events of one time in sequence.",
    ),
    (
        COUNTED,
        "PATTERN SEQ({A a, B b}, OR(SEQ(C c, D d), SEQ(E e, F f, G g)), H* h[]) «WITHIN 1»",
        ContradictionError,
        "3 events in sequence are at least 2 units of 't' apart, but WITHIN allows 1",
        "Lengthen the window, or give a tie_breaker, which puts events of one time in sequence.",
    ),
    (
        DAILY,
        "PATTERN SEQ(A a, B b) «WITHIN 12 hours»",
        ContradictionError,
        "2 events in sequence are at least 1 day of 'day' apart, but WITHIN allows 0",
        "Lengthen the window, or give a tie_breaker, which puts events of one time in sequence.",
    ),
    (
        LASTING,
        "PATTERN SEQ(A a, B b, C c) «WITHIN 1 second»",
        ContradictionError,
        "3 events in sequence are at least 2 seconds of 'e' apart, but WITHIN allows 1",
        "Lengthen the window, or give a tie_breaker, which puts events of one time in sequence.",
    ),
    (
        UNTYPED,
        "PATTERN SEQ(A a, «B b»)",
        UnsupportedQueryError,
        "the pattern names the types 'A', 'B', but the events have no type column",
        "Give type='column', or a dict {type: events}; without either a pattern names one type.",
    ),
    (
        TIMED,
        f"PATTERN «SEQ({', '.join(f'A? a{i}' for i in range(9))})»",
        TooManyAlternativesError,
        "OR and optional parts make more than 256 alternatives",
        "Use fewer of them, for each optional part doubles the number, or raise the limit 'alternatives'.",
    ),
    (
        TIMED,
        f"PATTERN «SEQ(»\n{', '.join(f'A a{i}' for i in range(63))},\n~B b)",
        TooManyVariablesError,
        "64 variables stand together in the pattern; the most is 63",
        "Use a group, as in Type+ v[], for events that repeat, or split the query into labelled queries "
        "that feed one another.",
    ),
]


def located(marked: str) -> tuple[str, int, int, int]:
    """Return the text without marks, and line, column and length of what stood between them."""
    before, _, rest = marked.partition("«")
    text = marked.replace("«", "").replace("»", "")
    return text, before.count("\n") + 1, len(before.rpartition("\n")[2]) + 1, len(rest.partition("»")[0])


@pytest.mark.parametrize("case", EVERY, ids=lambda case: str(case[1])[:70])
def test_error_says_what_where_and_what_to_do(case: Case) -> None:
    schema, marked, error, message, remedy = case
    text, line, column, length = located(marked)
    with pytest.raises(error) as caught:
        analyse(parse(text), schema)
    assert type(caught.value) is error
    assert str(caught.value).split("\n") == [
        f"{message} (line {line}, column {column})",
        f"  {text.split(chr(10))[line - 1]}",
        "  " + " " * (column - 1) + "^" * length,
        remedy,
    ]
    assert (caught.value.message, caught.value.remedy) == (message, remedy)


def test_every_error_of_a_query_has_a_case() -> None:
    """Others are elsewhere: those of the text alone in tests/language, of streams and programs in
    tests/relational, of MATCH_RECOGNIZE in tests/row_patterns.

    A pattern in legal text must meet all others.
    """
    of_the_text = {
        "QuerySyntaxError",
        "QuantifierError",
        "QueryTooLargeError",
        "WindowError",
        "UnknownNameError",
    }
    of_streams_and_programs = {"AmbiguousNameError", "LabelError", "CycleError"}
    of_row_patterns = {
        "MissingDefineError",
        "NavigationError",
        "RowOrderError",
        "RowsPerMatchError",
        "TableError",
    }
    leaves = {
        name
        for name, kind in vars(errors).items()
        if isinstance(kind, type) and issubclass(kind, QueryError) and kind is not QueryError
    }
    elsewhere = of_the_text | of_streams_and_programs | of_row_patterns
    assert leaves - {error.__name__ for _, _, error, _, _ in EVERY} <= elsewhere


def test_a_query_made_in_python_has_no_place() -> None:
    query = Query(Event("A", "a"), (Binary("=", Reference("c", ("id",)), Literal(1)),))
    with pytest.raises(QueryError) as caught:
        analyse(query, TIMED)
    assert str(caught.value) == "unknown variable 'c'\nThe pattern declares a."
    assert caught.value.line is caught.value.column is None


@pytest.mark.parametrize("amount", [0, -1])
def test_window_of_no_length_in_a_query_made_by_hand(amount: int) -> None:
    query = Query(Event("A", "a"), window=Window(WindowKind.DURATION, amount))
    with pytest.raises(WindowLengthError) as caught:
        analyse(query, TIMED)
    assert str(caught.value) == (
        f"a window must be longer than zero, found {amount}\nLeave WITHIN out for no window."
    )


A = "PATTERN A a WHERE "
AB = "PATTERN SEQ(A a, B b) WHERE "
GROUP = "PATTERN SEQ(A a, B+ b[]) WHERE "

LEGAL = [
    # what looks like one of the errors above and is none
    "PATTERN A+ a[] WHERE { a[i-1].id > 5 AND a[i-1].id < 3 }",  # true for a group of one
    A + "{ a.id > 3 AND a.id >= 3 AND a.id < 4 }",
    A + "{ a.id IN (1, 2) AND a.id > 1 }",
    A + "{ a.id = 5 OR a.id = 6 }",
    AB + "{ a.id > 5 AND b.id < 3 }",
    "PATTERN A{2,3} a[] WHERE { a.len >= 3 }",
    "PATTERN OR(A{2} a[], B{5} a[]) WHERE { a.len > 2 }",
    "PATTERN SEQ(A{3} a[], B b) WITHIN 4 EVENTS",
    "PATTERN SEQ(A a, ~B b, C c)",  # between two events an absence needs no window
    "PATTERN SEQ(A a, ~SEQ(B? b, C c), D d) WHERE { b.id = c.id }",
    "PATTERN OR(A a, B a) WHERE { a.id = 1 }",
    "PATTERN SEQ(A+ a[], B b) RETURN a, a[1], a[1].id, a[a.len].id, a.len, max(a[].id), b",
    A + "{ [id] } RETURN id, a.price",
    A + "{ [id] } RETURN id, a.id, count(*), 2 * max(a.price)",
    GROUP + "{ [id] } RETURN b[1].id, avg(sum(b[].price)), max(b.len)",
    A + "{ a.name LIKE 'x%' AND upper(concat(a.name, a.kind)) = 'X' AND round(a.price, 1) > 2 }",
    GROUP + "{ abs(a.price - b.price) < 1 AND corr(a.history, b.history) > 0 }",
    GROUP + "{ b[i].price > avg(b[..i-1].price) AND sum(b[].price + b[].id) > 2 }",
    "PATTERN SEQ(A a, B b) WHERE { b.ts - a.ts < 5 minutes AND a.ts > TIMESTAMP '2026-01-31' }",
]


@pytest.mark.parametrize("text", LEGAL)
def test_legal_neighbour_of_an_error(text: str) -> None:
    assert analyse(parse(text), TIMED).form.alternatives


@pytest.mark.parametrize(
    "text",
    [
        "PATTERN SEQ(A a, B b, C c) WITHIN 2",
        "PATTERN {A a, B b, C c} WITHIN 1",
        "PATTERN A{9} a[] WITHIN 1",  # events of a group may have one time
        "PATTERN OR(SEQ(A a, B b, C c), SEQ(A a, B b)) WITHIN 1",
        "PATTERN SEQ(A a, B? b, C? c, D d) WITHIN 1",
        "PATTERN SEQ(A a, ~B b, ~C c, D d) WITHIN 1",
        "PATTERN OR(SEQ(A{2} a[], B b), B b) WITHIN 2 EVENTS",
    ],
)
def test_a_window_that_some_match_fits_into(text: str) -> None:
    assert analyse(parse(text), COUNTED).form.alternatives


def test_a_tie_breaker_puts_events_of_one_time_in_sequence() -> None:
    columns = {"t": pa.int64(), "n": pa.int64(), "kind": pa.string()}
    schema = make_schema(columns, time="t", type_column="kind", tie_breaker="n")
    assert analyse(parse("PATTERN SEQ(A a, B b, C c) WITHIN 1"), schema).form.alternatives


def test_null_compares_with_everything() -> None:
    columns = {**COLUMNS, "nothing": pa.null()}
    query = parse(A + "{ a.nothing > 5 AND a.nothing > 'x' AND a.name != NULL }")
    assert analyse(query, make_schema(columns, time="ts", type_column="kind")).form.alternatives


def test_registered_functions_are_known_and_counted() -> None:
    text = AB + "{ distance(a.id, b.id) > 1 }"
    assert analyse(parse(text), TIMED, functions={"distance": 2}).form.alternatives
    with pytest.raises(TypeClashError) as caught:
        analyse(parse(text), TIMED, functions={"distance": 1})
    assert caught.value.message == "distance takes 1 argument, found 2"
    with pytest.raises(TypeClashError) as caught:
        analyse(parse(AB + "{ distance(a.id, b.name) > 1 }"), TIMED, functions={"distance": 2})
    assert caught.value.message == "distance takes a number, but b.name is string"


def test_the_inputs_dialect_is_asked_about_functions_of_one_event_only() -> None:
    asked = []

    def infer(expression: object, attributes: tuple[str, ...]) -> pa.DataType | None:
        asked.append(str(expression))
        return pa.int64()

    assert analyse(parse(A + "{ soundex(a.name) = 1 }"), TIMED, infer=infer).form.alternatives
    assert len(asked) == 1
    for several in ("soundex(a.name, b.name) = 1", "soundex(sum(b[].id)) = 1", "soundex(b.len) = 1"):
        with pytest.raises(UnknownFunctionError, match="unknown function 'soundex' over several events"):
            analyse(parse(GROUP + f"{{ {several} }}"), TIMED, infer=infer)
    assert len(asked) == 1


LARGE = [
    (f"PATTERN SEQ({', '.join(f'A? a{i}' for i in range(9_000))})", TooManyAlternativesError),
    (f"PATTERN OR({', '.join(f'A a{i}' for i in range(9_000))})", TooManyAlternativesError),
    (f"PATTERN SEQ({', '.join(f'A a{i}' for i in range(9_000))})", TooManyVariablesError),
    (f"PATTERN AND({', '.join(f'~A a{i}' for i in range(9_000))})", TooManyVariablesError),
    (f"PATTERN A a RETURN {', '.join('a.id' for _ in range(9_000))}", OutputNameError),
]


@pytest.mark.parametrize("text, error", LARGE, ids=[text[8:30] for text, _ in LARGE])
def test_a_huge_query_is_refused_before_it_costs_anything(text: str, error: type[QueryError]) -> None:
    with pytest.raises(error):
        analyse(parse(text), TIMED)


def test_the_limit_of_alternatives_can_be_raised() -> None:
    query = parse(f"PATTERN SEQ({', '.join(f'A? a{i}' for i in range(9))})")
    assert len(analyse(query, TIMED, Limits(alternatives=512)).form.alternatives) == 511
    with pytest.raises(TooManyAlternativesError, match="make more than 2 alternatives"):
        analyse(parse("PATTERN OR(A a, B b, C c)"), TIMED, Limits(alternatives=2))


def test_a_long_list_of_attributes_is_cut() -> None:
    columns = {"ts": pa.timestamp("us")} | {f"x{i}": pa.int64() for i in range(100)}
    with pytest.raises(UnknownAttributeError) as caught:
        analyse(parse("PATTERN A a WHERE { a.y = 1 }"), make_schema(columns, time="ts"))
    listed = ", ".join(f"x{i}" for i in range(19))
    assert caught.value.remedy == f"The attributes of the events are ts, {listed} and 81 more."


# --- the events themselves ----------------------------------------------------------------

SCHEMAS: list[tuple[dict[str, object], type[FykeError], str]] = [
    (
        {"time": "tss"},
        MissingColumnError,
        "the events have no column 'tss'\nTheir columns are ts, end, n, x, kind. Did you mean 'ts'?",
    ),
    (
        {"time": "ts", "type_column": "type"},
        MissingColumnError,
        "the events have no column 'type'\nTheir columns are ts, end, n, x, kind.",
    ),
    (
        {"time": "ts", "tie_breaker": ["n", "seq"]},
        MissingColumnError,
        "the events have no column 'seq'\nTheir columns are ts, end, n, x, kind.",
    ),
    (
        {"time": ("ts", "end", "n")},
        OptionError,
        "time must be the name of a column or a pair (start, end), found ('ts', 'end', 'n')\n"
        "Give time='ts', or time=('start_ts', 'end_ts') for events that last.",
    ),
    (
        {"time": "x"},
        TimeColumnError,
        "time column 'x' is double; a time is a timestamp, a date or an integer\n"
        "Cast it, for example with to_timestamp() or pyarrow.compute.cast.",
    ),
    (
        {"time": ("ts", "n")},
        TimeColumnError,
        "start 'ts' is timestamp[us] and end 'n' is int64\nCast both to the same type.",
    ),
    (
        {"time": "n", "time_unit": "h"},
        OptionError,
        "time_unit must be one of 's', 'ms', 'us', 'ns', found 'h'\n"
        "It says what one unit of an integer time column is.",
    ),
]


@pytest.mark.parametrize("options, error, text", SCHEMAS, ids=lambda value: str(value)[:40])
def test_events_that_do_not_fit_the_call(
    options: dict[str, object], error: type[FykeError], text: str
) -> None:
    columns = {
        "ts": pa.timestamp("us"),
        "end": pa.timestamp("us"),
        "n": pa.int64(),
        "x": pa.float64(),
        "kind": pa.string(),
    }
    with pytest.raises(error) as caught:
        make_schema(columns, **options)  # type: ignore[arg-type]
    assert str(caught.value) == text


def test_inputs_whose_columns_clash() -> None:
    inputs = {"A": {"x": pa.int32(), "y": pa.null()}, "B": {"x": pa.int64(), "y": pa.string()}}
    assert unite_columns(inputs) == {"x": pa.int64(), "y": pa.string()}
    with pytest.raises(SchemaClashError) as caught:
        unite_columns(inputs | {"C": {"x": pa.string()}})
    assert (
        str(caught.value) == "column 'x' is int64 in 'A' and string in 'C'\nCast or rename it in one of them."
    )
