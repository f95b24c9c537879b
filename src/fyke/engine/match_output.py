"""Where kernels write matches: room for them, taken out piece by piece."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fyke.engine.kernels import layout as L
from fyke.engine.kernels.arrays import BINDING_BYTES, NUMBER, Array
from fyke.engine.limits import LimitReached
from fyke.engine.matchset import MatchSet, concat
from fyke.engine.meter import Meter


def matches_bytes(bindings: int, matches: int) -> int:
    """Return the memory that matches take while their pieces are put together: twice that of the pieces."""
    return 2 * (BINDING_BYTES * bindings + 10 * matches)


class MatchOutput:
    """The arrays that a kernel fills up to its cursor, and the matches taken out of them so far.

    ``alternatives``: the kernel also writes which alternative found each match.
    """

    def __init__(self, bindings: int, *, alternatives: bool = False) -> None:
        self.alternatives = alternatives
        self.pieces: list[MatchSet] = []
        self.matches = self.bindings = 0
        self.make_room(bindings)

    def make_room(self, bindings: int) -> None:
        """Make new arrays for that many bindings; what is in the old ones must have been drained."""
        self.room = bindings
        # In blocks: allocators keep what is freed in large pieces at hand for the next call.
        places, numbers = np.empty((2, bindings + 2), np.int64), np.empty((2, bindings), NUMBER)
        self.arrays: dict[str, Array] = {
            "out_positions": places[0, :bindings],
            "out_variables": numbers[0],
            "offsets": places[1],
        }
        if self.alternatives:
            self.arrays["out_alternative"] = numbers[1]
        self.arrays["offsets"][0] = 0

    def drain(self, cursor: Array) -> MatchSet | None:
        """Take out the matches written so far, if any; the cursor begins anew.

        A piece that fills most of the arrays takes them along, and new ones are made.
        """
        count, bindings = int(cursor[L.CURSOR_MATCHES]), int(cursor[L.CURSOR_BINDINGS])
        cursor[L.CURSOR_MATCHES] = cursor[L.CURSOR_BINDINGS] = 0
        if count == 0:
            return None
        positions, variables, offsets, *whose = self.arrays.values()
        filled = [positions[:bindings], variables[:bindings], offsets[: count + 1]]
        filled.append(whose[0][:count] if whose else np.zeros(count, NUMBER))
        if 2 * bindings < self.room:
            filled = [array.copy() for array in filled]
        else:
            self.make_room(self.room)
        self.matches += count
        self.bindings += bindings
        return MatchSet(*filled)

    def keep(self, cursor: Array, meter: Meter) -> None:
        """Take out the matches written so far and keep them for :meth:`result`.

        Raises
        ------
        LimitReached
            If they take too much memory.
        """
        piece = self.drain(cursor)
        if piece is not None:
            self.pieces.append(piece)
            size, row = matches_bytes(self.bindings, self.matches), int(piece.positions[-1])
            meter.hold(self, size, row, "matches")

    def result(self) -> MatchSet:
        """Return all matches that were kept."""
        return concat(self.pieces)


class PartitionCounts:
    """Counts matches by partition, given piece by piece; raises when one has too many.

    ``codes`` are the numbers of the partitions of all rows.
    """

    def __init__(self, codes: Array, most: int) -> None:
        self.codes, self.most = codes, most
        self.partition, self.count = -1, 0

    def add(self, matches: MatchSet) -> None:
        """Count some more matches, partition by partition.

        Raises
        ------
        LimitReached
        """
        for code, number in self._by_partition(matches):
            self.count = number + (self.count if code == self.partition else 0)
            self.partition = code
            if self.count > self.most:
                raise LimitReached("matches", int(np.flatnonzero(self.codes == code)[0]))

    def _by_partition(self, matches: MatchSet) -> Iterator[tuple[int, int]]:
        """Yield each partition of some matches, and how many it has."""
        first, last = (int(self.codes[matches.positions[matches.offsets[m]]]) for m in (0, -2))
        if first == last:
            yield first, len(matches)
            return
        found, numbers = np.unique(self.codes[matches.first], return_counts=True)
        yield from zip(found.tolist(), numbers.tolist(), strict=True)
