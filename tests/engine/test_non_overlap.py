"""The order in which matches are taken without overlap: by its definition, and soon."""

from __future__ import annotations

import time

import numpy as np
import pyarrow as pa

import fyke
from fyke.engine.kernels import layout as L
from fyke.engine.matchset import MatchSet
from fyke.engine.selection.non_overlap import output_order


def any_matches(rng: np.random.Generator, count: int) -> MatchSet:
    """Return matches of up to four of five variables over eight rows, in no order."""
    lengths = rng.integers(1, 5, count)
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    positions = [np.sort(rng.choice(8, size, replace=False)) for size in lengths]
    return MatchSet(
        np.concatenate(positions), rng.integers(0, 5, offsets[-1]), offsets, np.zeros(count, np.int64)
    )


def by_definition(matches: MatchSet, m: int) -> list[list[int]]:
    """Return the positions of a match, variable by variable; an empty list comes first."""
    own = range(matches.offsets[m], matches.offsets[m + 1])
    return [[int(matches.positions[k]) for k in own if matches.variables[k] == v] for v in range(5)]


def test_ties_are_broken_by_the_positions_of_each_variable_in_turn() -> None:
    rng = np.random.default_rng(0)
    events = np.zeros((L.EVENT_SIZE, 8), np.int64)  # all rows at one moment: everything is a tie
    events[L.EVENT_START] = events[L.EVENT_END] = 7
    matches = any_matches(rng, 400)
    segment = rng.integers(0, 3, 400)
    expected = sorted(
        range(400), key=lambda m: (segment[m], -matches.lengths[m], by_definition(matches, m), m)
    )
    assert output_order(matches, segment, events).tolist() == expected


def test_a_hundred_thousand_tied_matches_are_put_in_order_soon() -> None:
    kinds = ["A"] * 44 + ["B"] * 44 + ["C"] * 44
    table = pa.table({"t": np.repeat([0, 1, 2], 44), "kind": kinds})
    query = "PATTERN SEQ(A a, B b, C c) WHERE skip_till_any_match { }"
    fyke.match(table.slice(0, 1), query, time="t", type="kind", output="non_overlap")
    began = time.perf_counter()
    found = fyke.match(table, query, time="t", type="kind", output="non_overlap")
    assert found.num_rows == 1
    assert time.perf_counter() - began < 20  # it took an hour when each match looked at all others
