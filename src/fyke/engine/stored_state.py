"""A state in a store: rows in chunks that never change, and apart from them the small part that does.

What a batch writes grows with what it brings and what is alive, not with what a window holds.  The rows a
batch leaves behind become one chunk, which is dropped whole when none of them is needed any more.  Small
chunks, and those that are mostly dead, become part of a new one now and then.  The small part has all the
rest: which rows of which chunks are alive, the memory of the searcher, matches that wait.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import pyarrow as pa

from fyke.engine.engine import Engine
from fyke.engine.found import Found
from fyke.engine.input.order import times
from fyke.engine.kernels.arrays import Array
from fyke.engine.state import State
from fyke.engine.state_bytes import (
    checksum_of,
    decode_state,
    encode_state,
    from_message,
    plain_rows,
    read_beside,
    rows_as_given,
    to_message,
)
from fyke.errors import StateError

ROW = "__fyke_row"  # where a row is stored: the number of its chunk, and its place there
_PLACES = 32  # bits
_CHECKSUM = 16
_NEVER = 2**63 - 1
_DEAD = 4  # a chunk is rewritten when less than one row in so many is needed
_CHUNKS = 64  # so many are made one, when there are twice as many


class Store(Protocol):
    """Where the state of one bucket of partitions is kept."""

    def small(self) -> bytes | None:
        """Return the part that every batch changes, if there is one."""

    def set_small(self, data: bytes | None) -> None:
        """Replace it, or, for None, remove it."""

    def chunks(self) -> Mapping[int, bytes]:
        """Return all chunks by number."""

    def add_chunk(self, number: int, data: bytes) -> None:
        """Store a chunk."""

    def drop_chunk(self, number: int) -> None:
        """Remove a chunk."""


@dataclass(frozen=True, slots=True)
class Held:
    """A state as it is in a store: the rows of ``state`` stand in the order of their chunks.

    ``numbers`` and ``sizes`` are those of the chunks, ``alive`` says which of their rows are rows of the
    state; ``token`` changes with every change.
    """

    state: State
    numbers: Array
    sizes: Array
    alive: Array
    following: int
    token: bytes


class StoredStates:
    """Reads and writes the states of one plan; ``schema`` is that of prepared batches."""

    def __init__(self, engine: Engine, schema: pa.Schema) -> None:
        self.engine, self.schema = engine, schema.append(pa.field(ROW, pa.int64()))
        self._plain = plain_rows(schema.empty_table()).schema

    def load(self, store: Store, known: Held | None = None) -> Held:
        """Return what is in a store; what is ``known`` of it is taken where it is still true.

        Raises
        ------
        StateError
            If what is there is damaged, or of another query.
        """
        data = store.small()
        if data is None:
            nothing, none = np.zeros(0, np.int64), np.zeros(0, bool)
            return Held(self.engine.start(self.schema), nothing, nothing, none, 0, b"")
        if known is not None and known.token == data[-_CHECKSUM:]:
            return known
        beside = read_beside(data)
        if beside.keys() != {"numbers", "sizes", "alive", "following"}:
            raise StateError.damaged("its list of chunks is missing")
        numbers, sizes, alive = beside["numbers"], beside["sizes"], beside["alive"]
        rows = self._rows(store, numbers, sizes, alive)
        state = decode_state(self.engine, data, self.schema, rows)
        return Held(state, numbers, sizes, alive, int(beside["following"][0]), data[-_CHECKSUM:])

    def _rows(self, store: Store, numbers: Array, sizes: Array, alive: Array) -> pa.Table:
        """Return the rows that are alive, chunk after chunk."""
        stored, tables, begin = store.chunks(), [self.schema.empty_table()], 0
        if len(alive) != sizes.sum() or alive.dtype != np.bool_:
            raise StateError.damaged("its chunks are of another size")
        for number, size in zip(numbers.tolist(), sizes.tolist(), strict=True):
            data = stored.get(number)
            if data is None or checksum_of(_signed(number, data[:-_CHECKSUM])) != data[-_CHECKSUM:]:
                raise StateError.damaged(f"chunk {number} of its rows is missing or changed")
            table = rows_as_given(from_message(data[:-_CHECKSUM], self._plain), self._given)
            if table.num_rows != size:
                raise StateError.damaged(f"chunk {number} of its rows has another size")
            places = (number << _PLACES) + np.arange(size)
            table = table.append_column(ROW, pa.array(places))
            tables.append(table.filter(pa.array(alive[begin : begin + size])))
            begin += size
        return pa.concat_tables(tables)

    @property
    def _given(self) -> pa.Schema:
        return self.schema.remove(self.schema.get_field_index(ROW))

    def advance(self, held: Held, batch: pa.Table, watermark: int | None) -> tuple[State, Found]:
        """Do what :meth:`Engine.advance` does, with rows that know where they are stored."""
        places = (held.following << _PLACES) + np.arange(batch.num_rows)
        return self.engine.advance(held.state, batch.append_column(ROW, pa.array(places)), watermark)

    def save(self, store: Store, held: Held, after: State) -> tuple[Held, int]:
        """Write what has changed; return what is in the store now, and how many bytes were written."""
        if after.idle:
            for number in held.numbers.tolist():
                store.drop_chunk(number)
            store.set_small(None)
            nothing, none = np.zeros(0, np.int64), np.zeros(0, bool)
            fresh = self.engine.start(self.schema)
            return Held(fresh, nothing, nothing, none, held.following, b""), 0
        numbers, sizes, alive, rewritten = self._still_alive(held, after)
        after, new = _in_order(self.engine, after, held.following, rewritten)
        for number in np.setdiff1d(held.numbers, numbers).tolist():
            store.drop_chunk(number)
        written = 0
        if new:
            rows = after.rows.slice(after.rows.num_rows - new).drop_columns([ROW])
            message = to_message(plain_rows(rows))
            store.add_chunk(held.following, message + checksum_of(_signed(held.following, message)))
            written += len(message) + _CHECKSUM
            numbers, sizes = np.append(numbers, held.following), np.append(sizes, new)
            alive = np.append(alive, np.ones(new, bool))
        beside = {
            "numbers": numbers, "sizes": sizes, "alive": alive,
            "following": np.array([held.following + 1], np.int64),
        }  # fmt: skip
        data = encode_state(self.engine, after, with_rows=False, beside=beside)
        store.set_small(data)
        now = Held(after, numbers, sizes, alive, held.following + 1, data[-_CHECKSUM:])
        return now, written + len(data)

    def _still_alive(self, held: Held, after: State) -> tuple[Array, Array, Array, Array]:
        """Return the chunks that stay as they are, which rows of them are needed, and those to rewrite.

        Chunks that are mostly dead, and the smallest where there are many, are rewritten as part of the next
        one.  So each row is written about twice at most, and the list of chunks stays short.
        """
        places = after.rows.column(ROW).to_numpy()
        old = places[places >> _PLACES != held.following]
        firsts = np.concatenate(([0], np.cumsum(held.sizes)))
        chunk = np.searchsorted(held.numbers, old >> _PLACES)
        alive = np.zeros(len(held.alive), bool)
        alive[firsts[chunk] + (old & (1 << _PLACES) - 1)] = True
        counts = np.bincount(chunk, minlength=len(held.numbers))
        rewrite = (counts > 0) & (counts * _DEAD < held.sizes)
        stay = np.flatnonzero((counts > 0) & ~rewrite)
        if len(stay) > 2 * _CHUNKS:
            rewrite[stay[np.argsort(counts[stay], kind="stable")[:_CHUNKS]]] = True
        kept = (counts > 0) & ~rewrite
        return (
            held.numbers[kept], held.sizes[kept], alive[np.repeat(kept, held.sizes)], held.numbers[rewrite]
        )  # fmt: skip


def _signed(number: int, message: bytes) -> bytes:
    return number.to_bytes(8, "little") + message


def _in_order(engine: Engine, state: State, following: int, rewritten: Array) -> tuple[State, int]:
    """Return a state with its rows in the order of their chunks, and how many are in the one that follows.

    These are its last rows: new ones, and those of chunks that are rewritten.
    """
    stored = state.rows.column(ROW).to_numpy().copy()
    chunk = stored >> _PLACES
    new = (chunk == following) | np.isin(chunk, rewritten)
    order = np.lexsort((stored, new))
    count = int(new.sum())
    stored = stored[order]
    stored[len(stored) - count :] = (following << _PLACES) + np.arange(count)
    places = np.empty(len(order), np.int64)
    places[order] = np.arange(len(order))
    rows = state.rows.take(pa.array(order))
    return replace(
        state,
        rows=rows.set_column(rows.schema.get_field_index(ROW), ROW, pa.array(stored)),
        read=state.read[order],
        index=state.index[order],
        memory=engine.searcher.moved(state.memory, places),
        waiting=state.waiting.moved(places),
        chosen=state.chosen.moved(places),
    ), count


def next_call(engine: Engine, state: State) -> int | None:
    """Return the least watermark at which a state has something to do, even if no event comes.

    An event that waits is read then, a match that waits may be certain, a run may be final, or something
    can be forgotten.  None: nothing of this depends on time alone.
    """
    plan, now = engine.plan, -(2**63) if state.watermark is None else state.watermark
    ends, starts = (times(state.rows.column(name)) for name in (plan.schema.end, plan.schema.start))
    moments = [ends[~state.read]]
    if plan.window.counts_time:
        length = plan.window.length
        kept = ends if state.last_ends is None else np.append(ends, state.last_ends["end"].to_numpy())
        moments += [_later(starts, length), _later(kept, length), _later(kept, length + 1)]
        moments += [_later(kept, 2 * length), _later(kept, 2 * length + 1)]
    following = min((int(each[each > now].min(initial=_NEVER)) for each in moments), default=_NEVER)
    return None if following == _NEVER else following


def _later(moments: Array, length: int) -> Array:
    """Return moments after a length of time; those beyond the end of time are never reached."""
    reached = moments <= _NEVER - min(length, _NEVER)
    return np.where(reached, moments + min(length, _NEVER), _NEVER)
