"""Rows shuffled, bytes sent to Python and conditions decided are those in ``counts.txt``, exactly.

So a change that makes Spark move more, or Python get or decide more, shows without a clock.
"""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from tests.spark.counts import PINNED, QUERIES, counts, head, line

pytestmark = pytest.mark.spark

LINES = PINNED.read_text(encoding="utf-8").splitlines()


def test_all_queries_are_pinned() -> None:
    assert LINES[0] == head()
    assert [each[:22].strip() for each in LINES[1:]] == list(QUERIES)
    assert len(QUERIES) >= 12


@pytest.mark.parametrize("name", QUERIES)
def test_the_counts_of_a_query(spark: SparkSession, name: str) -> None:
    pinned = next(each for each in LINES if each[:22].strip() == name)
    assert line(name, counts(spark, name)) == pinned
