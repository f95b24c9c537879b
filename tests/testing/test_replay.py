"""The testing kit: timelines, micro-batches, crashes, and what its assertions say."""

from __future__ import annotations

import pyarrow as pa
import pytest

from fyke.errors import InputError, OptionError, StreamError
from fyke.testing import assert_matches, assert_same_as_batch, match_texts, parse_timeline, replay

pytest_plugins = ["fyke.testing.plugin"]

PAIR = "PATTERN SEQ(a x, b y) WITHIN 9"


def test_a_timeline_is_read_as_written() -> None:
    stream = parse_timeline("a@0 b(k=1, name='x y', on=true)@3 | | crash | d(k=null)@-12")
    assert [batch.num_rows for batch in stream.batches] == [2, 0, 1]
    assert stream.crashes == {2}
    assert stream.events.to_pylist() == [
        {"type": "a", "time": 0, "k": None, "name": None, "on": None},
        {"type": "b", "time": 3, "k": 1, "name": "x y", "on": True},
        {"type": "d", "time": -12, "k": None, "name": None, "on": None},
    ]


def test_events_that_last_have_a_start() -> None:
    stream = parse_timeline("a@0..4 b@5")
    assert stream.time == ("start_time", "time")
    assert stream.events.to_pylist() == [
        {"type": "a", "start_time": 0, "time": 4},
        {"type": "b", "start_time": 5, "time": 5},
    ]


@pytest.mark.parametrize(
    "text, said",
    [
        ("a@0 b@x", "found 'b@x'"),
        ("a@0 | b", "found 'b'"),
        ("a(k)@0", "attributes of an event"),
        ("a@0 a@1b", "found 'a@1b'"),
        ("a(k=1)@0 a(k='x')@1", "values of several types"),
        ("a@0 crash", "found 'crash'"),
    ],
)
def test_a_text_that_is_no_timeline_is_refused(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        parse_timeline(text)


@pytest.mark.parametrize("text", ["a@0 b@3 b@12", "a@0 | b@3 | b@12", "a@0 | crash | b@3 | crash | b@12"])
def test_any_split_and_any_crash_give_the_same_matches(text: str) -> None:
    seen = replay(PAIR, text)
    assert_matches(seen, ["x@0 y@3"])
    assert_same_as_batch(seen)
    assert seen.state_bytes[-1] == 0


def test_events_may_come_in_any_order_within_the_delay() -> None:
    seen = replay(PAIR, "b@3 | a@0 b@1 | a@20", delay=5)
    assert_matches(seen, ["x@0 y@1"])
    assert seen.late.num_rows == 0
    late = replay(PAIR, "b@13 | a@0 b@1 | a@20", delay=5)
    assert late.late.to_pylist() == [{"type": "a", "time": 0}, {"type": "b", "time": 1}]
    assert late.matches.num_rows == 0


def test_a_match_is_reported_by_the_batch_that_makes_it_certain() -> None:
    absent = "PATTERN SEQ(a x, b y, ~c z) WITHIN 9"
    seen = replay(absent, "a@0 b@3 | d@8 | d@9 | d@10")
    assert [batch.num_rows for batch in seen.batches] == [0, 0, 1, 0, 0]
    open_end = replay(absent, "a@0 b@3 | d@8", end=False)
    assert open_end.matches.num_rows == 0
    assert open_end.state_bytes[-1] > 0


def test_a_difference_says_what_is_missing_and_what_was_not_expected() -> None:
    seen = replay(PAIR, "a@0 | b@3")
    with pytest.raises(AssertionError) as caught:
        assert_matches(seen, ["x@0 y@4"])
    assert str(caught.value) == (
        "expected 1 matches and found 1\n  missing:      x@0 y@4\n"
        "  not expected: x@0 y@3  (micro-batch 2 of 3)"
    )
    returned = replay(f"{PAIR} RETURN y.time - x.time AS gap", "a@0 | b@3")
    assert_matches(returned, [{"gap": 3}])
    with pytest.raises(AssertionError, match="'gap': 3"):
        assert_matches(returned, [{"gap": 4}])


def test_a_stream_with_late_events_is_not_compared_with_the_batch() -> None:
    with pytest.raises(AssertionError, match="1 events came late"):
        assert_same_as_batch(replay(PAIR, "a@0 b@13 | b@2"))


def test_groups_and_keys_are_shown_with_their_times(fyke_replay) -> None:  # type: ignore[no-untyped-def]
    query = "PATTERN SEQ(a x, b+ y[]) WHERE greedy_skip_till_next_match { [k] } WITHIN 9"
    seen = fyke_replay(query, "a(k=1)@0 a(k=2)@1 | b(k=1)@2 | b(k=1)@4 b(k=2)@5")
    assert sorted(match_texts(seen)) == ["x@0 y@2 y@4", "x@1 y@5"]
    assert match_texts(pa.concat_tables(seen.batches)) == match_texts(seen)


def test_aggregates_over_matches_are_running_totals() -> None:
    query = "PATTERN SEQ(a x, b y) WHERE { [k] } WITHIN 9 RETURN count(*) AS n, max(y.time) AS last"
    events = "a(k=1)@0 b(k=1)@1 a(k=2)@1 | crash | a(k=1)@2 b(k=1)@3 | crash | b(k=2)@4 | d(k=1)@40"
    seen = replay(query, events)
    assert [batch.to_pylist() for batch in seen.batches] == [
        [{"k": 1, "n": 1, "last": 1}],
        [{"k": 1, "n": 2, "last": 3}],
        [{"k": 2, "n": 1, "last": 4}],
        [],
        [],
    ]
    assert_same_as_batch(seen)
    of_all = replay(f"{PAIR} RETURN count(*) AS n", "a@0 b@3 | a@5 | b@6")
    assert_matches(of_all, [{"n": 1}, {"n": 2}])
    assert_same_as_batch(of_all)


def test_what_a_replay_needs_is_told() -> None:
    with pytest.raises(StreamError, match="needs a window"):
        replay("PATTERN SEQ(a x, b y)", "a@0 b@1")
    with pytest.raises(StreamError, match="no running total of median"):
        replay(f"{PAIR} RETURN median(x.time) AS middle", "a@0 b@1")
    with pytest.raises(OptionError, match="delay must be"):
        replay(PAIR, "a@0 b@1", delay=-1)
    with pytest.raises(InputError, match="takes a pattern"):
        replay("SELECT * FROM [RANGE 5 seconds] a", "a@0 b@1")


# --- MATCH_RECOGNIZE --------------------------------------------------------------------------------


def clause(pattern: str, order: str = "time", measures: str = "FIRST(time) AS began, count(*) AS n") -> str:
    return (
        f"MATCH_RECOGNIZE (PARTITION BY k ORDER BY {order} MEASURES {measures} "
        f"PATTERN ({pattern}) WITHIN 9 DEFINE A AS type = 'a', B AS type = 'b')"
    )


@pytest.mark.parametrize(
    "text",
    [
        "a(k=1)@0 b(k=1)@3 b(k=1)@5 a(k=2)@5 b(k=1)@30",
        "a(k=1)@0 | b(k=1)@3 | b(k=1)@5 a(k=2)@5 | b(k=1)@30",
        "a(k=1)@0 | crash | b(k=1)@3 | crash | b(k=1)@5 a(k=2)@5 | crash | b(k=1)@30",
    ],
)
def test_any_split_and_any_crash_give_the_rows_of_a_clause(text: str) -> None:
    seen = replay(clause("A B+"), text)
    assert_matches(seen, [{"k": 1, "began": 0, "n": 3}])
    assert_same_as_batch(seen)
    assert seen.state_bytes[-1] == 0
    told = replay(clause("A B+"), text, timeouts=True)
    assert_matches(told, [{"k": 1, "status": "match"}, {"k": 2, "n": 1, "status": "timeout"}])
    assert_same_as_batch(told)


def test_a_clause_reports_when_a_match_is_certain_and_leaves_out_late_rows(fyke_replay) -> None:  # type: ignore[no-untyped-def]
    seen = fyke_replay(clause("A B"), "b(k=1)@3 | a(k=1)@0 | c(k=1)@7 | c(k=1)@8", delay=4)
    assert [batch.num_rows for batch in seen.batches] == [0, 0, 1, 0, 0]
    assert seen.state_bytes[1] > 0
    grown = fyke_replay(clause("A B+"), "a(k=1)@0 b(k=1)@3 | c(k=2)@8 | c(k=2)@9 | c(k=1)@10")
    assert [batch.num_rows for batch in grown.batches] == [0, 0, 1, 0, 0]
    late = replay(clause("A B"), "a(k=1)@0 | c(k=1)@9 | b(k=1)@3")
    assert late.late.to_pylist() == [{"type": "b", "time": 3, "k": 1}]
    assert late.matches.num_rows == 0


def test_what_a_stream_refuses_of_a_clause_a_replay_refuses() -> None:
    with pytest.raises(StreamError, match=r"\(A\+\) needs WITHIN"):
        replay("MATCH_RECOGNIZE (ORDER BY time PATTERN (A+) DEFINE A AS type = 'a')", "a@0")
    with pytest.raises(StreamError, match="it begins with k"):
        replay(clause("A B", "k"), "a(k=1)@0")
    with pytest.raises(OptionError, match="takes no option 'metrics'"):
        replay(clause("A B"), "a(k=1)@0", metrics=None)
    with pytest.raises(OptionError, match="type has a meaning for queries over events"):
        replay(clause("A B"), "a(k=1)@0", type="type")


def test_attempts_of_a_pattern_that_expire_are_replayed_as_the_batch_has_them() -> None:
    seen = replay("PATTERN SEQ(a x, b y) WITHIN 9", "a@0 | a@5 b@6 | d@40", timeouts=True)
    assert "status" in seen.matches.column_names
    assert_same_as_batch(seen)
