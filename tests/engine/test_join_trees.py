"""Join trees: what the random tests have found."""

from __future__ import annotations

import itertools

import pyarrow as pa

import fyke
from fyke import Techniques
from fyke.plan.tree_shape import every_shape


def test_strict_contiguity_never_joins_two_partitions() -> None:
    """An event of another partition between the first and the last of a match is not part of it."""
    table = pa.table({"t": [1, 2, 3, 4], "kind": ["A"] * 4, "s": ["p", "p", "q", "p"]})
    query = "PATTERN SEQ(AND(SEQ(A a, A b), A c), A e) WHERE strict_contiguity { [s] } WITHIN 4"
    for names in itertools.permutations("abce"):
        for shape in every_shape(names):
            switches = Techniques(tree=shape)
            found = fyke.match(table, query, time="t", type="kind", engine="tree", techniques=switches)
            assert found.num_rows == 0, shape
