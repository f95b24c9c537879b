"""Each limit ends in an error that names it, the partition and the remedy; the next call works."""

from __future__ import annotations

import datetime

import pyarrow as pa
import pytest

import fyke
from fyke.engine.limits import describe_partition
from fyke.errors import LimitError

ROWS = 40
EVENTS = pa.table(
    {
        "kind": ["A"] * (ROWS + 4),
        "t": list(range(ROWS + 4)),
        "symbol": ["SUN"] * 2 + ["IBM"] * ROWS + ["SUN"] * 2,
    }
)
ALL = "PATTERN A+ a[] WHERE skip_till_any_match { a.t >= 0 }"
BY_SYMBOL = "PATTERN A+ a[] WHERE skip_till_any_match { [symbol] }"
APART = fyke.Techniques(merging=False)  # merged, there would be one run
OPTIONS = {"time": "t", "type": "kind"}

LIMITS = [
    (
        "runs",
        100,
        "limit 'runs' of 100 was exceeded in {where} by the partial matches of the group a[]\n"
        "Add a window (WITHIN ...), {key}, or choose a stricter strategy, such as skip_till_next_match. "
        "Or raise the limit: limits=fyke.Limits(runs=...).",
    ),
    (
        "buffer_bytes",
        400_000,
        "limit 'buffer_bytes' of 400,000 was exceeded in {where} by the partial matches of the group a[]\n"
        "Add a window (WITHIN ...), {key}, choose a stricter strategy, such as skip_till_next_match, "
        'or ask for numbers alone (RETURN count(*)) or for output="compressed". '
        "Or raise the limit: limits=fyke.Limits(buffer_bytes=...).",
    ),
    (
        "matches",
        300_000,
        "limit 'matches' of 300,000 was exceeded in {where} by the matches of the group a[]\n"
        "Add a window (WITHIN ...), {key}, choose a stricter strategy, such as skip_till_next_match, "
        'or ask for numbers alone (RETURN count(*)) or for output="compressed". '
        "Or raise the limit: limits=fyke.Limits(matches=...).",
    ),
    (
        "steps",
        1_000,
        "limit 'steps' of 1,000 was exceeded in {where} by the partial matches of the group a[]\n"
        "Add a window (WITHIN ...), {key}, or choose a stricter strategy, such as skip_till_next_match. "
        "Or raise the limit: limits=fyke.Limits(steps=...).",
    ),
]
KEYS = {ALL: "add a key ([attribute]) or other conditions", BY_SYMBOL: "add conditions"}


@pytest.mark.parametrize("limit, value, text", LIMITS, ids=[limit for limit, _, _ in LIMITS])
@pytest.mark.parametrize(
    "query, where", [(ALL, "the whole input"), (BY_SYMBOL, "the partition symbol = 'IBM'")]
)
def test_the_error_of_a_limit(query: str, where: str, limit: str, value: int, text: str) -> None:
    limits = fyke.Limits(**{limit: value})
    with pytest.raises(LimitError) as caught:
        fyke.match(EVENTS, query, limits=limits, engine="automaton", techniques=APART, **OPTIONS)
    assert (caught.value.limit, caught.value.value) == (limit, value)
    assert str(caught.value) == text.format(where=where, key=KEYS[query])
    assert caught.value.__cause__ is None
    assert fyke.match(EVENTS.slice(2, 4), query, **OPTIONS).num_rows == 15


def test_strict_contiguity_reads_all_partitions_together() -> None:
    query = "PATTERN A+ a[] WHERE strict_contiguity { [symbol] }"
    with pytest.raises(LimitError, match="was exceeded in the whole input"):
        fyke.match(EVENTS, query, limits=fyke.Limits(steps=10), **OPTIONS)


def test_an_absence_that_must_try_everything() -> None:
    rows = 60
    events = pa.table(
        {"kind": ["A"] + ["B"] * rows + ["C"], "t": list(range(rows + 2)), "x": [1] * (rows + 2)}
    )
    query = "PATTERN SEQ(A a, ~B+ b[], C c) WHERE { [x] AND sum(b[].x) > 1000 } WITHIN 1000"
    with pytest.raises(LimitError) as caught:
        fyke.match(events, query, limits=fyke.Limits(steps=1_000_000), **OPTIONS)
    assert caught.value.message == (
        "limit 'steps' of 1,000,000 was exceeded in the partition x = 1 by the search for the absent b[]"
    )
    assert caught.value.remedy.startswith("Shorten the window, or add conditions. Or raise the limit")


def test_a_partition_is_told_in_one_line() -> None:
    row = {"a b": "line\nbreak's", "at": datetime.datetime(2026, 1, 31), "n": 1.5, "raw": b"x" * 90}
    assert describe_partition(pa.Table.from_pylist([row, row]), tuple(row), 1) == (
        "the partition a b = \"line\\nbreak's\" and at = 2026-01-31 00:00:00 and n = 1.5 and raw = b'"
        + "x" * 58
        + "..."
    )
    nanoseconds = pa.table({"at": pa.array([1_000_000_001], pa.timestamp("ns"))})
    assert describe_partition(nanoseconds, ("at",), 0) == "the partition at = 1970-01-01 00:00:01"
