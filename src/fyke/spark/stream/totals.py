"""Aggregates over matches on a stream: running totals, one for each value of the partition attributes.

A micro-batch returns the totals that it has changed, over all matches that are certain by then.  Only these
are read and written.
"""

from __future__ import annotations

from typing import Any, Protocol

import pyarrow as pa

from fyke.engine.found import Found
from fyke.engine.output.rows import ResultBuilder
from fyke.engine.state_bytes import from_message, to_message


class StoredTotals(Protocol):
    """Totals by their partition, as a map in Spark's state store."""

    def getValue(self, key: tuple[bytes]) -> tuple[Any, ...] | None:
        """Return what is stored, if anything is."""

    def updateValue(self, key: tuple[bytes], value: tuple[bytes]) -> None:
        """Store it."""


class RunningTotals:
    """The totals of all matches so far, which a store keeps."""

    def __init__(self, stored: StoredTotals, builder: ResultBuilder) -> None:
        self._stored, self._builder = stored, builder

    def add(self, found: Found) -> pa.Table:
        """Add the matches found; return the totals that have changed."""
        new = self._builder.tally(found)
        if new.num_rows == 0:
            return result_schema(self._builder).empty_table()
        known = []
        for key in dict.fromkeys(self._keys(new)):
            held = self._stored.getValue((key,))
            if held is not None:
                known.append(from_message(bytes(held[0]), new.schema))
        merged = self._builder.merge([*known, new])
        for number, key in enumerate(self._keys(merged)):
            self._stored.updateValue((key,), (to_message(merged.slice(number, 1)),))
        return self._builder.total(merged)

    def _keys(self, tallies: pa.Table) -> list[bytes]:
        """Return the partition values of each row as a key; 0.0 and -0.0 are one value."""
        columns = [tallies.column(name).to_pylist() for name in self._builder.partition]
        rows = zip(*columns, strict=True) if columns else [()] * tallies.num_rows
        return [repr([v + 0.0 if isinstance(v, float) else v for v in row]).encode() for row in rows]


def result_schema(builder: ResultBuilder) -> pa.Schema:
    """Return the schema of totals."""
    return builder.finish(builder.schema.empty_table()).schema
