"""What a call may still cost: its steps, its seconds and its memory, counted in one place for all engines."""

from __future__ import annotations

from collections.abc import Hashable
from time import perf_counter

import numpy as np

from fyke.engine.kernels import layout as L
from fyke.engine.kernels.arrays import Array
from fyke.engine.kernels.jit import seconds_compiling
from fyke.engine.limits import LimitReached, Part
from fyke.limits import Limits

_SLICE = 1 << 22  # steps of a kernel between two looks at the clock, some fifty milliseconds


class Meter:
    """Counts what a call costs.

    Kernels count their steps in ``work`` and come back now and then; the host calls :meth:`check` then.
    Before it makes room for something, it says so with :meth:`hold`.
    """

    def __init__(self, limits: Limits, rows: int) -> None:
        self.limits = limits
        self.work: Array = np.zeros(L.WORK_SIZE, np.int64)
        self.work[L.WORK_MOST] = limits.steps_for(rows)
        self._held: dict[Hashable, int] = {}
        self._spent = 0.0
        self.resume()
        self._open_slice()

    def check(self, row: int, part: Part = "search") -> None:
        """Look at steps and clock after a kernel call; ``row`` is of the partition it has come to.

        Raises
        ------
        LimitReached
        """
        done, begin, most = (int(self.work[k]) for k in (L.WORK_DONE, L.WORK_BEGIN, L.WORK_MOST))
        if self.work[L.WORK_CUT] or done - begin > most:
            raise LimitReached("steps", row, part, most)
        self.check_clock(row, part)
        self._open_slice()

    def check_clock(self, row: int, part: Part = "search") -> None:
        """Raise if the call has taken more seconds than it may; those of compiling do not count."""
        if self.limits.seconds is not None and self._spent + _now() - self._since > self.limits.seconds:
            raise LimitReached("seconds", row, part)

    def suspend(self) -> None:
        """Stop the clock, while others use what has been found so far."""
        self._spent += _now() - self._since

    def resume(self) -> None:
        """Let the clock run."""
        self._since = _now()

    def add(self, steps: int) -> None:
        """Count steps that the host has done itself."""
        self.work[L.WORK_DONE] += steps

    def hold(self, what: Hashable, size: int, row: int, part: Part = "search") -> None:
        """Count the bytes that something takes from now on, before they are taken.

        Raises
        ------
        LimitReached
            If all that is held would take more than ``buffer_bytes``.
        """
        self._held[what] = size
        if sum(self._held.values()) > self.limits.buffer_bytes:
            raise LimitReached("buffer_bytes", row, part)

    def release(self, *what: Hashable) -> None:
        """Count no longer what is not held any more."""
        for each in what:
            self._held.pop(each, None)

    def _open_slice(self) -> None:
        done, begin, most = (int(self.work[k]) for k in (L.WORK_DONE, L.WORK_BEGIN, L.WORK_MOST))
        self.work[L.WORK_PAUSE] = min(done + _SLICE, begin + most)


def _now() -> float:
    return perf_counter() - seconds_compiling()


def first_row(segments: Array, segment: int) -> int:
    """Return a row of the partition that a kernel has come to, or of the last one."""
    return int(segments[min(max(segment, 0), len(segments) - 1), L.SEGMENT_BEGIN]) if len(segments) else 0
