"""Comparisons of decimals with whole numbers that no scaled decimal can hold."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pytest

import fyke

LARGEST, SMALLEST = 2**63 - 1, -(2**63)


@pytest.mark.parametrize("whole, holds", [(LARGEST, True), (SMALLEST, False), (2, True), (1, False)])
def test_a_large_whole_number_is_compared_exactly(whole: int, holds: bool) -> None:
    prices = pa.array([Decimal("1.25"), Decimal("1.25")], pa.decimal128(9, 2))
    events = pa.table({"kind": ["A", "B"], "t": [1, 2], "x": [whole, 0], "price": prices})
    query = "PATTERN SEQ(A a, B b) WHERE { a.x >= b.price } WITHIN 5"
    options = {"time": "t", "type": "kind"}
    assert fyke.match(events, query, **options).num_rows == int(holds)
    assert fyke.reference.match(events, query, **options).num_rows == int(holds)
