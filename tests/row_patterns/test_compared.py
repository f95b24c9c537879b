"""Conditions that are evaluated without Arrow hold where Arrow says, and nodes are the same however found."""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa
import pytest

from fyke.engine.conditions.evaluate import evaluate
from fyke.engine.kernels.row_patterns import layout as R
from fyke.engine.kernels.row_patterns.nodes import mark_partitions, mark_stretch
from fyke.engine.row_patterns.compared import compared
from fyke.engine.row_patterns.neighbours import true_bytes
from fyke.language.ast import Binary, Expression, Literal, Reference
from fyke.logical.check_operators import COMPARISONS

NAN, INFINITE = float("nan"), float("inf")
FLOATS = [NAN, -INFINITE, -1.5, -0.0, 0.0, 2.0, INFINITE]
WHOLE = [-(2**63), -1, 0, 1, 2, 2**53 + 1, 2**63 - 1]
PAIRS = list(itertools.product(range(7), range(7)))
COLUMNS = {
    "f": pa.array([FLOATS[a] for a, _ in PAIRS]),
    "g": pa.array([FLOATS[b] for _, b in PAIRS]),
    "i": pa.array([WHOLE[a] for a, _ in PAIRS]),
    "j": pa.array([WHOLE[b] for _, b in PAIRS]),
    "n": pa.array([None if a == b else a for a, b in PAIRS], pa.int64()),
    "b": pa.array([a % 2 for a, _ in PAIRS], pa.int8()),
}


def resolve(node: Expression) -> pa.Array:
    assert isinstance(node, Reference)
    return COLUMNS[node.path[0]]


def of(name: str) -> Reference:
    return Reference("", (name,))


SIDES = [
    *[(of(a), of(b)) for a, b in itertools.product("fgij", repeat=2)],
    *[(of(a), Literal(b)) for a in "fi" for b in (0, -1, 2, 2**53 + 1, 0.0, -1.5, 2.0)],
    *[(Literal(b), of(a)) for a in "fi" for b in (0, 2, 0.0, 2.0)],
]


@pytest.mark.parametrize("symbol", sorted(COMPARISONS))
def test_comparisons_of_numbers(symbol: str) -> None:
    made = 0
    for left, right in SIDES:
        node = Binary(symbol, left, right)
        found = compared(node, resolve)
        if found is None:
            continue
        made += 1
        assert found.tolist() == true_bytes(evaluate(node, resolve)).tolist(), node
    assert made >= 20


def test_joined_comparisons_and_what_is_left_to_arrow() -> None:
    less, more = Binary("<", of("f"), of("g")), Binary(">", of("i"), Literal(0))
    both = compared(Binary("AND", less, more), resolve)
    assert both is not None
    assert both.tolist() == true_bytes(evaluate(Binary("AND", less, more), resolve)).tolist()
    for node in (
        Binary("OR", less, more),
        Binary("AND", less, Binary("=", of("n"), Literal(1))),  # nulls
        Binary("=", of("b"), Literal(1)),  # another type
        Binary("=", of("f"), of("i")),
        Binary("<", of("f"), Literal(NAN)),
        Binary("<", of("i"), Literal(0.5)),
        Binary("<", of("f"), Literal(2**53 + 1)),  # no float
        of("b"),
    ):
        assert compared(node, resolve) is None


@pytest.mark.parametrize("rows", [R.LONG_SPAN + k for k in (-1, 0, 1, 2, 3, 4)] + [5000])
@pytest.mark.parametrize("seed", range(4))
def test_nodes_in_quarters_are_those_of_one_pass(rows: int, seed: int) -> None:
    """Whatever the table: also where what comes behind a row matters for ever."""
    rng = np.random.default_rng(seed)
    count, bits = 8, 2
    following = rng.integers(0, count, count << bits).astype(np.uint8)
    if seed % 2:  # a permutation for each symbol: two nodes never meet
        following = np.stack([rng.permutation(count) for _ in range(1 << bits)], axis=1)
        following = following.astype(np.uint8).ravel()
    symbols = rng.integers(0, 1 << bits, rows + 2).astype(np.uint8)
    expected, found, parts = (np.zeros(rows + 2, np.uint8) for _ in range(3))
    node = 0
    for row in range(rows, 0, -1):
        expected[row] = node = following[node << bits | int(symbols[row])]
    mark_stretch(symbols, following, found, 1, rows + 1, 0, bits, False)
    assert found.tolist() == expected.tolist()
    mark_partitions(symbols, following, np.array([1, rows + 1]), parts, bits)
    assert parts.tolist() == expected.tolist()
