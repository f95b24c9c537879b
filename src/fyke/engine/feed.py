"""What one call of the engine reads: rows in order, as arrays, and how far time has come."""

from __future__ import annotations

from dataclasses import dataclass

from fyke.engine.counters import Counters
from fyke.engine.input.order import Ordered
from fyke.engine.kernels.arrays import Array, Data


@dataclass(frozen=True, slots=True)
class Feed:
    """The rows of a call.

    Attributes
    ----------
    ordered
        The rows kept and the new ones, in processing order.
    places
        Where each row kept, and then each new one, stands among them.
    read
        Which have been read by earlier calls.
    segments
        The table of partitions as kernels want it: first row, first unread one, end of what is complete.
    flush
        Whether the input ends here.
    now
        Every event up to this end time is there.
    data, ranks
        The columns that conditions compare, and the ranks of string literals among their strings.
    """

    ordered: Ordered
    places: Array
    read: Array
    segments: Array
    flush: bool
    now: int
    data: Data
    ranks: dict[str, int]
    counters: Counters
