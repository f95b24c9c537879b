"""The errors of relational queries and of programs: what, where, and what to do, word for word."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from time import perf_counter

import pyarrow as pa
import pytest

import fyke
from fyke import errors
from fyke.errors import (
    CycleError,
    FykeError,
    InputError,
    LabelError,
    OptionError,
    QueryError,
    QuerySyntaxError,
    QueryTooLargeError,
    SchemaClashError,
    UnknownTypeError,
    UnsupportedQueryError,
    WindowUnitError,
)

TS = ("ts", pa.timestamp("us"))
WIDE = pa.schema([TS, ("id", pa.int64()), ("price", pa.float64()), ("name", pa.string())])
STREAMS = {
    "S1": WIDE.empty_table(),
    "S2": WIDE.empty_table(),
    "S3": pa.schema([TS, ("id", pa.int64()), ("loc", pa.struct([("lat", pa.float64())]))]).empty_table(),
}
Case = tuple[str, type[QueryError], str, str]


def cases() -> Iterator[Case]:
    """Yield the marked query, error, message and remedy of each case."""
    text = (Path(__file__).parent / "bad_input.txt").read_text(encoding="utf-8")
    for block in text.strip().split("\n\n"):
        if not block.startswith("#"):
            query, said, remedy = block.split("\n")
            name, _, message = said.partition(": ")
            yield query, getattr(errors, name), message, "" if remedy == "-" else remedy


@pytest.mark.parametrize("case", list(cases()), ids=lambda case: case[0][:70])
def test_error_says_what_where_and_what_to_do(case: Case) -> None:
    marked, error, message, remedy = case
    text, column = marked.replace("«", "").replace("»", ""), marked.index("«") + 1
    length = marked.index("»") - marked.index("«") - 1
    with pytest.raises(error) as caught:
        fyke.match(STREAMS, text, time="ts")
    assert type(caught.value) is error
    lines = [f"{message} (line 1, column {column})", f"  {text}", "  " + " " * (column - 1) + "^" * length]
    assert str(caught.value).split("\n") == [*lines, *([remedy] if remedy else [])]


def told(error: type[FykeError], call: object) -> str:
    assert callable(call)
    with pytest.raises(error) as caught:
        call()
    return str(caught.value)


def test_plain_numbers_as_time() -> None:
    events = pa.table({"t": [1, 2], "x": [1, 2]})
    assert told(WindowUnitError, lambda: fyke.match(events, "SELECT x FROM [RANGE 1 SEC] S", time="t")) == (
        "RANGE is a length of time, but the time column 't' is a plain number (line 1, column 16)\n"
        "  SELECT x FROM [RANGE 1 SEC] S\n"
        "                 ^^^^^^^^^^^\n"
        "Write RANGE without a unit, or say what those of the column are, as in time_unit='s'."
    )


def test_times_that_do_not_unite() -> None:
    streams = {"S1": STREAMS["S1"], "S2": pa.table({"ts": [1], "id": [1]})}
    text = "SELECT * FROM [RANGE 1 SEC] S1; S2"
    assert told(SchemaClashError, lambda: fyke.match(streams, text, time="ts", time_unit="s")) == (
        "column 'start' is timestamp[us] in 'S1' and int64 in 'S2'\nCast or rename it in one of them."
    )


def test_several_streams_of_events_without_types() -> None:
    call = lambda: fyke.match(STREAMS["S1"], "SELECT * FROM [RANGE 1 SEC] S1; S2", time="ts")  # noqa: E731
    assert told(UnsupportedQueryError, call) == (
        "the query names the streams 'S1', 'S2', but the events have no type column (line 1, column 33)\n"
        "  SELECT * FROM [RANGE 1 SEC] S1; S2\n"
        "                                  ^^\n"
        "Give type='column', or a dict {stream: events}; without either a query names one."
    )


def test_options_that_are_for_patterns() -> None:
    text = "SELECT id FROM [RANGE 1 SEC] S1"
    call = lambda: fyke.match(STREAMS, text, time="ts", output="non_overlap")  # noqa: E731
    assert told(OptionError, call) == (
        "output='non_overlap' has a meaning for patterns, and this query has none\nLeave output out."
    )


# --- programs -------------------------------------------------------------------------------


def test_cycle_of_two() -> None:
    text = "A: PATTERN SEQ(S1 x, B y) WITHIN 1 min;\nB: SELECT * FROM [RANGE 1 SEC] A; S1"
    assert told(CycleError, lambda: fyke.program(text)) == (
        "queries wait for one another's results: 'A' reads 'B', which reads 'A' (line 1, column 22)\n"
        "  A: PATTERN SEQ(S1 x, B y) WITHIN 1 min\n"
        "                       ^^^\n"
        "Let one of them read a stream that is given."
    )


def test_cycle_of_three_among_others() -> None:
    text = """
        First: PATTERN S1 a WITHIN 1 min;
        C: PATTERN SEQ(A a, First f) WITHIN 1 min;
        A: PATTERN B b WITHIN 1 min;
        B: PATTERN C c WITHIN 1 min
    """
    assert told(CycleError, lambda: fyke.program(text)).split("\n")[0] == (
        "queries wait for one another's results: "
        "'C' reads 'A', which reads 'B', which reads 'C' (line 3, column 24)"
    )


def test_query_without_label() -> None:
    text = "A: PATTERN S1 a WITHIN 1 min;\nPATTERN SEQ(A a, A b) WITHIN 1 min"
    assert told(LabelError, lambda: fyke.program(text)) == (
        "a query of a program needs a label (line 2, column 13)\n"
        "  PATTERN SEQ(A a, A b) WITHIN 1 min\n"
        "              ^^^\n"
        "Write it before the query, as in 'Name: PATTERN ...' or 'Name: SELECT ...'."
    )


def test_two_queries_of_one_label() -> None:
    text = "A: PATTERN S1 a WITHIN 1 min; A: PATTERN S2 a WITHIN 1 min"
    assert told(LabelError, lambda: fyke.program(text)) == (
        "two queries of the program are labelled 'A' (line 1, column 42)\n"
        "                                A: PATTERN S2 a WITHIN 1 min\n"
        "                                           ^^^^\n"
        "Rename one of them."
    )


def test_stream_that_is_neither_given_nor_a_label() -> None:
    program = fyke.program("A: SELECT id FROM [RANGE 1 SEC] S1;\nB: PATTERN SEQ(A a, S9 b) WITHIN 1 min")
    assert told(UnknownTypeError, lambda: program.run(STREAMS, time="ts")) == (
        "the stream 'S9' is not given (line 2, column 21)\n"
        "  B: PATTERN SEQ(A a, S9 b) WITHIN 1 min\n"
        "                      ^^^^\n"
        "Given are S1, S2, S3: add 'S9' to the dict, or label a query of the program with it."
    )


def test_query_that_reads_itself_reads_a_given_stream() -> None:
    program = fyke.program("A: PATTERN SEQ(A a, A b) WITHIN 1 min")
    message = told(UnknownTypeError, lambda: program.run(STREAMS, time="ts"))
    assert message.split("\n")[0] == "the stream 'A' is not given (line 1, column 16)"


def test_result_without_times_as_a_stream() -> None:
    program = fyke.program(
        "A: PATTERN S1 a WITHIN 1 min RETURN count(*) AS n;\nB: SELECT A.n FROM [RANGE 1 SEC] A"
    )
    assert told(UnsupportedQueryError, lambda: program.run(STREAMS, time="ts", outputs=["B"])) == (
        "the result of 'A' is about all matches, so its rows have no times (line 2, column 34)\n"
        "  B: SELECT A.n FROM [RANGE 1 SEC] A\n"
        "                                   ^\n"
        "Let 'A' return values of single matches."
    )


def test_output_that_is_no_label_and_unknown_option() -> None:
    program = fyke.program(["Alarm: SELECT id FROM [RANGE 1 SEC] S1"])
    assert told(OptionError, lambda: program.run(STREAMS, time="ts", outputs=["Alarms"])) == (
        "no query of the program is labelled 'Alarms'. Did you mean 'Alarm'?\nIts labels are Alarm."
    )
    assert told(OptionError, lambda: program.run(STREAMS, time="ts", limit=3)) == (
        "run takes no option 'limit'. Did you mean 'limits'?"
    )
    assert told(OptionError, lambda: fyke.program(" ; ")) == "a program has at least one query, found none"


def test_column_named_start_that_is_no_time() -> None:
    events = pa.table({"ts": pa.array([], pa.timestamp("us")), "start": pa.array([], pa.int64())})
    program = fyke.program(
        "A: PATTERN S a WITHIN 1 min RETURN a.ts AS at; B: PATTERN SEQ(A a, S b) WITHIN 1 min"
    )
    assert told(InputError, lambda: program.run(events, time="ts")) == (
        "the events have a column 'start' that is not their time, and in a query that reads results "
        "it is the time of every event\nRename it."
    )


def test_places_are_those_of_the_whole_program() -> None:
    text = "A: PATTERN S1 a;\n\n  B: SELECT * FROM [RANGE 5.5] A"
    assert told(WindowUnitError, lambda: fyke.program(text)) == (
        "RANGE 5.5 has no unit (line 3, column 21)\n"
        "    B: SELECT * FROM [RANGE 5.5] A\n"
        "                      ^^^^^^^^^\n"
        "Write, for example, RANGE 5.5 SEC."
    )


@pytest.mark.parametrize(
    "text",
    [
        "/**/" * 20_000 + "x",
        ";/*" * 30_000,
        "; " * 50_000,
        ';"' * 50_000,
        "A: " * 30_000,
        "A: SELECT * FROM [RANGE 1 SEC] S" + "; S" * 30_000,
    ],
    ids=["comments", "unclosed comments", "separators", "quotes", "labels", "streams"],
)
def test_hostile_programs_cost_little(text: str) -> None:
    started = perf_counter()
    with pytest.raises(FykeError):
        fyke.program(text)
    with pytest.raises(FykeError):
        fyke.parse(text)
    assert perf_counter() - started < 20


def test_comment_that_is_never_closed_hides_nothing() -> None:
    first = told(QuerySyntaxError, lambda: fyke.program("A: PATTERN S a; /* not the end")).split("\n")[0]
    expected = "unexpected ';'; expected WHERE, WITHIN, RETURN or the end of the query"
    assert first == f"{expected} (line 1, column 15)"


def test_a_program_has_so_many_queries_at_most() -> None:
    text = ";".join(f"Q{n}: PATTERN S a" for n in range(300))
    assert told(QueryTooLargeError, lambda: fyke.program(text)) == (
        "a program has at most 256 queries\nMake several programs of it."
    )
