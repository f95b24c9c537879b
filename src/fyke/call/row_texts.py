"""Rows as JSON texts: for results of different rules in one table, and for programs that read a terminal."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa


def row_texts(rows: pa.Table) -> list[str]:
    """Return the rows of a table as JSON objects."""
    return [as_json(row) for row in rows.to_pylist()]


def as_json(value: Any) -> str:
    """Return a value as JSON: times in ISO form, bytes in hexadecimal, numbers JSON does not have as null."""
    return json.dumps(_plain(value), ensure_ascii=False)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(name): _plain(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    if isinstance(value, float):
        return value if value - value == 0 else None  # NaN and the infinities
    if isinstance(value, (datetime, date, time)):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, Decimal):
        return str(value)
    return value.hex() if isinstance(value, bytes) else value
