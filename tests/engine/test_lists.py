"""``corr`` of two lists across events, against the definition of Pearson's coefficient."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest

from tests.engine.pairs import holds

LISTS = pa.list_(pa.float64())


@pytest.mark.parametrize(
    "left, right, expected",
    [
        ([1.0, 2.0, 3.0], [2.0, 4.0, 6.0], 1.0),
        ([1.0, 2.0, 3.0], [3.0, 2.0, 1.0], -1.0),
        ([1.0, 2.0, 3.0, 4.0], [1.0, 3.0, 2.0, 4.0], 0.8),
        ([1e9, 1e9 + 1, 1e9 + 2], [0.0, 1.0, 2.0], 1.0),
    ],
)
def test_corr(left: list[float], right: list[float], expected: float) -> None:
    assert math.isclose(float(np.corrcoef(left, right)[0, 1]), expected)
    assert holds(f"abs(corr(a.x, b.y) - ({expected})) < 1e-9", left, right, LISTS)
    assert holds(f"corr(a.x, b.y) * 2 + 1 > {2 * expected + 0.99}", left, right, LISTS)


@pytest.mark.parametrize(
    "left, right",
    [
        ([1.0, 2.0], [1.0, 2.0, 3.0]),
        ([1.0, 1.0], [1.0, 2.0]),
        ([1.0], [2.0]),
        ([], []),
        (None, [1.0, 2.0]),
        ([1.0, None], [1.0, 2.0]),
    ],
)
def test_corr_without_a_value(left: list[float] | None, right: list[float]) -> None:
    assert holds("corr(a.x, b.y) IS NULL", left, right, LISTS)
    assert not holds("corr(a.x, b.y) <= 1", left, right, LISTS)


def test_corr_of_nan() -> None:
    assert holds("corr(a.x, b.y) > 1", [1.0, math.nan, 2.0], [1.0, 2.0, 3.0], LISTS)


@pytest.mark.parametrize(
    "kind", [pa.large_list(pa.int32()), pa.list_(pa.float32()), pa.list_(pa.float64(), 3)]
)
def test_corr_of_other_layouts(kind: pa.DataType) -> None:
    assert holds("corr(a.x, b.y) > 0.999", [1, 2, 3], [2.0, 4.0, 6.0], kind, LISTS)
