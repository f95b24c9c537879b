"""What one call of the engine reads: rows in order, their arrays, and the current time."""

from __future__ import annotations

from dataclasses import dataclass

from fyke.engine.counters import Counters
from fyke.engine.input.order import Ordered
from fyke.engine.kernels.arrays import Array, Data
from fyke.engine.meter import Meter


@dataclass(frozen=True, slots=True)
class Feed:
    """The rows of a call.

    Attributes
    ----------
    ordered
        The kept rows and the new ones, in processing order.
    places
        The place of each kept row, and then of each new one, in that order.
    read
        Which rows earlier calls have read.
    segments
        For each partition its first row, its first unread row, and the end of its complete rows.
    flush
        Whether the input ends here.
    now
        Every event that ends up to this time is there.
    data, ranks
        The columns that conditions compare, and the ranks of string literals among their strings.
    counters, meter
        What has happened, and what the call may still cost.
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
    meter: Meter
