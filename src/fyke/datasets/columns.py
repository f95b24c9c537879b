"""What the generators share: Arrow columns from numpy arrays, made without a Python loop over rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from fyke.errors import OptionError

Integers = npt.NDArray[np.int64]

# Times are whole microseconds since 1970.  Every generated stream begins on 2026-01-01, 00:00 UTC.
BEGINNING = 1_767_225_600_000_000
SECOND = 1_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR


def timestamps(times: Integers) -> Any:
    """Return microseconds since 1970 as a column of UTC timestamps."""
    return pa.array(times, pa.int64()).cast(pa.timestamp("us", tz="UTC"))


def labels(codes: npt.NDArray[Any], names: Sequence[str]) -> Any:
    """Return the string column ``names[code]``; a negative code gives null."""
    indices = pa.array(codes.astype(np.int32), mask=codes < 0)
    return pa.DictionaryArray.from_arrays(indices, pa.array(names, pa.string())).dictionary_decode()


def numbered(prefix: str, count: int) -> list[str]:
    """Return ``count`` names such as ``shelf-07``, equally long."""
    digits = len(str(max(count - 1, 0)))
    return [f"{prefix}-{number:0{digits}}" for number in range(count)]


def require(holds: bool, message: str, remedy: str = "") -> None:
    """Raise an :class:`~fyke.errors.OptionError` unless a parameter is usable."""
    if not holds:
        raise OptionError(message, remedy=remedy)
