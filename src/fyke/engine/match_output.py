"""Where kernels write matches: room for them, taken out piece by piece."""

from __future__ import annotations

import numpy as np

from fyke.engine.kernels import layout as L
from fyke.engine.kernels.arrays import BINDING_BYTES, NUMBER, Array
from fyke.engine.limits import LimitReached
from fyke.engine.matchset import MatchSet, concat


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

    def keep(self, cursor: Array, buffer_bytes: int) -> None:
        """Take out the matches written so far and keep them for :meth:`result`.

        Raises
        ------
        LimitReached
            If they take more than ``buffer_bytes``.
        """
        piece = self.drain(cursor)
        if piece is not None:
            self.pieces.append(piece)
            if self.bindings * BINDING_BYTES > buffer_bytes:
                raise LimitReached("buffer_bytes", int(piece.positions[-1]))

    def result(self) -> MatchSet:
        """Return all matches that were kept."""
        return concat(self.pieces)
