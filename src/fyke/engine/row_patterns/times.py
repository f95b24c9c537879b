"""The times that WITHIN measures."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from fyke.engine.kernels.arrays import Array
from fyke.engine.row_patterns.order import integers
from fyke.language.row_patterns import OrderItem

_LEAST, _GREATEST = np.iinfo(np.int64).min, np.iinfo(np.int64).max


def present(column: pa.Array) -> Array | None:
    """Return which rows have a value, None if all have."""
    if column.null_count == 0:
        return None
    return np.asarray(column.is_valid().to_numpy(zero_copy_only=False)).view(np.uint8)


def window_times(column: pa.Array, item: OrderItem) -> Array:
    """Return the times of an ordered column, rising along a partition; a null is as far away as can be."""
    times = integers(column)
    if item.descending:
        times = ~times
    timed = present(column)
    if timed is not None:
        times = np.where(timed == 1, times, _LEAST if item.nulls_first else _GREATEST)
    return np.ascontiguousarray(times)
