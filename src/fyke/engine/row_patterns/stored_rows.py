"""The state of a clause in a store: rows in chunks that never change, and their marks, which do.

What a batch writes grows with what it brings and with the marks of what is kept, not with the rows that are.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from fyke.engine.chunks import Chunks
from fyke.engine.row_chunks import (
    ROW,
    ROWS,
    RowChunks,
    identified,
    lineage_of,
    list_of_chunks,
    listed_chunks,
    sealed_chunk,
)
from fyke.engine.row_patterns.advance import RowEngine, RowsFound
from fyke.engine.row_patterns.row_state import (
    RowState,
    check_whose_rows,
    checked_row_state,
    empty_row_state,
    encode_row_state,
)
from fyke.engine.state_bytes import BESIDE, CHECKSUM, open_state
from fyke.engine.stored_state import Store

_BESIDE = {"numbers", "sizes", "alive", "following"}


@dataclass(frozen=True, slots=True)
class HeldRows:
    """A state as it is in a store: its rows stand in the order of their chunks.

    ``following`` is the number of the next batch; ``token`` identifies all that is stored.
    """

    state: RowState
    chunks: Chunks = field(default_factory=Chunks)
    following: int = 0
    token: bytes = b""

    @property
    def nbytes(self) -> int:
        """The bytes of its rows in memory."""
        return int(self.state.rows.nbytes)


class StoredRows:
    """Reads and writes the states of one clause; ``schema`` is that of batches."""

    def __init__(self, engine: RowEngine, schema: pa.Schema) -> None:
        self.engine, self._chunks = engine, RowChunks(empty_row_state(schema).rows.schema)
        self.schema = self._chunks.schema

    def load(self, store: Store, known: HeldRows | None = None) -> HeldRows:
        """Return what is in a store; what is ``known`` of it is taken where it is still true.

        Raises
        ------
        StateError
            If what is there is damaged, or of another clause.
        """
        data = store.small()
        if data is None:
            return HeldRows(self.engine.start(self.schema))
        if known is not None and known.token == data[-CHECKSUM:]:
            return known
        opened = open_state(data)
        check_whose_rows(opened, self.engine.plan, self.schema)
        chunks, following = listed_chunks(opened.beside, _BESIDE)
        rows = self._chunks.read(store.chunks(), chunks)
        marks = {name: array for name, array in opened.arrays.items() if not name.startswith(BESIDE)}
        state = checked_row_state(self.engine.plan, rows, marks, opened.header["watermark"])
        return HeldRows(state, chunks, following, data[-CHECKSUM:])

    def advance(self, held: HeldRows, batch: pa.Table, watermark: int | None) -> tuple[RowState, RowsFound]:
        """Do what :meth:`RowEngine.advance` does, with rows that know where they are stored."""
        names = held.state.rows.column(ROW).to_numpy()
        state = held.state
        if (np.diff(names) < 0).any():  # rows that ORDER BY does not tell apart stay as they came
            state = state.taken(np.argsort(names, kind="stable"))
        return self.engine.advance(state, identified(batch, held.following), watermark)

    def save(self, store: Store, held: HeldRows, after: RowState) -> tuple[HeldRows, int]:
        """Write what has changed; return what is in the store now, and how many bytes were written."""
        if after.idle:
            for number in held.chunks.numbers.tolist():
                store.drop_chunk(number)
            store.set_small(None)
            return HeldRows(self.engine.start(self.schema), following=held.following), 0
        chunks, order, rows, data = self._chunks.placed(
            held.chunks, held.state.rows, after.rows, held.following
        )
        after = replace(after.taken(order), rows=rows)
        for number in np.setdiff1d(held.chunks.numbers, chunks.numbers).tolist():
            store.drop_chunk(number)
        added = []
        if data:
            number = 2 * held.following + ROWS
            added.append(sealed_chunk(number, data))
            store.add_chunk(number, added[-1])
        beside = {**list_of_chunks(chunks), "following": np.array([held.following + 1], np.int64)}
        lineage = lineage_of(held.token, *added)
        small = encode_row_state(self.engine.plan, after, with_rows=False, beside=beside, lineage=lineage)
        store.set_small(small)
        now = HeldRows(after, chunks, held.following + 1, small[-CHECKSUM:])
        return now, len(small) + sum(map(len, added))
