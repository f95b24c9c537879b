"""Columns of Arrow tables as single arrays."""

from __future__ import annotations

import pyarrow as pa


def one_array(column: pa.ChunkedArray) -> pa.Array:
    """Return a column as one array, without the copy that Arrow makes of a single chunk."""
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
