"""Relational queries on tables: against their definition, and in what they return."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings

import fyke
from tests.relational import naive
from tests.relational.cases import CASES, SCHEMA, tables


def streams_of(table: pa.Table) -> dict[str, list[dict[str, Any]]]:
    rows = table.to_pylist()
    return {kind: [row for row in rows if row["kind"] == kind] for kind in "ABC"}


def rows_of(result: pa.Table) -> list[tuple[Any, ...]]:
    """Return the rows as the naive twin does: key, start, end, items."""
    keyed = result.column_names[0] != "start"
    found = [tuple(row.values()) for row in result.to_pylist()]
    return sorted((row if keyed else (None, *row) for row in found), key=repr)


@pytest.mark.parametrize("name", CASES)
@settings(max_examples=60, deadline=None)
@given(table=tables)
def test_result_is_what_the_definition_says(name: str, table: pa.Table) -> None:
    case = CASES[name]
    result = fyke.match(table, case.text, time=("start", "end"), type="kind", time_unit="s")
    assert rows_of(result) == naive.rows(streams_of(table), case)


def test_large_join_is_cut_into_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fyke.engine.relational._PAIRS_AT_ONCE", 7)
    events = [
        {"start": n // 3, "end": n // 3, "kind": "AB"[n % 2], "name": "x", "price": n} for n in range(60)
    ]
    table = pa.Table.from_pylist(events, SCHEMA)
    case = CASES["equi-join"]
    result = fyke.match(table, case.text, time=("start", "end"), type="kind", time_unit="s")
    assert rows_of(result) == naive.rows(streams_of(table), case)
    assert result.num_rows > 200
