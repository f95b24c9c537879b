"""Rules on DataFrames: the rows of each rule, one scan, one shuffle; a failing rule stops no other."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import fyke
from fyke.errors import LimitError, NotRunError, QuerySyntaxError
from fyke.spark import rules
from tests.rules.test_tables import EVENTS, OPTIONS, TEXTS, rows

pytestmark = pytest.mark.spark

SHARED = {name: TEXTS[name] for name in ("pairs", "absent", "groups", "any_of", "contiguous", "total")}
MORE = {
    "finer": "PATTERN SEQ(A a, A c) WHERE { [k] AND a.x = c.x } WITHIN 20 RETURN a.x AS x",
    "alone": TEXTS["alone"],
    "joined": TEXTS["joined"],
    "of_spark": "PATTERN SEQ(A a, B b) WHERE { [k] AND crc32(a.kind) > 0 } WITHIN 9 RETURN b.x AS x",
    "wrong": "PATTERN SEQ(A a B b)",
    "too_much": "PATTERN SEQ(A+ a[], D b) WHERE skip_till_any_match { [k] } RETURN a.len AS n",
}


def test_each_rule_finds_what_match_finds(spark: SparkSession) -> None:
    frame = spark.createDataFrame(EVENTS).repartition(3)
    limits = fyke.Limits(matches=1_000)
    found = fyke.rules({**SHARED, **MORE}).run(frame, **OPTIONS, limits=limits).cache()
    assert [type(error) for error in found.failed.values()] == [QuerySyntaxError]
    everything = found.all().toArrow()
    kinds = {name: type(error) for (name, _), error in found.failed.items()}
    assert kinds == {"wrong": QuerySyntaxError, "too_much": LimitError}
    names = [name for name in (*SHARED, *MORE) if name not in kinds]
    for name in ("pairs", "groups", "total", "joined"):
        expected = fyke.match(EVENTS, ({**SHARED, **MORE})[name], **OPTIONS)
        assert rows(found.of(name).toArrow().cast(expected.schema)) == rows(expected), name
    counted = everything.column("rule").value_counts().to_pylist()
    for name in names:
        wanted = fyke.match(frame if name == "of_spark" else EVENTS, ({**SHARED, **MORE})[name], **OPTIONS)
        count = wanted.count() if name == "of_spark" else wanted.num_rows
        assert {"values": name, "counts": count} in counted, name
    assert len(counted) == len(names)
    metrics = found.metrics()
    assert metrics["pairs", "1"]["matches"] == found.of("pairs").count()
    with pytest.raises(LimitError):
        found.of("too_much")


def test_rules_share_one_scan_and_one_shuffle(spark: SparkSession) -> None:
    frame = spark.createDataFrame(EVENTS)
    texts = {**SHARED, "finer": MORE["finer"]}
    found = fyke.rules(texts).run(frame, **OPTIONS)
    with pytest.raises(NotRunError, match="nothing has run yet"):
        found.metrics()
    plan = found.all()._jdf.queryExecution().executedPlan().toString()
    assert plan.count("Exchange hashpartitioning") == 1, plan
    assert plan.count("Scan ") == 1, plan


def test_events_by_type_share_them_too(spark: SparkSession, tmp_path: Path) -> None:
    """The rows of all types are shuffled together, and the file of a type that no rule names is not read."""
    types = sorted(set(EVENTS.column("kind").to_pylist()))
    tables = {name: EVENTS.filter(pc.field("kind") == name).drop_columns("kind") for name in types}
    for name, table in tables.items():
        pq.write_table(table, tmp_path / f"{name}.parquet")
    frames = {name: spark.read.parquet(str(tmp_path / f"{name}.parquet")) for name in types}
    texts = {name: SHARED[name] for name in ("pairs", "absent", "groups")}
    found = fyke.rules(texts).run(frames, time=OPTIONS["time"])
    plan = found.all()._jdf.queryExecution().executedPlan().toString()
    assert plan.count("Exchange hashpartitioning") == 1, plan
    assert types == ["A", "B", "C", "D"]
    assert plan.count("Scan parquet") == 3, plan
    for name, text in texts.items():
        expected = fyke.match(tables, text, time=OPTIONS["time"])
        assert expected.num_rows > 0
        assert rows(found.of(name).toArrow().cast(expected.schema)) == rows(expected), name


def test_long_partitions_and_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks end where partitions do, however many rows come in one batch."""
    table = pa.table({"k": [1] * 5 + [2] * 9 + [3] * 2, "t": list(range(16))})
    monkeypatch.setattr(rules, "_CHUNK_ROWS", 4)
    batches = iter(table.to_batches(max_chunksize=3))
    chunks = [chunk.column("k").to_pylist() for chunk in rules._whole(batches, table.schema, ("k",))]
    assert [key for chunk in chunks for key in chunk] == table.column("k").to_pylist()
    assert sum(len(set(chunk)) for chunk in chunks) == 3


def test_many_rules_do_not_make_a_long_filter(spark: SparkSession, tmp_path: Path) -> None:
    """The JVM compiles no method of hundreds of comparisons."""
    pq.write_table(EVENTS, tmp_path / "events.parquet")
    frame = spark.read.parquet(str(tmp_path))
    texts = {
        f"rule {n}": f"PATTERN SEQ(A a, K{n} b) WHERE {{ [k] AND b.x > {n} }} WITHIN 9" for n in range(40)
    }
    found = fyke.rules({**texts, "pairs": SHARED["pairs"]}).run(frame, **OPTIONS)
    plan = found.all()._jdf.queryExecution().executedPlan().toString()
    (filtered,) = re.findall(r"Filter .*", plan)
    assert re.search(r"kind#\d+ IN(SET)? ", filtered)
    assert filtered.count("kind#") == 1
    expected = fyke.match(EVENTS, SHARED["pairs"], **OPTIONS)
    assert found.of("pairs").count() == expected.num_rows > 0
