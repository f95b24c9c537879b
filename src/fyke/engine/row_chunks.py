"""Rows in chunks: identifiers that outlive a batch, chunks to rows, and rows to the chunk that a batch adds.

A row is identified by the number of the batch that brought it and its place there, so that identifiers rise
in the order of arrival.
"""

from __future__ import annotations

from collections.abc import Mapping, Set

import numpy as np
import pyarrow as pa

from fyke.engine.chunks import Chunks, places_among
from fyke.engine.kernels.arrays import Array
from fyke.engine.state_bytes import CHECKSUM, checksum_of, from_message, plain_rows, rows_as_given, to_message
from fyke.errors import StateError

ROW = "__fyke_row"  # the identifier of a row: the number of its first chunk, and its place there
_PLACES = 32  # bits
_PLAIN, _NUMBERED = b"\0", b"\1"  # rows as they came; rows with their identifiers
ROWS, MATCHES = 0, 1  # chunks of rows have even numbers, those of matches odd ones


class RowChunks:
    """The rows of states in chunks; ``schema`` is that of batches, and then has the identifier, too."""

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema.append(pa.field(ROW, pa.int64()))
        self._plain = plain_rows(schema.empty_table()).schema

    def read(self, stored: Mapping[int, bytes], chunks: Chunks) -> pa.Table:
        """Return the rows that are needed, chunk after chunk; a StateError if they are not there."""
        tables, begin = [self.schema.empty_table()], 0
        for number, size in zip(chunks.numbers.tolist(), chunks.sizes.tolist(), strict=True):
            data = opened_chunk(stored, number)
            numbered = data[:1] == _NUMBERED
            schema = self._plain.append(pa.field(ROW, pa.int64())) if numbered else self._plain
            table = from_message(data[1:], schema)
            if table.num_rows != size or (numbered and table.column(ROW).null_count):
                raise StateError.damaged(f"chunk {number} of its rows has another size")
            if not numbered:
                table = identified(table, number // 2)
            table = rows_as_given(table, self.schema)
            tables.append(table.filter(pa.array(chunks.needed[begin : begin + size])))
            begin += size
        return pa.concat_tables(tables)

    def placed(
        self, chunks: Chunks, before: pa.Table, after: pa.Table, following: int
    ) -> tuple[Chunks, Array, pa.Table, bytes]:
        """Return the chunks after a batch, the order of rows in them, the rows so, and the new chunk, if any.

        ``following`` is the number of the batch.
        """
        names = after.column(ROW).to_numpy()
        known = places_among(names, before.column(ROW).to_numpy())
        chunks, order, new = chunks.after(known, 2 * following + ROWS)
        names, fresh = names[order], known[order] < 0
        numbered = bool((~fresh[len(fresh) - new :]).any())
        if not numbered:  # then identifiers need not be written
            names[fresh] = (following << _PLACES) + np.arange(new)
        rows = after.take(pa.array(order))
        rows = rows.set_column(rows.schema.get_field_index(ROW), ROW, pa.array(names))
        if not new:
            return chunks, order, rows, b""
        added = rows.slice(rows.num_rows - new)
        message = to_message(plain_rows(added if numbered else added.drop_columns([ROW])))
        return chunks, order, rows, (_NUMBERED if numbered else _PLAIN) + message


def listed_chunks(beside: Mapping[str, Array], names: Set[str], kind: str = "") -> tuple[Chunks, int]:
    """Return the chunks of a kind that are listed beside a state, and the number of the next batch.

    Raises
    ------
    StateError
        If there are not just the arrays ``names``, or they describe no chunks.
    """
    if beside.keys() != names or beside["following"].shape != (1,):
        raise StateError.damaged("its list of chunks is missing")
    chunks = Chunks(beside[f"{kind}numbers"], beside[f"{kind}sizes"], beside[f"{kind}alive"])
    chunks.check()
    return chunks, int(beside["following"][0])


def list_of_chunks(chunks: Chunks, kind: str = "") -> dict[str, Array]:
    """Return what :func:`listed_chunks` reads, but for the number of the next batch."""
    return {f"{kind}numbers": chunks.numbers, f"{kind}sizes": chunks.sizes, f"{kind}alive": chunks.needed}


def identified(rows: pa.Table, batch: int) -> pa.Table:
    """Return the rows that a batch has brought with their identifiers."""
    return rows.append_column(ROW, pa.array((batch << _PLACES) + np.arange(rows.num_rows)))


def sealed_chunk(number: int, message: bytes) -> bytes:
    """Return a chunk as it is stored."""
    return message + checksum_of(_signed(number, message))


def lineage_of(token: bytes, *written: bytes) -> str:
    """Return what identifies the contents of all chunks: those before, by their token, and those now written.

    The small part of a state says how many rows there are and which are needed, not what is in them.  Two
    states with rows of their own could be equal there, and a process that remembers one would take the other
    for it.
    """
    return checksum_of(token + b"".join(data[-CHECKSUM:] for data in written)).hex()


def opened_chunk(stored: Mapping[int, bytes], number: int) -> bytes:
    """Return a chunk whose bytes are as they were written; a StateError if they are not."""
    data = stored.get(number, b"")
    if len(data) <= CHECKSUM or checksum_of(_signed(number, data[:-CHECKSUM])) != data[-CHECKSUM:]:
        raise StateError.damaged(f"chunk {number} is missing or changed")
    return data[:-CHECKSUM]


def _signed(number: int, message: bytes) -> bytes:
    return number.to_bytes(8, "little") + message
