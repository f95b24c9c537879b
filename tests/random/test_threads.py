"""A table cut into pieces gives the rows of the whole, and every number of threads the same in one order."""

from __future__ import annotations

from collections import Counter
from unittest.mock import patch

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fyke
from fyke.engine import cut
from fyke.language.ast import Strategy
from tests.random.results import difference
from tests.random.streams import cases
from tests.random.test_engine_against_reference import SETTINGS

OUTPUTS = ("all", "non_overlap", "compressed")


def check_pieces(strategy: Strategy, output: str, examples: int) -> Counter[str]:
    """Compare pieces of a few rows with the whole; return how many cases were cut, and by what."""
    seen: Counter[str] = Counter()

    @settings(SETTINGS, max_examples=examples, derandomize=True)
    @given(cases(strategy, judged=False), st.integers(1, 4))
    def check(case, size) -> None:  # type: ignore[no-untyped-def]
        query, options = case.query, {**case.options}
        if output == "compressed" and query.returns is not None:
            return
        options["output"] = output
        expected = fyke.match(case.table, query, **options)
        with patch.object(cut, "LEAST_ROWS", 1), patch.object(cut, "PIECE_ROWS", size):
            one, two = (fyke.match(case.table, query, threads=n, **options) for n in (1, 3))
            pieces = fyke.explain(case.table, query, **options)
            batches = list(fyke.match_batches(case.table, query, **options))
        assert repr(two.to_pylist()) == repr(one.to_pylist())  # NaN is no NaN to Arrow
        assert sum(batch.num_rows for batch in batches) == one.num_rows
        if output == "compressed":
            one, expected = (_listed(each) for each in (one, expected))
        differing = difference(one, expected)
        assert differing is None, differing
        line = next(line for line in pieces.splitlines() if line.startswith("  pieces"))
        seen["by time" if "time" in line else "one" if " one:" in line else "by key"] += 1
        seen["matches"] += expected.num_rows > 0

    check()
    return seen


def _listed(compressed: pa.Table) -> pa.Table:
    batches = list(fyke.enumerate_matches(compressed))
    return pa.Table.from_batches(batches) if batches else compressed


@pytest.mark.parametrize("strategy", Strategy)
def test_pieces_give_the_rows_of_the_whole(strategy: Strategy) -> None:
    seen = check_pieces(strategy, "all", 40)
    assert min(seen["by time"], seen["matches"]) > 5, seen


@pytest.mark.long
@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("strategy", Strategy)
def test_pieces_give_the_rows_of_the_whole_in_every_format(strategy: Strategy, output: str) -> None:
    assert check_pieces(strategy, output, 150)["matches"] > 30
