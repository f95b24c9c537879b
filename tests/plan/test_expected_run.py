"""What ``explain`` quotes is what a run does, within an order of magnitude: strategies, merging, counting."""

from __future__ import annotations

import random
import re
from typing import Any

import pyarrow as pa
import pytest

import fyke

QUERIES = [
    ("PATTERN SEQ(A+ a[], B b) WHERE skip_till_next_match { [k] } WITHIN 1000", {}),
    ("PATTERN SEQ(A a, B b, C c) WHERE skip_till_next_match { a.x < c.x }", {}),
    ("PATTERN SEQ(A a, B b, C c) WHERE skip_till_next_match { [k] }", {}),
    ("PATTERN SEQ(A a, B b, C c) WHERE robust_skip_till_next_match { a.x < c.x }", {}),
    ("PATTERN SEQ(A+ a[], B b) WHERE partition_contiguity { a.x > 3 }", {}),
    ("PATTERN SEQ(A+ a[], B b) WHERE greedy_skip_till_next_match { [k] } WITHIN 1000", {}),
    ("PATTERN SEQ(A+ a[], B b) WHERE skip_till_any_match { [k] } RETURN count(*) AS n", {}),
    ("PATTERN SEQ(A+ a[], B b) WHERE skip_till_any_match { a.x > 3 } WITHIN 300", {"output": "compressed"}),
]


@pytest.mark.parametrize("query, options", QUERIES)
def test_the_estimate_of_partial_matches(query: str, options: dict[str, Any]) -> None:
    chance, rows = random.Random(1), 5_000
    table = pa.table(
        {
            "kind": chance.choices("ABC", k=rows),
            "t": list(range(rows)),
            "x": [chance.randrange(100) for _ in range(rows)],
            "k": [chance.randrange(500) for _ in range(rows)],
        }
    )
    metrics, named = fyke.Metrics(), {"time": "t", "type": "kind", **options}
    fyke.match(table, query, metrics=metrics, **named)
    told = fyke.explain(table, query, metrics=metrics, **named)
    line = re.search(r"partial matches per window +(\S+) +(\S+)", told)
    assert line is not None
    estimated, observed = (float(number.replace(",", "")) for number in line.groups())
    assert observed / 10 < estimated < 10 * observed, line.group()
    quoted = re.search(r"chosen .*: (\S+) partial matches", told)
    assert quoted is not None
    assert float(quoted.group(1).replace(",", "")) == pytest.approx(estimated, rel=0.1)
