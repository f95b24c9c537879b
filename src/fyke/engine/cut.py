"""A long table to pieces that threads read side by side: whole partitions, or slices of time.

How a table is cut depends on its rows alone and never on the number of threads, so that rows, their order and
their identifiers are the same for every number.  Keys are hashed to pieces; a hot one, and a table without a
key, is cut by time where :mod:`fyke.plan.slices` allows it.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from fyke.engine.input.near_anchors import near_rows, rarest_anchors
from fyke.engine.input.order import times
from fyke.engine.input.prepare import Players, all_different, carry, find_players, prepare
from fyke.engine.kernels.arrays import Array
from fyke.engine.kernels.input.division import Division, count_keys, count_pieces, pick_ends, place_rows
from fyke.engine.output.identity import row_hashes
from fyke.engine.threads import Team
from fyke.plan.anchors import Anchors
from fyke.plan.plan import ROLES, Plan
from fyke.plan.slices import Slicing, plan_slices

LEAST_ROWS = 1 << 18  # shorter tables are not cut, nor are partitions
PIECE_ROWS = 1 << 18  # about so many rows make a piece: of fewer, Python takes more of the time than kernels
_RANGES = 64  # of rows that threads prepare; each may have rows of every piece
_WINDOWS = 4  # a slice of time is at least so many windows long
_SAMPLE = 1 << 16  # rows whose times say where to cut
_FEW = 64  # so many hashes of keys are passed over when frequent ones are looked for

_LEAST, _GREATEST = -(2**63), 2**63 - 1


@dataclass(frozen=True, slots=True)
class Piece:
    """Prepared rows, in any order, that are read by themselves.

    A slice of time owns the events that end at ``first`` or later, and before ``end``.  ``partition`` numbers
    what has been sliced.
    """

    rows: tuple[pa.Table, ...]
    first: int | None = None
    end: int | None = None
    partition: int | None = None

    @property
    def sliced(self) -> bool:
        """Whether it holds events of other slices, too."""
        return self.partition is not None

    @property
    def size(self) -> int:
        """The number of its rows."""
        return sum(each.num_rows for each in self.rows)

    def table(self) -> pa.Table:
        """Return its rows as one table."""
        if len(self.rows) == 1:
            return self.rows[0]
        return pa.concat_tables(self.rows).unify_dictionaries().combine_chunks()

    def owns(self, ends: Array) -> Array:
        """Say which events it owns."""
        owned = np.ones(len(ends), bool)
        if self.first is not None:
            owned &= ends >= self.first
        if self.end is not None:
            owned &= ends < self.end
        return owned


@dataclass(frozen=True, slots=True)
class CutTable:
    """The pieces of a table, the number of rows that reach the engine, and the roles that some row plays."""

    pieces: list[Piece]
    relevant: int
    played: int


@dataclass(frozen=True, slots=True)
class _Slices:
    """Slices of the rows of one partition, or of all: number k is piece ``piece + k``.

    Slice k owns what ends from ``bounds[k - 1]`` up to ``bounds[k]``, and sees from ``backs[k - 1]`` to
    ``aheads[k]``.
    """

    piece: int
    bounds: Array
    backs: Array
    aheads: Array


def cut_table(table: pa.Table, plan: Plan, anchors: Anchors | None, team: Team) -> CutTable:
    """Prepare the rows of a table, and cut them into pieces if they are many."""
    if table.num_rows < LEAST_ROWS:
        rows = prepare(table, plan, whole_input=True, anchors=anchors)
        return CutTable([Piece((rows,))], rows.num_rows, _played(rows.column(ROLES).to_numpy()))
    ends = times(table.column(plan.schema.end))
    size = max(PIECE_ROWS, -(-len(ends) // _RANGES))
    firsts = range(0, len(ends), size)
    # If every row counts, what is to be known of the rows depends on whether times alone order them.
    ordered = plan.every_row_counts and all_different(ends)

    def find(first: int) -> tuple[Players, bool]:
        rows = table.slice(first, size)
        found = find_players(rows, ends[first : first + size], plan, distinct=ordered)
        return found, ordered or _rises(ends[max(0, first - 1) : first + size])

    found, rises = zip(*team.each(find, firsts), strict=True)
    players = _near(list(found), anchors, team)
    count = sum(len(each.roles) for each in players)
    distinct = all(rises) or all_different(np.concatenate([each.ends for each in players]))
    cutter = _Cutter(players, plan, count, team)

    def arrange(number: int) -> tuple[pa.Table, Array, int]:
        places, cuts = cutter.places(number)
        some = players[number]
        rows = carry(some.chosen(places), plan, distinct=distinct, numbered=True)
        return rows, cuts, _played(some.roles)

    rows, cuts, played = zip(*team.each(arrange, range(len(players))), strict=True)
    return CutTable(cutter.collected(rows, cuts), count, functools.reduce(operator.or_, played))


def _rises(ends: Array) -> bool:
    return bool((ends[1:] > ends[:-1]).all())


def _played(roles: Array) -> int:
    return int(np.bitwise_or.reduce(roles, initial=0))


def _near(players: list[Players], anchors: Anchors | None, team: Team) -> list[Players]:
    """Leave out the rows that are too far from all anchors."""
    if anchors is None:
        return players
    parts = [each.ends for each in players], [each.roles for each in players]
    rarest, window = rarest_anchors(*parts, anchors), anchors.window
    if rarest is None:
        return players
    ends, roles = map(np.concatenate, parts)
    begins = np.cumsum([0, *(len(each.roles) for each in players)]).tolist()
    if len(players) * window > int(ends[-1] - ends[0]):  # threads would look at most anchors several times
        near = near_rows(ends, roles, rarest, window)
        cuts = np.searchsorted(near, begins)
        return [each.chosen(near[cuts[k] : cuts[k + 1]] - begins[k]) for k, each in enumerate(players)]

    def chosen(k: int) -> Players:
        near = near_rows(ends, roles, rarest, window, slice(begins[k], begins[k + 1]))
        return players[k].chosen(near - begins[k])

    return list(team.each(chosen, range(len(players))))


class _Cutter:
    """Says which piece each row belongs to."""

    def __init__(self, players: list[Players], plan: Plan, count: int, team: Team) -> None:
        self.players, self.window, self.team = players, plan.window, team
        self.slices: dict[int, _Slices] = {}  # by the hash of a hot key; 0 is that of a table without keys
        self.hashes = [np.empty(0, np.uint64)] * len(players)  # of the keys of each range's rows
        self.buckets, slicing = 1, plan_slices(plan)
        keys = plan.split if plan.reads_apart else ()
        if count >= LEAST_ROWS and keys:
            self.buckets = -(-count // PIECE_ROWS)
            self.hashes = list(team.each(lambda each: row_hashes(each.columns(keys))[:, 0].copy(), players))
        if count >= LEAST_ROWS and not isinstance(slicing, str):
            if keys:
                self._slice_hot_keys(slicing)
            else:
                self._slice(slicing, 0, [each.ends for each in players])
        self.division = self._division()

    def _slice_hot_keys(self, slicing: Slicing) -> None:
        likely = self._frequent()
        if len(likely) == 0:
            return
        sizes = sum(self.team.each(lambda hashes: _sizes(hashes, likely), self.hashes))
        for h in np.flatnonzero(sizes >= LEAST_ROWS).tolist():
            key = likely[h : h + 1]
            ends = self.team.each(functools.partial(self._ends, key), range(len(self.players)))
            self._slice(slicing, int(key[0]), list(ends))

    def _frequent(self) -> Array:
        """Return the hashes of keys that may be hot, in order: these are frequent in every few rows, too."""
        some, counts = np.unique(np.concatenate([each[::_FEW] for each in self.hashes]), return_counts=True)
        return some[counts > LEAST_ROWS // (2 * _FEW)]

    def _ends(self, key: Array, number: int) -> Array:
        """Return the ends of a range's rows that have a hash, which is given as an array of one."""
        ends = self.players[number].ends
        found = np.empty(len(ends) + 1, np.int64)
        return found[: pick_ends(self.hashes[number], key, ends, found)]

    def _slice(self, slicing: Slicing, key: int, ends: list[Array]) -> None:
        """Cut the events of a partition, given their ends, by time; if there are enough of them."""
        piece, count = self.count, sum(map(len, ends))
        if self.window.counts_events:
            # Most tables are in the order of time, or nearly: this kind of sorting is good at that.
            found = _bounds_by_number(np.sort(np.concatenate(ends), kind="stable"), self.window.length)
        else:
            found = _bounds_by_time(_sampled(ends, count), count, self.window.length)
        bounds, backs, aheads = found
        if len(bounds) == 0:
            return
        nothing_back, nothing_ahead = np.full_like(bounds, _GREATEST), np.full_like(bounds, _LEAST)
        backs = backs if slicing.back else nothing_back
        self.slices[key] = _Slices(piece, bounds, backs, aheads if slicing.ahead else nothing_ahead)

    def _division(self) -> Division:
        slices = list(self.slices.values())
        nothing = np.empty(0, np.int64)
        return Division(
            hot=np.array([key for key in self.slices if key], np.uint64),
            pieces=np.array([each.piece for each in slices], np.int64),
            starts=np.cumsum([0, *(len(each.bounds) for each in slices)], dtype=np.int64),
            bounds=np.concatenate([nothing, *(each.bounds for each in slices)]),
            backs=np.concatenate([nothing, *(each.backs for each in slices)]),
            aheads=np.concatenate([nothing, *(each.aheads for each in slices)]),
        )

    def places(self, number: int) -> tuple[Array, Array]:
        """Return the places of a range's rows, piece after piece, and where each piece begins and ends."""
        hashes, ends, count = self.hashes[number], self.players[number].ends, self.count
        if count == 1:
            return np.arange(len(ends)), np.array([0, len(ends)])
        own, sizes = np.empty(len(ends), np.int32), np.zeros(count, np.int64)
        count_pieces(self.division, hashes, ends, self.buckets, own, sizes)
        cuts = np.concatenate(([0], np.cumsum(sizes)))
        places = np.empty(cuts[-1], np.int64)
        place_rows(self.division, ends, own, cuts[:-1].copy(), places)
        return places, cuts

    @property
    def count(self) -> int:
        """The number of pieces; some may have no rows."""
        return self.buckets + sum(len(each.bounds) + 1 for each in self.slices.values())

    def collected(self, tables: Sequence[pa.Table], cuts: Sequence[Array]) -> list[Piece]:
        """Return the pieces, given the rows of each range by piece; those without rows are left out."""
        edges = [each.tolist() for each in cuts]
        rows = [
            tuple(
                table.slice(edge[piece], edge[piece + 1] - edge[piece])
                for table, edge in zip(tables, edges, strict=True)
                if edge[piece] < edge[piece + 1]
            )
            for piece in range(self.count)
        ]
        found = [Piece(each) for each in rows[: self.buckets]]
        for name, slices in enumerate(self.slices.values()):
            bounds = [None, *slices.bounds.tolist(), None]
            found += [
                Piece(rows[slices.piece + k], bounds[k], bounds[k + 1], name) for k in range(len(bounds) - 1)
            ]
        some = [piece for piece in found if piece.rows]
        return some or [Piece((tables[0],))]


def _sizes(hashes: Array, hot: Array) -> Array:
    """Return how many rows have each of some hashes."""
    sizes = np.zeros(len(hot), np.int64)
    count_keys(hashes, hot, sizes)
    return sizes


def _sampled(ends: list[Array], count: int) -> Array:
    """Return the ends of rows at equal distances, in order."""
    every = max(1, count // _SAMPLE)
    return np.sort(np.concatenate([each[::every] for each in ends]), kind="stable")


def _bounds_by_time(ends: Array, count: int, window: int) -> tuple[Array, Array, Array]:
    """Return where to cut so that slices have about equally many events, and at least a few windows.

    With each bound comes what its later side must see of the time before it, and its earlier side of that
    after it.
    """
    slices = -(-count // PIECE_ROWS)
    bounds: list[int] = []
    last = int(ends[0])
    for rank in np.linspace(0, len(ends), slices + 1).astype(np.int64)[1:-1]:
        bound = int(ends[rank])
        if bound - last >= _WINDOWS * window and bound > last:
            bounds.append(bound)
            last = bound
    backs = [max(bound - window, _LEAST) for bound in bounds]
    aheads = [min(bound + window, _GREATEST) for bound in bounds]
    return np.array(bounds, np.int64), np.array(backs, np.int64), np.array(aheads, np.int64)


def _bounds_by_number(ends: Array, window: int) -> tuple[Array, Array, Array]:
    """Return what :func:`_bounds_by_time` does for a window of so many events, given all ends in order."""
    size = max(PIECE_ROWS, _WINDOWS * window)
    bounds = np.unique(ends[size::size]) if len(ends) >= 2 * size else ends[:0]
    firsts = np.searchsorted(ends, bounds)
    bounds, firsts = bounds[firsts > window], firsts[firsts > window]
    keep = np.diff(firsts, prepend=0) > window  # a slice must hold what its neighbours see of it
    bounds, firsts = bounds[keep], firsts[keep]
    return bounds, ends[firsts - window], ends[np.minimum(firsts + window, len(ends) - 1)]
