"""Matches appear in the first micro-batch whose watermark makes them certain, and in none before."""

from __future__ import annotations

from typing import Any

import pytest

from fyke.language.ast import Strategy
from fyke.testing import replay

# By name: a pattern, the options, events after A at 0 and B at 20 (if any), and when its match is certain.
CERTAIN: dict[str, tuple[str, dict[str, Any], str, int]] = {
    "skip_till_any_match": ("SEQ(A a, B b)", {}, "", 20),
    "skip_till_next_match": ("SEQ(A a, B b)", {}, "", 20),
    "greedy_skip_till_next_match": ("SEQ(A a, B+ b[])", {}, "", 60),
    "greedy_skip_till_next_match, complete": ("SEQ(A a, B b)", {}, "", 20),
    "robust_skip_till_next_match": ("SEQ(A a, B b)", {}, "", 60),
    "partition_contiguity": ("SEQ(A a, B b)", {}, "", 20),
    "strict_contiguity": ("SEQ(A a, B b)", {}, "", 20),
    "greedy_partition_contiguity": ("SEQ(A a, B+ b[])", {}, "", 60),
    "greedy_partition_contiguity, ended": ("SEQ(A a, B+ b[])", {}, "D(k=1)@35", 35),
    "greedy_strict_contiguity": ("SEQ(A a, B+ b[])", {}, "", 21),  # the next event, of whatever key, ends it
    "skip_till_next_match, absence between": ("SEQ(A a, ~C c, B b)", {}, "", 20),
    "skip_till_next_match, absence at the end": ("SEQ(A a, B b, ~C c)", {}, "", 60),
    "skip_till_any_match, absence at the end": ("SEQ(A a, B b, ~C c)", {}, "", 60),
    "skip_till_any_match, non_overlap": ("SEQ(A a, B b)", {"output": "non_overlap"}, "", 20),
    "skip_till_any_match, non_overlap, absence at the end": (
        "SEQ(A a, B b, ~C c)",
        {"output": "non_overlap"},
        "",
        60,
    ),
    "robust_skip_till_next_match, non_overlap": ("SEQ(A a, B b)", {"output": "non_overlap"}, "", 60),
    "greedy_skip_till_next_match, non_overlap": ("SEQ(A a, B+ b[])", {"output": "non_overlap"}, "", 80),
    "skip_till_next_match, timeouts": ("SEQ(A a, C c)", {"timeouts": True}, "", 60),
}


@pytest.mark.parametrize("name", CERTAIN)
def test_a_match_appears_as_soon_as_it_is_certain(name: str) -> None:
    pattern, options, more, moment = CERTAIN[name]
    strategy = name.partition(",")[0]
    query = f"PATTERN {pattern} WHERE {strategy} {{ [k] }} WITHIN 60"
    # A second a micro-batch, by events of another key; state is dropped and read again between them.
    seconds = {second: f"X(k=2)@{second}" for second in range(21, 140)}
    if more:
        seconds[int(more.partition("@")[2])] = more
    seen = replay(query, " | ".join(["A(k=1)@0 B(k=1)@20", *seconds.values()]), end=False, **options)
    reported = {20 + number: batch.num_rows for number, batch in enumerate(seen.batches) if batch.num_rows}
    assert reported == {moment: 1}


def test_every_strategy_is_among_them() -> None:
    assert {name.partition(",")[0] for name in CERTAIN} == {strategy.value for strategy in Strategy}


@pytest.mark.parametrize("strategy", [each.value for each in Strategy if not each.strict])
def test_nothing_is_kept_once_windows_are_past(strategy: str) -> None:
    query = f"PATTERN SEQ(A a, B+ b[], ~C c) WHERE {strategy} {{ [k] }} WITHIN 60"
    # Events of no partition: under contiguity those of one are kept for a window themselves.
    beats = " | ".join(f"X(k=null)@{second}" for second in (50, 100, 150, 200, 300))
    seen = replay(query, f"A(k=1)@0 B(k=1)@20 A(k=3)@30 | {beats}", end=False)
    assert sum(batch.num_rows for batch in seen.batches) == 1
    assert max(seen.state_bytes) > 0
    assert seen.state_bytes[-1] == 0
