"""Attempts that expire as rows of a clause: which there are, how far they came, and when they are certain."""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa
import pytest

import fyke
from fyke import reference
from fyke.engine.row_patterns.advance import RowEngine
from fyke.engine.row_patterns.row_state import decode_row_state, encode_row_state
from fyke.errors import InputError, OptionError, OutputNameError, StateError
from fyke.plan.row_patterns.explain_stream import explain_row_stream
from tests.row_patterns.row_streams import RowStream, row_plan

SCHEMA = pa.schema([("t", pa.int64()), ("v", pa.string())])


def rows_of(text: str) -> pa.Table:
    """Return a row for each letter, at its place; a dot is a moment without a row."""
    present = [(at, letter) for at, letter in enumerate(text) if letter != "."]
    return pa.table({"t": [at for at, _ in present], "v": [letter for _, letter in present]}, schema=SCHEMA)


def clause(pattern: str, window: int | None = 3, clauses: str = "", form: str = "ONE ROW PER MATCH") -> str:
    variables = dict.fromkeys(re.findall(r"\b[A-Z]\b", pattern.replace("PERMUTE", "")))
    defined = ", ".join(f"{name} AS v = '{name}'" for name in variables if name != "R")
    within = "" if window is None else f" WITHIN {window}"
    return (
        "MATCH_RECOGNIZE (ORDER BY t MEASURES FIRST(t) AS began, array_agg(CLASSIFIER()) AS labels, "
        f"MATCH_NUMBER() AS number {form} {clauses} PATTERN ({pattern}){within} DEFINE {defined})"
    )


def told(text: str, pattern: str, window: int = 3, clauses: str = "") -> list[str]:
    """Return matches as ``0:AB``, and attempts that expired as ``0:A?``."""
    written = clause(pattern, window, clauses)
    rows = fyke.match(rows_of(text), written, timeouts=True)
    assert rows.equals(reference.match(rows_of(text), written, timeouts=True))
    made = []
    for row in rows.to_pylist():
        assert row["reached"] == len(row["labels"])
        assert (row["status"] == "match") == (row["number"] is not None)
        made.append(f"{row['began']}:{''.join(row['labels'])}{'' if row['status'] == 'match' else '?'}")
    numbers = [row["number"] for row in rows.to_pylist() if row["number"] is not None]
    assert numbers == list(range(1, len(numbers) + 1))
    return made


@pytest.mark.parametrize(
    "text, pattern, expected",
    [
        ("AB", "A B", ["0:AB"]),
        ("A....B", "A B", ["0:A?"]),  # the window is over
        ("A", "A B", ["0:A?"]),  # the rows are
        ("AX", "A B", []),  # a row contradicts it
        ("A..X", "A B", []),  # also the last one of its window
        ("A...X", "A B", ["0:A?"]),
        ("AAAAAB", "A+ B", ["0:AAAA?", "1:AAAA?", "2:AAAB"]),
        ("AB....AB", "A B C", ["0:AB?", "6:AB?"]),
        ("AAB...", "A A B C | A A D", ["0:AAB?"]),
        ("AA....", "A A B | A A C", ["0:AA?", "1:A?"]),  # as the preferred way took them
        ("AA....", "A R B | A A C", ["0:AR?", "1:A?"]),
        ("AB....", "A (B | R C)", ["0:AB"]),
        ("AB....X", "A B $ | A C", []),  # not at the end, and B contradicts C
        ("AB", "A $ B", []),  # no row follows the last one
        ("A....A", "A $", ["5:A"]),
        ("A....", "A?? B", ["0:A?"]),
        ("X....", "A* B", []),  # no row was taken
        ("ABAB...", "PERMUTE(A, B, C)", ["2:AB?", "3:B?"]),
    ],
)
def test_attempts(text: str, pattern: str, expected: list[str]) -> None:
    assert told(text, pattern) == expected


def test_a_match_skips_the_starts_inside_it_and_an_attempt_skips_nothing() -> None:
    assert told("AABC.....AA....", "A A B C | A B D") == ["0:AABC", "9:AA?", "10:A?"]
    assert told("AABC", "A A B C | A B D", clauses="AFTER MATCH SKIP TO NEXT ROW") == ["0:AABC"]
    assert told("AAB.....", "A A B | A B D", clauses="AFTER MATCH SKIP TO NEXT ROW") == ["0:AAB", "1:AB?"]


def test_all_rows_of_an_attempt_are_told_but_for_excluded_ones() -> None:
    written = clause("A {- B -} C D", form="ALL ROWS PER MATCH")
    for match in (fyke.match, reference.match):
        rows = match(rows_of("ABC....ABCD"), written, timeouts=True)
        assert rows.column_names == ["t", "began", "labels", "number", "v", "reached", "status"]
        seen = [(row["t"], "".join(row["labels"]), row["reached"], row["status"]) for row in rows.to_pylist()]
        assert seen == [
            (0, "A", 3, "timeout"),
            (2, "ABC", 3, "timeout"),
            (7, "A", 4, "match"),
            (9, "ABC", 4, "match"),
            (10, "ABCD", 4, "match"),
        ]


def test_every_match_of_a_start_or_one_attempt() -> None:
    rows = fyke.match(rows_of("ABB....A"), clause("A B+", form="ALL MATCHES"), timeouts=True)
    assert [(row["reached"], row["status"]) for row in rows.to_pylist()] == [
        (3, "match"),
        (2, "match"),
        (1, "timeout"),
    ]


def test_an_attempt_is_certain_when_its_window_is_over() -> None:
    stream = RowStream(clause("A B C"), SCHEMA, timeouts=True)
    reached: list[Any] = []
    for text, watermark in (("A", 0), (".B", 1), ("", 2), ("", 3), ("....A", 4), (".....X", 5), ("", 9)):
        reached.append([row["reached"] for row in stream.advance(rows_of(text), watermark)])
    assert reached == [[], [], [], [2], [], [], []]
    assert stream.state.rows.num_rows <= 1


def test_a_condition_that_looks_ahead_waits_for_the_row() -> None:
    written = (
        "MATCH_RECOGNIZE (ORDER BY t MEASURES LAST(t) AS l PATTERN (A B C) WITHIN 2 "
        "DEFINE A AS v = 'A', B AS NEXT(v) = 'X', C AS v = 'C')"
    )
    stream = RowStream(written, SCHEMA, timeouts=True)
    assert stream.advance(rows_of("AB"), 8) == []
    assert stream.advance(rows_of(".........X"), 9) == [{"l": 1, "reached": 2, "status": "timeout"}]


def test_what_has_no_attempts_is_refused() -> None:
    rows = rows_of("AB")
    with pytest.raises(OptionError, match=r"timeouts needs a window.*\n.*Add WITHIN"):
        fyke.match(rows, clause("A B", None), timeouts=True)
    with pytest.raises(OptionError, match="WITH UNMATCHED ROWS all rows in no match"):
        fyke.match(rows, clause("A B", form="ALL ROWS PER MATCH WITH UNMATCHED ROWS"), timeouts=True)
    with pytest.raises(OutputNameError, match="adds the column 'status', and the result has 'STATUS'"):
        fyke.match(rows, clause("A B").replace("began", "STATUS"), timeouts=True)
    with pytest.raises(InputError, match="for MATCH_RECOGNIZE clauses"):
        reference.match(rows, "PATTERN SEQ(A a, B b) WITHIN 3", time="t", type="v", timeouts=True)


def test_state_with_timeouts_is_not_state_without() -> None:
    told, plain = row_plan(clause("A B"), SCHEMA, timeouts=True), row_plan(clause("A B"), SCHEMA)
    data = encode_row_state(told, RowEngine(told).start(SCHEMA))
    decode_row_state(told, data, SCHEMA)
    with pytest.raises(StateError):
        decode_row_state(plain, data, SCHEMA)


def test_explain_says_so_and_metrics_count_matches() -> None:
    rows = rows_of("AB....A")
    assert "timeouts an attempt without a match" in fyke.explain(rows, clause("A B"), timeouts=True)
    metrics = fyke.Metrics()
    assert fyke.match(rows, clause("A B"), timeouts=True, metrics=metrics).num_rows == 2
    assert metrics.get()["matches"] == 1


def test_steps_grow_with_the_rows() -> None:
    """Attempts of a fixed number of rows each: twice the rows are twice the steps."""
    steps = []
    for count in (2_000, 4_000):
        metrics = fyke.Metrics()
        rows = pa.table({"t": range(count), "v": ["A"] * count}, schema=SCHEMA)
        fyke.match(rows, clause("(A+)+ B", 9), timeouts=True, metrics=metrics)
        steps.append(metrics.get()["bindings_tried"])
    assert steps[1] == pytest.approx(2 * steps[0], rel=0.01)


def test_explain_says_when_an_attempt_of_a_stream_is_reported() -> None:
    told = explain_row_stream(row_plan(clause("A B"), SCHEMA, timeouts=True))
    assert "  expired  an attempt when a row behind its window has come, or the watermark passed it" in told
    assert not any("expired" in line for line in explain_row_stream(row_plan(clause("A B"), SCHEMA)))
