"""Exponential queries end in an error that names its limit, within seconds and little memory."""

from __future__ import annotations

import json
import subprocess
import sys

import pyarrow as pa
import pytest

import fyke
from fyke.errors import LimitError

_MEASURED = """
import json, resource, sys, time
import pyarrow as pa
import fyke
from fyke.errors import LimitError

rows = 3000
events = pa.table({"kind": ["A"] * rows + ["B"] * rows + ["C"] * rows, "t": list(range(3 * rows))})
small = pa.table({"kind": ["A", "B", "C"], "t": [1, 2, 3]})
query = "PATTERN SEQ(A+ a[], B+ b[], C+ c[]) WHERE skip_till_any_match { a.t >= 0 }"
assert fyke.match(small, query, time="t", type="kind").num_rows == 1  # compiles the kernels
before, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.monotonic()
try:
    fyke.match(events, query, time="t", type="kind")
    limit = None
except LimitError as error:
    limit, message = error.limit, str(error)
seconds = time.monotonic() - began
after = fyke.match(small, query, time="t", type="kind").num_rows
grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024
found = {"limit": limit, "message": message, "seconds": seconds, "megabytes": grown, "after": after}
print(json.dumps(found))
"""


def test_groups_of_equal_events() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _MEASURED], capture_output=True, text=True, timeout=300, check=True
    )
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["limit"] == "runs"
    assert "'runs'" in found["message"]
    assert "fyke.Limits(runs=...)" in found["message"]
    assert found["seconds"] < 30
    assert found["megabytes"] < 600
    assert found["after"] == 1


@pytest.mark.parametrize(
    "limit, value",
    [("runs", 100), ("buffer_nodes", 10_000), ("steps", 1_000), ("matches", 300_000)],
)
def test_each_limit_by_its_name(limit: str, value: int) -> None:
    rows = 40
    events = pa.table({"kind": ["A"] * rows, "t": list(range(rows))})
    with pytest.raises(LimitError) as caught:
        fyke.match(
            events,
            "PATTERN A+ a[] WHERE skip_till_any_match { a.t >= 0 }",
            time="t",
            type="kind",
            limits=fyke.Limits(**{limit: value}),
        )
    assert caught.value.limit == limit
    assert caught.value.value == value
    assert repr(limit) in str(caught.value)
    few = events.slice(0, 4)
    assert (
        fyke.match(
            few, "PATTERN A+ a[] WHERE skip_till_any_match { a.t >= 0 }", time="t", type="kind"
        ).num_rows
        == 15
    )


def test_an_absence_that_must_try_everything() -> None:
    rows = 60
    events = pa.table(
        {"kind": ["A"] + ["B"] * rows + ["C"], "t": list(range(rows + 2)), "x": [1] * (rows + 2)}
    )
    query = "PATTERN SEQ(A a, ~B+ b[], C c) WHERE { sum(b[].x) > 1000 } WITHIN 1000"
    with pytest.raises(LimitError) as caught:
        fyke.match(events, query, time="t", type="kind", limits=fyke.Limits(steps=1_000_000))
    assert caught.value.limit == "steps"
