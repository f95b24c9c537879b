"""Rows that come bit by bit: when a match is certain, what is kept, and what is refused."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

import fyke
from fyke import errors
from fyke.engine.row_patterns.advance import RowEngine, next_row_call
from fyke.engine.row_patterns.row_state import decode_row_state, merge_row_states, split_row_state
from fyke.errors import StateError, StreamError
from fyke.plan.row_patterns.explain_stream import explain_row_stream
from tests.row_patterns.golden_cases import RowCase, load_row_cases
from tests.row_patterns.row_streams import (
    RowStream,
    StoredRowStream,
    as_sorted,
    bits_of,
    for_streams,
    row_plan,
)

SCHEMA = pa.schema([("i", pa.int64()), ("v", pa.string())])


def clause_of(pattern: str, *, behind: str = "", rows: str = "", define: str = "", measures: str = "") -> str:
    letters = {"A": "v = 'A'", "B": "v = 'B'", "C": "v = 'C'"}
    conditions = define or ", ".join(f"{x} AS {letters[x]}" for x in letters if x in pattern)
    more = f", {measures}" if measures else ""
    return (
        f"MATCH_RECOGNIZE (ORDER BY i MEASURES FIRST(i) AS first, array_agg(v) AS labels{more} {rows} "
        f"PATTERN ({pattern}) {behind} DEFINE {conditions})"
    )


def rows_at(moment: int, letter: str) -> pa.Table:
    return pa.table({"i": [moment], "v": [letter]}, schema=SCHEMA)


def told(rows: list[dict[str, object]]) -> str:
    return " ".join(f"{row['first']}:{''.join(row['labels'])}" for row in rows)  # type: ignore[arg-type]


def reported(text: str, clause: str) -> list[str]:
    """Return what is reported at each letter of a text, and at the end.

    Each letter is a row whose time is its place; a dot is no row, but the watermark goes on.
    """
    stream, seen = RowStream(clause, SCHEMA), []
    for moment, letter in enumerate(text):
        rows = SCHEMA.empty_table() if letter == "." else rows_at(moment, letter)
        seen.append(told(stream.advance(rows, moment)))
    return [*seen, told(stream.advance(SCHEMA.empty_table(), None))]


# --- when a match is certain --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text, pattern, behind, expected",
    [
        # what cannot go on is certain with its last row
        ("AB", "A B", "", ["", "0:AB", ""]),
        ("AAB", "A+? B", "WITHIN 9", ["", "", "0:AAB", ""]),
        ("AB", "A B+?", "WITHIN 9", ["", "0:AB", ""]),
        # a greedy loop waits for the row that ends it
        ("AAB", "A+", "WITHIN 9", ["", "", "0:AA", ""]),
        ("AAA", "A{1,2}", "", ["", "0:AA", "", "2:A"]),
        # or until its window is past the watermark
        ("AA....", "A+", "WITHIN 3", ["", "", "", "0:AA", "", "", ""]),
        ("AAAAA", "A+", "WITHIN 3", ["", "", "", "0:AAAA", "", "4:A"]),
        # a preferred alternative is open for a while
        ("ABB", "A B C | A B", "", ["", "", "0:AB", ""]),
        ("AB...", "A B C | A B", "WITHIN 3", ["", "", "", "0:AB", "", ""]),
        ("AB", "A B | A B C", "", ["", "0:AB", ""]),
        # nothing that may come can complete it
        ("ACAB", "A B", "", ["", "", "", "2:AB", ""]),
        # only the end of the data is an end of a partition
        ("ABAB.", "A B $", "WITHIN 2", ["", "", "", "", "", "2:AB"]),
        ("ABA", "A $ | A B", "", ["", "0:AB", "", "2:A"]),
        ("A", "^ A", "", ["0:A", ""]),
        ("BA", "^ A", "", ["", "", ""]),
    ],
)
def test_a_match_is_reported_when_it_is_certain(
    text: str, pattern: str, behind: str, expected: list[str]
) -> None:
    assert reported(text, clause_of(pattern, behind=behind)) == expected


def test_a_condition_on_the_next_row_waits_for_it() -> None:
    define = "A AS v = 'A' AND NEXT(v) = 'B'"
    assert reported("ACAB", clause_of("A", define=define)) == ["", "", "", "2:A", ""]


def test_what_is_false_whatever_comes_does_not_wait() -> None:
    clause = clause_of("(A | C)", define="A AS v = 'A' AND NEXT(v) = 'B', C AS v = 'C'")
    assert reported("CA", clause) == ["0:C", "", ""]


def test_a_condition_on_a_row_behind_another_row_of_the_match_waits_for_it() -> None:
    define = "A AS v = 'A', B AS NEXT(A.v, 2) = 'C'"
    assert reported("AABC", clause_of("A B", define=define)) == ["", "", "", "1:AB", ""]


def test_a_measure_of_the_next_row_waits_for_it() -> None:
    assert reported("AB.C", clause_of("A B", measures="NEXT(v) AS following")) == ["", "", "", "0:AB", ""]
    assert reported("ABC", clause_of("A B C", measures="NEXT(FIRST(v)) AS second")) == ["", "", "0:ABC", ""]


def test_matches_that_have_nothing_to_do_with_each_other_do_not_wait_for_each_other() -> None:
    pattern, skip = "A B+ C | B C?", "AFTER MATCH SKIP TO NEXT ROW"
    free = clause_of(pattern, rows=skip, behind="WITHIN 20")
    assert reported("ABB", free)[:3] == ["", "", "1:B"]
    numbered = clause_of(pattern, rows=skip, behind="WITHIN 20", measures="MATCH_NUMBER() AS n")
    assert reported("ABBA", numbered) == ["", "", "", "1:B 2:B", ""]


def test_all_ways_from_a_row_come_together() -> None:
    seen = reported("ABBA", clause_of("A B+", rows="ALL MATCHES", behind="WITHIN 9"))
    assert seen == ["", "", "", "0:ABB 0:AB", ""]


def test_a_row_in_no_match_is_reported_when_that_is_certain() -> None:
    clause = (
        "MATCH_RECOGNIZE (ORDER BY i MEASURES CLASSIFIER() AS label ALL ROWS PER MATCH WITH UNMATCHED ROWS "
        "AFTER MATCH SKIP TO NEXT ROW PATTERN (A B B) DEFINE A AS v = 'A', B AS v = 'B')"
    )
    stream = RowStream(clause, SCHEMA)
    seen = []
    for moment, letter in enumerate("CAABBB"):
        found = stream.advance(rows_at(moment, letter), moment)
        seen.append([(row["i"], row["label"]) for row in found])
    assert seen == [[(0, None)], [], [(1, None)], [], [(2, "A"), (3, "B"), (4, "B")], [(5, None)]]


def test_numbers_go_on_from_batch_to_batch() -> None:
    measures = "MEASURES MATCH_NUMBER() AS n"
    clause = f"MATCH_RECOGNIZE (PARTITION BY v ORDER BY i {measures} PATTERN (A) DEFINE A AS i >= 0)"
    stream = RowStream(clause, SCHEMA)
    seen = [stream.advance(rows_at(moment, letter), moment)[0] for moment, letter in enumerate("aabab")]
    assert seen == [{"v": v, "n": n} for v, n in (("a", 1), ("a", 2), ("b", 1), ("a", 3), ("b", 2))]


# --- any batches, any order ---------------------------------------------------------------------------


CASES = [case for case in load_row_cases() if " BY id" in case.clause or " BY i" in case.clause]


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_worked_examples(case: RowCase) -> None:
    for seed in range(2):
        draw = random.Random(seed)
        clause = for_streams(case.clause, case.table, draw, least_window=1_000)
        stream = RowStream(clause, case.table.schema)
        bits = list(bits_of(case.table, stream.plan.analysed.order[0].column, draw))
        if isinstance(case.expected, str):
            with pytest.raises(getattr(errors, case.expected)):
                [stream.advance(*bit) for bit in bits]
            return
        for rows, watermark in bits:
            stream.advance(rows, watermark)
        assert as_sorted(stream.result()) == as_sorted(fyke.match(case.table, case.clause))


def test_late_rows_and_rows_without_a_time_are_left_out() -> None:
    stream = RowStream(clause_of("A B"), SCHEMA)
    stream.advance(rows_at(5, "A"), 5)
    rows = pa.table({"i": [5, 4, None, 6], "v": ["B", "B", "B", "B"]}, schema=SCHEMA)
    assert told(stream.advance(rows, 9)) == "5:AB"
    assert stream.late == 2


# --- what is kept ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "define, measures, kept",
    [
        ("A AS v = 'A'", "", 0),
        ("A AS v = 'A' AND coalesce(PREV(v), 'A') = 'A'", "", 1),
        ("A AS v = 'A'", "PREV(FIRST(v), 3) AS before", 3),
        ("A AS v = 'A'", "MATCH_NUMBER() AS n", 1),
    ],
)
def test_decided_rows_are_kept_as_far_as_something_looks_back(define: str, measures: str, kept: int) -> None:
    stream = RowStream(clause_of("A A", define=define, measures=measures), SCHEMA)
    for moment in range(20):
        stream.advance(rows_at(moment, "A"), moment)
    assert stream.state.rows.num_rows == kept


def test_state_is_bounded_by_the_window() -> None:
    stream = RowStream(clause_of("A+ B", behind="WITHIN 5"), SCHEMA)
    most = 0
    for moment in range(60):
        stream.advance(rows_at(moment, "A"), moment)
        most = max(most, stream.state.rows.num_rows)
    assert most <= 6
    assert told(stream.advance(rows_at(60, "B"), 60)) == "55:AAAAAB"


def test_rows_are_written_once() -> None:
    define = "A AS v <> 'B', B AS v = 'B'"
    stream = StoredRowStream(clause_of("A+ B", behind="WITHIN 1000", define=define), SCHEMA)
    written = []
    for moment in range(300):
        before = stream.store.written
        stream.advance(rows_at(moment, str(moment) * 500), moment)
        written.append(stream.store.written - before)
    assert stream.state.rows.num_rows == 300
    assert max(written[100:]) < 8 * max(written[:10])
    assert told(stream.advance(rows_at(400, "B"), 400)).startswith("0:")
    assert stream.state.idle


def test_changed_chunks_are_refused() -> None:
    stream = StoredRowStream(clause_of("A B"), SCHEMA)
    stream.advance(rows_at(0, "A"), 0)
    (number,) = stream.store.stored
    stream.store.stored[number] = b"x" + stream.store.stored[number][1:]
    with pytest.raises(StateError, match="is missing or changed"):
        stream.advance(rows_at(1, "B"), 1)


def test_partitions_that_nothing_happens_to_cost_nothing() -> None:
    clause = clause_of("A B+", define="A AS v <> 'x' AND coalesce(PREV(v), 'A') <> 'x', B AS v = PREV(v)")
    clause = clause.replace("ORDER BY", "PARTITION BY v ORDER BY").replace("(A B+)", "(A B+) WITHIN 1000")
    plan = row_plan(clause, SCHEMA)
    engine = RowEngine(plan)
    many = pa.table({"i": range(200), "v": [f"v{k % 50}" for k in range(200)]}, schema=SCHEMA)
    state, first = engine.advance(engine.start(SCHEMA), many, 300)
    state, second = engine.advance(state, rows_at(301, "v7"), 301)
    assert second.counters.bindings_tried < first.counters.bindings_tried / 20
    _, third = engine.advance(state, SCHEMA.empty_table(), 302)
    assert third.counters.bindings_tried == 0


@pytest.mark.parametrize(
    "clause, expected",
    [
        (clause_of("A B"), ["a match when the watermark reaches its last row", "at most 2 rows"]),
        (
            clause_of("A B+", behind="WITHIN 5", define="B AS v > PREV(v, 2)"),
            [
                "that ends what it prefers, or when the watermark has passed its window",
                "the last 2 rows, for ever",
            ],
        ),
        (clause_of("A B $", define="A AS NEXT(v) = 'B'"), ["that NEXT looks at", "$ is certain when"]),
    ],
)
def test_an_explanation_says_when_a_match_is_certain(clause: str, expected: list[str]) -> None:
    told = "\n".join(explain_row_stream(row_plan(clause, SCHEMA)))
    assert all(each in told for each in expected), told


def test_a_state_says_when_the_watermark_has_something_to_do() -> None:
    plan = row_plan(clause_of("A+", behind="WITHIN 5"), SCHEMA)
    engine = RowEngine(plan)
    state, _ = engine.advance(engine.start(SCHEMA), rows_at(3, "A"), 0)
    assert next_row_call(engine, state) == 3  # it is read
    state, _ = engine.advance(state, SCHEMA.empty_table(), 3)
    assert next_row_call(engine, state) == 8  # its window is over
    state, found = engine.advance(state, SCHEMA.empty_table(), 7)
    assert found.rows.num_rows == 0
    state, found = engine.advance(state, SCHEMA.empty_table(), 8)
    assert (found.rows.num_rows, state.idle, next_row_call(engine, state)) == (1, True, None)


# --- what is refused ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "clause, message",
    [
        ("PATTERN (A B) DEFINE A AS v = 'A'", "on a stream ORDER BY must begin with the time of the rows"),
        (
            "ORDER BY i DESC PATTERN (A B) DEFINE A AS v = 'A'",
            "on a stream rows are read as time goes on, and ORDER BY begins with i DESC",
        ),
        (
            "ORDER BY i PATTERN (A+ B) DEFINE A AS v = 'A'",
            "on a stream (A+ B) needs WITHIN: it may take any number of rows",
        ),
    ],
)
def test_what_a_stream_cannot_decide_is_refused_before_the_first_row(clause: str, message: str) -> None:
    plan = row_plan(f"MATCH_RECOGNIZE ({clause})", SCHEMA)
    with pytest.raises(StreamError) as caught:
        RowEngine(plan)
    assert caught.value.message.startswith(message)
    assert caught.value.remedy.startswith("Write")


def test_a_state_of_another_clause_is_refused() -> None:
    stream = RowStream(clause_of("A B"), SCHEMA)
    stream.advance(rows_at(0, "A"), 0)
    other = row_plan(clause_of("A B?"), SCHEMA)
    with pytest.raises(StateError, match="belongs to another query: its pattern, conditions, measures"):
        decode_row_state(other, stream.data, SCHEMA)
    with pytest.raises(StateError, match="with another schema"):
        decode_row_state(stream.plan, stream.data, SCHEMA.append(pa.field("w", pa.int64())))


def test_a_state_outlives_the_layout_of_its_clause() -> None:
    stream = RowStream(clause_of("A B"), SCHEMA)
    stream.advance(rows_at(0, "A"), 0)
    same = row_plan(clause_of("A  B").replace("MEASURES", "-- what is put out\nMEASURES"), SCHEMA)
    assert decode_row_state(same, stream.data, SCHEMA).rows.num_rows == 1


def test_damaged_bytes_are_refused() -> None:
    stream = RowStream(clause_of("A B"), SCHEMA)
    stream.advance(rows_at(0, "A"), 0)
    for place in range(0, len(stream.data), 7):
        damaged = bytearray(stream.data)
        damaged[place] ^= 0x55
        with pytest.raises(StateError):
            decode_row_state(stream.plan, bytes(damaged), SCHEMA)


def test_a_state_without_partitions_cannot_be_split() -> None:
    stream = RowStream(clause_of("A B"), SCHEMA)
    with pytest.raises(StateError, match="it has no PARTITION BY"):
        split_row_state(stream.plan, stream.state, 2)
    with pytest.raises(StateError, match="no states to merge"):
        merge_row_states([])
