"""The engine of row patterns finds the rows of the naive twin, whatever the clause."""

from __future__ import annotations

import pyarrow as pa
import pytest

import fyke
from fyke import reference
from fyke.errors import SkipError
from tests.random.row_clauses import RowCase, row_case


def outcome(case: RowCase, *, naive: bool) -> pa.Table | str:
    """Return the rows of a case, or what its matches cannot skip to."""
    try:
        return reference.match(case.table, case.clause) if naive else fyke.match(case.table, case.clause)
    except SkipError as error:
        return error.message.split(" of the ")[0]


def run(seeds: range) -> None:
    """Compare both on many cases; at least half of them have matches with rows."""
    matched = 0
    for seed in seeds:
        case = row_case(seed)
        expected, found = outcome(case, naive=True), outcome(case, naive=False)
        told = f"case {seed}\n{case.clause}"
        if isinstance(expected, str) or isinstance(found, str):
            assert found == expected, told
            continue
        assert found.schema == expected.schema, told
        assert found.to_pylist() == expected.to_pylist(), told
        matched += any(count > 0 for count in expected["n"].drop_null().to_pylist())
    assert matched >= len(seeds) / 2, f"{matched} of {len(seeds)} have matches with rows"


@pytest.mark.parametrize("block", range(3))
def test_random_clauses(block: int) -> None:
    run(range(200 * block, 200 * block + 200))


@pytest.mark.long
@pytest.mark.timeout(1200)
def test_many_random_clauses() -> None:
    run(range(5_000))
