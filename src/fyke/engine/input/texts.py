"""Which of a few texts each string of a column is."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from fyke.engine.kernels.arrays import Array
from fyke.engine.kernels.input.type_names import BLOCK, match_names


def text_numbers(column: pa.Array, texts: Sequence[str]) -> Array:
    """Return the number of the text that each string is, -1 for another one or null.

    Comparing with a few texts is faster than telling all strings apart.
    """
    codes = np.empty(len(column), np.int32)
    scratch = np.empty(len(texts), np.int32), np.empty(BLOCK, np.int32)
    match_names(*_bytes_of(column), *_bytes_of(pa.array(texts, pa.string())), *scratch, codes)
    if column.null_count:
        codes[column.is_null().to_numpy(zero_copy_only=False)] = -1
    return codes


def _bytes_of(strings: pa.Array) -> tuple[Array, Array]:
    """Return the offsets and the bytes of strings."""
    _, offsets, data = strings.buffers()
    if offsets is None or len(strings) == 0:
        return np.zeros(len(strings) + 1, np.int32), np.zeros(1, np.uint8)
    first = strings.offset
    found = np.frombuffer(offsets, np.int32)[first : first + len(strings) + 1]
    return found, np.frombuffer(data if data else b"\0", np.uint8)
