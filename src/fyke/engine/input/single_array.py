"""Columns of Arrow tables as single arrays."""

from __future__ import annotations

from typing import Any

import pyarrow as pa


def one_array(column: pa.ChunkedArray) -> pa.Array:
    """Return a column as one array, without the copy that Arrow makes of a single chunk."""
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def filled(array: pa.Array, value: Any) -> pa.Array:
    """Return an array with a value in place of nulls, without the call that Arrow takes to find none."""
    return array.fill_null(value) if array.null_count else array
