"""A state in a store: rows and matches in chunks that never change, and the small part that does.

What a batch writes grows with what it brings and what is alive, not with what a window holds.  The rows that
a batch leaves behind become one chunk, and the matches that it leaves waiting another; see
:mod:`fyke.engine.chunks`.  The small part has all the rest: which rows and matches of which chunks are
needed, and the memory of the searcher.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
import pyarrow as pa

from fyke.engine.chunks import Chunks, places_among, same_matches
from fyke.engine.engine import Engine
from fyke.engine.found import Found
from fyke.engine.input.order import times
from fyke.engine.kernels.arrays import Array
from fyke.engine.matchset import MatchSet, concat, no_matches
from fyke.engine.row_chunks import (
    MATCHES,
    ROW,
    ROWS,
    RowChunks,
    identified,
    lineage_of,
    list_of_chunks,
    listed_chunks,
    opened_chunk,
    sealed_chunk,
)
from fyke.engine.state import State
from fyke.engine.state_bytes import (
    CHECKSUM,
    check_matches,
    check_whose,
    encode_state,
    matches_from_message,
    matches_to_message,
    open_state,
    validated_state,
)
from fyke.errors import StateError

_NEVER = 2**63 - 1
_BESIDE = {"numbers", "sizes", "alive", "match_numbers", "match_sizes", "match_alive", "chosen", "following"}


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
    """A state as it is in a store: its rows and matches stand in the order of their chunks.

    The positions of ``stored`` matches are identifiers of rows; ``chosen`` says which of them are chosen and
    do not wait.  ``following`` is the number of the next batch; ``token`` identifies all that is stored.
    """

    state: State
    rows: Chunks = field(default_factory=Chunks)
    matches: Chunks = field(default_factory=Chunks)
    stored: MatchSet = field(default_factory=no_matches)
    chosen: Array = field(default_factory=lambda: np.zeros(0, bool))
    following: int = 0
    token: bytes = b""

    @property
    def nbytes(self) -> int:
        """The bytes of its rows and matches in memory."""
        fields = (self.stored.positions, self.stored.variables, self.stored.offsets, self.stored.alternative)
        return int(self.state.rows.nbytes) + 2 * sum(each.nbytes for each in fields)  # by row, by place


class StoredStates:
    """Reads and writes the states of one plan; ``schema`` is that of prepared batches."""

    def __init__(self, engine: Engine, schema: pa.Schema) -> None:
        self.engine, self._chunks = engine, RowChunks(schema)
        self.schema = self._chunks.schema

    def load(self, store: Store, known: Held | None = None) -> Held:
        """Return what is in a store; what is ``known`` of it is taken where it is still true.

        Raises
        ------
        StateError
            If what is there is damaged, or of another query.
        """
        data = store.small()
        if data is None:
            return Held(self.engine.start(self.schema))
        if known is not None and known.token == data[-CHECKSUM:]:
            return known
        opened = open_state(data)
        check_whose(opened, self.engine.plan, self.schema)
        in_rows, following = listed_chunks(opened.beside, _BESIDE)
        in_matches, _ = listed_chunks(opened.beside, _BESIDE, "match_")
        chunks = store.chunks()
        rows = self._chunks.read(chunks, in_rows)
        state = validated_state(self.engine, opened, self.schema, rows)
        stored = self._matches(chunks, in_matches, rows)
        state, chosen = _with_matches(state, stored, opened.beside["chosen"])
        return Held(state, in_rows, in_matches, stored, chosen, following, data[-CHECKSUM:])

    def _matches(self, stored: Mapping[int, bytes], chunks: Chunks, rows: pa.Table) -> MatchSet:
        """Return the matches that are needed, chunk after chunk; they refer to rows by identifier."""
        found, begin, known = [], 0, rows.column(ROW).to_numpy()
        for number, size in zip(chunks.numbers.tolist(), chunks.sizes.tolist(), strict=True):
            matches = matches_from_message(opened_chunk(stored, number))
            # Those that are not needed any more may refer to rows that are gone.
            places = np.maximum(places_among(matches.positions, known), 0)
            check_matches(replace(matches, positions=places), "stored", self.engine, len(known))
            if len(matches) != size:
                raise StateError.damaged(f"chunk {number} of its matches has another size")
            found.append(matches.select(chunks.needed[begin : begin + size]))
            begin += size
        return concat(found)

    def advance(self, held: Held, batch: pa.Table, watermark: int | None) -> tuple[State, Found]:
        """Do what :meth:`Engine.advance` does, with rows that know where they are stored."""
        return self.engine.advance(held.state, identified(batch, held.following), watermark)

    def save(self, store: Store, held: Held, after: State) -> tuple[Held, int]:
        """Write what has changed; return what is in the store now, and how many bytes were written."""
        if after.idle:
            for number in (*held.rows.numbers.tolist(), *held.matches.numbers.tolist()):
                store.drop_chunk(number)
            store.set_small(None)
            return Held(self.engine.start(self.schema), following=held.following), 0
        in_rows, order, rows, data = self._chunks.placed(
            held.rows, held.state.rows, after.rows, held.following
        )
        after = _reordered(self.engine, after, order, rows)
        in_matches, after, stored, chosen, more = _saved_matches(held, after)
        for old, new in ((held.rows, in_rows), (held.matches, in_matches)):
            for number in np.setdiff1d(old.numbers, new.numbers).tolist():
                store.drop_chunk(number)
        added = []
        for kind, message in ((ROWS, data), (MATCHES, more)):
            if message:
                number = 2 * held.following + kind
                added.append(sealed_chunk(number, message))
                store.add_chunk(number, added[-1])
        beside = {
            **list_of_chunks(in_rows),
            **list_of_chunks(in_matches, "match_"),
            "chosen": chosen,
            "following": np.array([held.following + 1], np.int64),
        }
        rest = replace(after, waiting=no_matches(), chosen=no_matches())
        lineage = lineage_of(held.token, *added)
        small = encode_state(self.engine, rest, with_rows=False, beside=beside, lineage=lineage)
        store.set_small(small)
        now = Held(after, in_rows, in_matches, stored, chosen, held.following + 1, small[-CHECKSUM:])
        return now, len(small) + sum(map(len, added))


def _saved_matches(held: Held, after: State) -> tuple[Chunks, State, MatchSet, Array, bytes]:
    """Return the chunks of matches, the state with its matches in their order, these, and the new chunk."""
    names = after.rows.column(ROW).to_numpy()
    matches = concat([after.waiting, after.chosen])
    chosen = np.arange(len(matches)) >= len(after.waiting)
    matches = replace(matches, positions=names[matches.positions])
    known = same_matches(matches, held.stored)
    chunks, order, new = held.matches.after(known, 2 * held.following + MATCHES)
    stored = matches.select(order)
    after, chosen = _with_matches(after, stored, chosen[order])
    message = matches_to_message(stored.between(len(stored) - new, len(stored))) if new else b""
    return chunks, after, stored, chosen, message


def _with_matches(state: State, stored: MatchSet, chosen: Array) -> tuple[State, Array]:
    """Return a state with matches that refer to its rows by identifier."""
    places = places_among(stored.positions, state.rows.column(ROW).to_numpy())
    if (places < 0).any() or chosen.shape != (len(stored),) or chosen.dtype != np.bool_:
        raise StateError.damaged("its matches refer to rows that are not there")
    placed = replace(stored, positions=places)
    return replace(state, waiting=placed.select(~chosen), chosen=placed.select(chosen)), chosen


def _reordered(engine: Engine, state: State, order: Array, rows: pa.Table) -> State:
    """Return a state with its rows in another order, as ``rows``."""
    places = np.empty(len(order), np.int64)
    places[order] = np.arange(len(order))
    return replace(
        state,
        rows=rows,
        read=state.read[order],
        index=state.index[order],
        memory=engine.searcher.moved(state.memory, places),
        waiting=state.waiting.moved(places),
        chosen=state.chosen.moved(places),
    )


def memory_bytes(engine: Engine, state: State) -> int:
    """Return the size of what the searcher remembers of partial matches."""
    return sum(array.nbytes for array in engine.searcher.dump(state.memory).arrays.values())


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
