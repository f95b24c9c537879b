"""An upgrade of Fyke: streams that an older version has left in the middle go on, and miss nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from fyke.engine.state_bytes import FORMAT
from tests.spark.leave_behind import CASES, LEFT_BEHIND, run, take_up
from tests.spark.streams import OPTIONS, the_end
from tests.spark.tables import on_table

pytestmark = pytest.mark.spark

LEFT = sorted(path.parent for path in LEFT_BEHIND.glob("v*/*/left.json"))


def test_there_are_checkpoints_of_every_format() -> None:
    """``python -m tests.spark.leave_behind`` writes those of a new one."""
    for version in range(1, FORMAT + 1):
        assert {each.name for each in LEFT if each.parent.name == f"v{version}"} >= CASES.keys()


@pytest.mark.long  # every micro-batch of Spark takes seconds
@pytest.mark.parametrize("left", LEFT, ids=lambda left: f"{left.parent.name}-{left.name}")
def test_a_stream_that_an_older_version_has_left_goes_on(
    spark: SparkSession, tmp_path: Path, left: Path
) -> None:
    about = json.loads((left / "left.json").read_text())
    before, after = (pq.read_table(left.parent / f"{name}.parquet") for name in ("before", "after"))
    take_up(left, tmp_path)
    (tmp_path / "in").mkdir()
    pq.write_table(pa.concat_tables([after, the_end(after)]), tmp_path / "in" / "after.parquet")
    reported = run(spark, tmp_path, about["query"], about["options"], before.schema)
    options = {**OPTIONS, **about["options"]}
    batch = on_table(pa.concat_tables([before, after]), about["query"], **options)
    if "match_id" not in batch.column_names:  # totals: the last told of each partition
        last = {row["k"]: row for row in reported}
        assert last == {row["k"]: row for row in batch.to_pylist()}
        fresh = on_table(after, about["query"], **options)
        assert sum(row["n"] for row in fresh.to_pylist()) < sum(row["n"] for row in last.values())
        return
    found = sorted([*about["reported"], *(row["match_id"] for row in reported)])
    assert found == sorted(batch["match_id"].to_pylist())
    # Some of them need what the checkpoint holds.
    cut = max(before["ts"].to_pylist())
    begun = {row["match_id"] for row in batch.to_pylist() if row["start"] <= cut}
    assert begun - set(about["reported"])
