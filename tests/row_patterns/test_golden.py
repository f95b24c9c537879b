"""The worked examples that other systems publish: the same rows and clause, the same result."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pyarrow as pa
import pytest

import fyke
from fyke import errors, reference
from tests.row_patterns.golden_cases import RowCase, load_row_cases

CASES = load_row_cases()


def test_there_are_enough_examples_of_each_system() -> None:
    """Sixty of the cases are from documentation; the others are from a system's own tests."""
    systems = Counter(case.source.partition(",")[0] for case in CASES)
    documented = Counter(case.source.partition(",")[0] for case in CASES if "/src/test/" not in case.source)
    assert systems.keys() == documented.keys() == {"Oracle", "Trino", "Snowflake", "Flink"}
    assert min(systems.values()) >= 4
    assert documented.total() >= 60, documented


@pytest.mark.parametrize("match", [reference.match, fyke.match], ids=["reference", "engine"])
@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_result(case: RowCase, match: Callable[..., pa.Table]) -> None:
    if isinstance(case.expected, str):
        with pytest.raises(getattr(errors, case.expected)):
            match(case.table, case.clause)
        return
    assert case.difference(match(case.table, case.clause)) is None
