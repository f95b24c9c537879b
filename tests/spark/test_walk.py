"""The function workers run, without Spark: sorted rows in chunks of any size give what a table gives."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from fyke.call.source import covering_table
from fyke.engine.input.prepare import derived_types, prepare
from fyke.engine.output.rows import ResultBuilder
from fyke.language.sase import parse
from fyke.logical.analyse import analyse
from fyke.logical.schema import make_schema
from fyke.plan.plan import Plan, make_plan
from fyke.spark import batch
from fyke.spark.prepare import sent_columns
from tests.spark.streams import FIRST_READ, OPTIONS, QUERIES, SIMULTANEOUS, stream
from tests.spark.tables import assert_same, on_table

STREAM = stream(90, seed=8)
TIMED = STREAM.filter(STREAM["ts"].is_valid())


def _plan(query: str, table: pa.Table, options: dict[str, Any]) -> Plan:
    columns = dict(zip(table.schema.names, table.schema.types, strict=True))
    schema = make_schema(
        columns,
        time=options["time"],
        type_column=options["type"],
        tie_breaker=options.get("tie_breaker"),
        touching=options.get("touching"),
    )
    output, complete = options.get("output", "all"), options.get("complete_windows", False)
    plan = make_plan(analyse(parse(query), schema), derived_types, output)
    return covering_table(
        replace(plan, complete_windows=complete), table.filter(table[schema.end].is_valid())
    )


def _prepared(events: pa.Table, plan: Plan) -> pa.Table:
    """Sort rows as Spark does: by partition, then in processing order by all columns; no null keys."""
    rows = prepare(events, plan)
    order = [name for name in plan.schema.order_columns() if name in rows.column_names]

    def key(row: dict[str, Any]) -> list[tuple[Any, ...]]:
        return [_sort_key(row[name]) for name in (*plan.keys, *order)]

    kept = [row for row in rows.to_pylist() if all(row[name] is not None for name in plan.keys)]
    return pa.Table.from_pylist(sorted(kept, key=key), rows.schema).select(sent_columns(plan))


def _sort_key(value: Any) -> tuple[Any, ...]:
    if value is None:
        return (0,)
    if isinstance(value, float) and math.isnan(value):
        return (2,)
    return (1, value.encode() if isinstance(value, str) else value)


def _walked(plan: Plan, rows: pa.Table, batch_rows: int) -> pa.Table:
    builder = ResultBuilder(plan)
    found = list(batch.matcher(plan)(iter(rows.to_batches(max_chunksize=batch_rows))))
    return builder.finish(pa.Table.from_batches(found, builder.schema))


# Those of timeouts are told apart after the walk, which is that of a funnel.
@pytest.mark.parametrize("name", [each for each in QUERIES if each != "timeouts"])
def test_chunks_of_any_size_give_the_same_matches(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    query, own = QUERIES[name]
    options = {**OPTIONS, **own}
    expected = on_table(STREAM, query, **options)
    plan = _plan(query, STREAM, options)
    rows = _prepared(TIMED, plan)
    for chunk_rows, batch_rows in ((1, 1), (2, 1), (3, 2), (7, 5), (1 << 19, 10)):
        monkeypatch.setattr(batch, "_CHUNK_ROWS", chunk_rows)
        assert_same(_walked(plan, rows, batch_rows), expected)


def _letters(events: str) -> pa.Table:
    """``"Ab Bb"``: types and keys, one event a tick."""
    words = events.split()
    return pa.table(
        {
            "kind": [w[0] for w in words],
            "k": [w[1:] for w in words],
            "t": pa.array(range(len(words)), pa.int64()),
        }
    )


@pytest.mark.parametrize("chunk_rows", [1, 2, 3, 4, 5])
@pytest.mark.parametrize(
    "events, query, matches",
    [
        ("Ax Dx Dx Dx Dx Dx Bx", "PATTERN SEQ(A a, B b) WHERE { [k] }", 1),
        ("Ax Dx Dx Dx Dx Dx Bx", "PATTERN SEQ(A a, B b)", 1),
        ("Ax Ay Az Bx By Bz", "PATTERN SEQ(A a, B b) WHERE { [k] }", 3),
        ("Ax Bx Bx Bx Bx Bx", "PATTERN SEQ(A a, B+ b[]) WHERE greedy_skip_till_next_match { [k] }", 1),
        ("Ax Bx Bx Bx Bx Bx", "PATTERN SEQ(A a, ANY{5} b[]) WHERE strict_contiguity", 1),
        ("Ax Ay Ax Dx Ay Ay", "PATTERN A{2,} a[] WHERE greedy_partition_contiguity { [k] }", 3),
        ("Ax Ay Ay Dx Ax Ax", "PATTERN A{2,} a[] WHERE greedy_strict_contiguity { [k] }", 2),
        ("Ax Dx Dx Ay Dx By Dy", "PATTERN SEQ(A a, ~B b) WHERE { [k] } WITHIN 5", 1),
        ("Ax Dx Dx Ay Dx Dy Bx", "PATTERN SEQ(A a, ~B b) WHERE { [k] } WITHIN 5", 2),
    ],
)
def test_a_match_across_chunks_is_found(
    monkeypatch: pytest.MonkeyPatch, events: str, query: str, matches: int, chunk_rows: int
) -> None:
    monkeypatch.setattr(batch, "_CHUNK_ROWS", chunk_rows)
    table = _letters(events)
    options = {"time": "t", "type": "kind"}
    plan = _plan(query, table, options)
    found = _walked(plan, _prepared(table, plan), 1)
    assert found.num_rows == matches
    assert_same(found, on_table(table, query, **options))


@pytest.mark.parametrize("chunk_rows", [1, 2, 3])
@pytest.mark.parametrize("query", FIRST_READ)
def test_columns_that_stay_behind_break_ties(
    monkeypatch: pytest.MonkeyPatch, query: str, chunk_rows: int
) -> None:
    monkeypatch.setattr(batch, "_CHUNK_ROWS", chunk_rows)
    plan = _plan(query, SIMULTANEOUS, {"time": "t", "type": "kind"})
    rows = _prepared(SIMULTANEOUS, plan)
    assert "z" not in rows.column_names
    assert sorted(_walked(plan, rows, 1)["x"].to_pylist()) == FIRST_READ[query]


def test_no_rows_give_no_matches() -> None:
    query, _ = QUERIES["next"]
    plan = _plan(query, STREAM, OPTIONS)
    nothing = _prepared(TIMED.slice(0, 0), plan)
    assert list(batch.matcher(plan)(iter(()))) == []
    assert list(batch.matcher(plan)(iter([pa.RecordBatch.from_pylist([], nothing.schema)]))) == []


def test_results_come_in_small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch, "_RESULT_ROWS", 4)
    query, own = QUERIES["float key"]
    options = {**OPTIONS, **own}
    plan = _plan(query, STREAM, options)
    rows = _prepared(TIMED, plan)
    sizes = [each.num_rows for each in batch.matcher(plan)(iter(rows.to_batches()))]
    assert len(sizes) > 2
    assert max(sizes) <= 4
