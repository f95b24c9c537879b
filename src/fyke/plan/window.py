"""How long a match may be, in the units that engines count in."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from fyke.language.ast import Window, WindowKind

_GREATEST = 2**63 - 1


class Counts(Enum):
    """What the length of a window counts."""

    NOTHING = "nothing"
    TIME = "time"
    EVENTS = "events"


@dataclass(frozen=True, slots=True)
class Extent:
    """The window of a plan: ``length`` is in units of the time column, or a number of events.

    Without WITHIN it counts nothing and its length is 0.
    """

    counts: Counts = Counts.NOTHING
    length: int = 0

    @property
    def bounded(self) -> bool:
        """Whether there is a window at all."""
        return self.counts is not Counts.NOTHING

    @property
    def counts_events(self) -> bool:
        """Whether it is WITHIN n EVENTS, which counts all events of a partition, whatever their role."""
        return self.counts is Counts.EVENTS

    @property
    def counts_time(self) -> bool:
        """Whether it is a span of time."""
        return self.counts is Counts.TIME

    @property
    def clipped(self) -> int:
        """The length, at most the largest signed integer of 64 bits: no times are further apart."""
        return min(self.length, _GREATEST)


def measure_extent(window: Window | None, length: int | None) -> Extent:
    """Return the extent of a window that the analysis has measured as ``length``."""
    if window is None or length is None:
        return Extent()
    return Extent(Counts.EVENTS if window.kind is WindowKind.EVENTS else Counts.TIME, length)
