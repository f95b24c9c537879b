"""The page of guarantees: every test it names exists; and the tests that live nowhere else."""

from __future__ import annotations

import re

import pyarrow as pa
import pytest

import fyke
from tests.docs.blocks import ROOT

PAGE = ROOT / "docs" / "guarantees.md"


def test_every_guarantee_names_a_test_that_exists() -> None:
    rows = [
        line for line in PAGE.read_text().splitlines() if line.startswith("| ") and "| test |" not in line
    ]
    assert len(rows) >= 20
    for row in rows:
        named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", row)
        assert named, row
        for path, function in named:
            assert re.search(rf"^def {function}\(", (ROOT / path).read_text(), re.MULTILINE), (
                f"{path}::{function}"
            )


def test_rejected_rows_are_told_of() -> None:
    events = pa.table({"kind": ["A", "A", "A"], "at": pa.array([1, None, None])})
    with pytest.warns(fyke.RejectedRowsWarning, match="2 of 3 rows have no time"):
        found = fyke.match(events, "PATTERN A a", time="at", type="kind")
    assert found.num_rows == 1
    metrics = fyke.Metrics()
    fyke.match(events, "PATTERN A a", time="at", type="kind", metrics=metrics)
    assert (metrics.get()["rows"], metrics.get()["rejected_rows"]) == (3, 2)
    assert fyke.rejected(events, time="at").num_rows == 2
