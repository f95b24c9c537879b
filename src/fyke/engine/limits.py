"""Limits that a search exceeds, reported with the values of the partition in which it did."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa

from fyke.plan.plan import Plan

_LONGEST = 60


class LimitReached(Exception):
    """Raised by the host of a kernel, with the name of the limit and a row of the partition."""

    def __init__(self, limit: str, row: int) -> None:
        self.limit, self.row = limit, row
        super().__init__(limit, row)


@contextmanager
def limits_by_partition(table: pa.Table, plan: Plan) -> Iterator[None]:
    """Turn a limit reached at a row of an ordered table into the error that users see."""
    try:
        yield
    except LimitReached as reached:
        where = describe_partition(table, plan.keys, reached.row)
        raise plan.limits.exceeded(reached.limit, f"in {where}") from None


def describe_partition(table: pa.Table, split: tuple[str, ...], row: int) -> str:
    """Return the partition of a row by its values, in one line; without ``split`` there is only one.

    >>> describe_partition(pa.table({"k": [7], "s": ["IBM"]}), ("k", "s"), 0)
    "the partition k = 7 and s = 'IBM'"
    """
    if not split:
        return "the whole input"
    pairs = [f"{name} = {_shown(table.column(name).slice(row, 1))}" for name in split]
    return f"the partition {' and '.join(pairs)}"


def _shown(column: pa.ChunkedArray) -> str:
    """Return the one value of a column, cut if it is long."""
    kind = column.type
    if pa.types.is_timestamp(kind) and kind.unit == "ns":
        column = column.cast(pa.timestamp("us", kind.tz), safe=False)  # Python knows no nanoseconds
    value = column[0].as_py()
    text = repr(value) if isinstance(value, (str, bytes)) else " ".join(str(value).split())
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
