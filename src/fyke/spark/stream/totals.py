"""Aggregates over matches on a stream: running totals, one for each value of the partition attributes.

A micro-batch returns the totals that it has changed, over all matches that are certain by then.  Only these
are read and written.  They outlive the state of the pattern, which is gone when all windows are over, so
they say themselves which query they are of.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Protocol

import pyarrow as pa

from fyke.engine.found import Found
from fyke.engine.output.rows import ResultBuilder
from fyke.engine.state_bytes import CHECKSUM, check_identity, checksum_of, from_message, to_message
from fyke.errors import StateError

_WHOSE = b"whose"  # no key of a total: these are lists
_SEALED = b"\1"  # Arrow's messages begin otherwise: those that earlier versions wrote have no checksum


class StoredTotals(Protocol):
    """Totals by their partition, as a map in Spark's state store."""

    def getValue(self, key: tuple[bytes]) -> tuple[Any, ...] | None:
        """Return what is stored, if anything is."""

    def updateValue(self, key: tuple[bytes], value: tuple[bytes]) -> None:
        """Store it."""


class RunningTotals:
    """The totals of all matches so far, which a store keeps; ``own`` says which query they are of."""

    def __init__(self, stored: StoredTotals, builder: ResultBuilder, own: Mapping[str, str]) -> None:
        self._stored, self._builder, self._own = stored, builder, own

    def check_whose(self) -> None:
        """Refuse, with a StateError, totals of another query; one of another engine has the same totals."""
        held = self._stored.getValue((_WHOSE,))
        if held is not None:
            check_identity({**json.loads(bytes(held[0])), "engine": self._own["engine"]}, self._own)

    def add(self, found: Found) -> pa.Table:
        """Add the matches found; return the totals that have changed."""
        new = self._builder.tally(found)
        if new.num_rows == 0:
            return result_schema(self._builder).empty_table()
        if self._stored.getValue((_WHOSE,)) is None:
            self._stored.updateValue((_WHOSE,), (json.dumps(dict(self._own)).encode(),))
        known = []
        for key in dict.fromkeys(self._keys(new)):
            held = self._stored.getValue((key,))
            if held is not None:
                known.append(from_message(_opened(key, bytes(held[0])), new.schema))
        merged = self._builder.merge([*known, new])
        for number, key in enumerate(self._keys(merged)):
            message = to_message(merged.slice(number, 1))
            self._stored.updateValue((key,), (_SEALED + message + checksum_of(key + message),))
        return self._builder.total(merged)

    def _keys(self, tallies: pa.Table) -> list[bytes]:
        """Return the partition values of each row as a key; 0.0 and -0.0 are one value."""
        columns = [tallies.column(name).to_pylist() for name in self._builder.partition]
        rows = zip(*columns, strict=True) if columns else [()] * tallies.num_rows
        return [repr([v + 0.0 if isinstance(v, float) else v for v in row]).encode() for row in rows]


def _opened(key: bytes, data: bytes) -> bytes:
    """Return the message of a total whose bytes are as they were written; a StateError if they are not."""
    if not data.startswith(_SEALED):
        return data
    message = data[len(_SEALED) : -CHECKSUM]
    if checksum_of(key + message) != data[-CHECKSUM:]:
        raise StateError.damaged("a running total is changed")
    return message


def result_schema(builder: ResultBuilder) -> pa.Schema:
    """Return the schema of totals."""
    return builder.finish(builder.schema.empty_table()).schema
