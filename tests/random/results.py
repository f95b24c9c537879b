"""Equality of result tables: the same columns and rows in any order, floats within rounding, NaN itself."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa

TOLERANCE = 1e-9


def _same(left: Any, right: Any) -> bool:
    if isinstance(left, float) and isinstance(right, float):
        both_nan = math.isnan(left) and math.isnan(right)
        return both_nan or left == right or math.isclose(left, right, rel_tol=TOLERANCE, abs_tol=1e-12)
    if isinstance(left, dict) and isinstance(right, dict):
        return list(left) == list(right) and all(_same(left[name], right[name]) for name in left)
    if isinstance(left, (list, tuple)) and type(left) is type(right):  # a map has tuples
        return len(left) == len(right) and all(map(_same, left, right))
    return type(left) is type(right) and bool(left == right)


def _key(row: dict[str, Any]) -> str:
    """Return what sorts two equal tables alike: the identifier of the match, or the partition attributes."""
    if "match_id" in row:
        return str(row["match_id"])
    return repr(
        [value + 0.0 if isinstance(value, float) else value for name, value in row.items() if name[0] != "r"]
    )


def difference(found: pa.Table, expected: pa.Table) -> str | None:
    """Return what differs between two result tables, or None."""
    if found.schema != expected.schema:
        return f"schema:\n{found.schema}\nexpected:\n{expected.schema}"
    left, right = (sorted(table.to_pylist(), key=_key) for table in (found, expected))
    if len(left) == len(right) and all(map(_same, left, right)):
        return None
    extra = [row for row in left if not any(_same(row, other) for other in right)]
    missing = [row for row in right if not any(_same(row, other) for other in left)]
    return f"{len(left)} rows, expected {len(right)}\nextra: {_shown(extra)}\nmissing: {_shown(missing)}"


def _shown(rows: list[dict[str, Any]]) -> str:
    return "".join(f"\n    {row}" for row in rows) or "none"
