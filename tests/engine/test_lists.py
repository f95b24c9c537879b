"""``corr`` of two lists across events, against the definition of Pearson's coefficient."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest

import fyke
from fyke.errors import InputError
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


@pytest.mark.parametrize("engine", ["automaton", "lazy_chain", "lazy_tree"])
def test_lists_of_unequal_lengths_are_refused(engine: str) -> None:
    table = pa.table({"kind": ["A", "B"], "t": [1, 2], "x": pa.array([[1.0, 2.0], [1.0, 2.0, 3.0]], LISTS)})
    query = "PATTERN SEQ(A a, B b) WHERE skip_till_any_match { corr(a.x, b.x) > 0 } WITHIN 10"
    with pytest.raises(InputError) as caught:
        fyke.match(table, query, time="t", type="kind", engine=engine)
    assert str(caught.value) == (
        "corr of a and b compares lists of one length, found 2 and 3 numbers\n"
        "Cut or fill the lists to one length, or use null where there is no list."
    )
    with pytest.raises(InputError, match="found 2 and 3 numbers"):
        fyke.reference.match(table, query, time="t", type="kind")


def test_corr_in_the_lazy_kernel_equals_the_automaton() -> None:
    random = np.random.default_rng(5)
    rows = 400
    table = pa.table(
        {
            "kind": random.choice(["A", "B", "C"], rows),
            "t": np.arange(rows),
            "history": pa.array(list(random.normal(size=(rows, 20))), LISTS),
        }
    )
    query = """PATTERN SEQ(A a, B b, C c)
        WHERE skip_till_any_match { corr(a.history, b.history) > 0.3 AND corr(b.history, c.history) > 0.2 }
        WITHIN 40 RETURN count(*) AS n"""
    found = {
        engine: fyke.match(table, query, time="t", type="kind", engine=engine).column("n").to_pylist()
        for engine in ("automaton", "lazy_chain", "lazy_tree")
    }
    assert found["automaton"][0] > 0
    assert found["lazy_chain"] == found["lazy_tree"] == found["automaton"]


def test_corr_of_nan() -> None:
    assert holds("corr(a.x, b.y) > 1", [1.0, math.nan, 2.0], [1.0, 2.0, 3.0], LISTS)


@pytest.mark.parametrize(
    "kind", [pa.large_list(pa.int32()), pa.list_(pa.float32()), pa.list_(pa.float64(), 3)]
)
def test_corr_of_other_layouts(kind: pa.DataType) -> None:
    assert holds("corr(a.x, b.y) > 0.999", [1, 2, 3], [2.0, 4.0, 6.0], kind, LISTS)
