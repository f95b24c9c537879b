"""What a call may still cost: its steps, its seconds and its memory, counted in one place for all engines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from threading import Lock
from time import perf_counter

import numpy as np

from fyke.engine.kernels import layout as L
from fyke.engine.kernels.arrays import Array
from fyke.engine.kernels.jit import seconds_compiling, seconds_of_all_threads
from fyke.engine.limits import LimitReached, Part
from fyke.limits import Limits

_SLICE = 1 << 22  # steps of a kernel between two looks at the clock, some fifty milliseconds


class Stopped(Exception):
    """Raised in a thread whose work nobody wants any more."""


class Budget:
    """What the pieces of one call may cost together, whichever threads read them.

    ``rows`` are those of the whole call.  Pieces of one partition have one ``name``: their steps and matches
    add up.
    """

    def __init__(self, limits: Limits, rows: int) -> None:
        self.limits, self.rows = limits, rows
        self.stopped = False
        self._since = perf_counter() - seconds_of_all_threads()
        self._lock = Lock()
        self._steps: Counter[Hashable] = Counter()
        self._matches: Counter[Hashable] = Counter()
        self._held: Counter[Hashable] = Counter()

    def stop(self) -> None:
        """Let the threads end at their next look at the clock."""
        self.stopped = True

    def seconds(self) -> float:
        """Return how long the call has taken."""
        return perf_counter() - seconds_of_all_threads() - self._since

    def hold(self, who: Hashable, size: int) -> int:
        """Count the bytes that one piece holds; return those of all."""
        with self._lock:
            self._held[who] = size
            return sum(self._held.values())

    def add_steps(self, name: Hashable, steps: int) -> int:
        """Count steps in a partition that is read in several pieces; return those of all pieces."""
        with self._lock:
            self._steps[name] += steps
            return self._steps[name]

    def add_matches(self, name: Hashable, matches: int) -> int:
        """Count matches in a partition that is read in several pieces; return those of all pieces."""
        with self._lock:
            self._matches[name] += matches
            return self._matches[name]


class Meter:
    """Counts what a call costs, or one of several pieces of a call, which share a ``budget``.

    Kernels count their steps in ``work`` and come back now and then; the host calls :meth:`check` then.
    Before it makes room for something, it says so with :meth:`hold`.  ``name`` is the one partition that a
    piece belongs to, if others belong to it too.  A call that is no piece ends when ``ends_with`` is stopped.
    """

    def __init__(
        self,
        limits: Limits,
        rows: int,
        budget: Budget | None = None,
        name: Hashable = None,
        *,
        ends_with: Budget | None = None,
    ) -> None:
        self.limits, self.budget, self.name = limits, budget, name
        self._ends_with = ends_with or budget
        self.work: Array = np.zeros(L.WORK_SIZE, np.int64)
        self.work[L.WORK_MOST] = limits.steps_for(rows if budget is None else budget.rows)
        self._held: dict[Hashable, int] = {}
        self._spent, self._told = 0.0, 0
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
        if self.budget is not None and self.name is not None:
            new, self._told = done - self._told, done
            if self.budget.add_steps(self.name, new) > most:
                raise LimitReached("steps", row, part, most)
        self.check_clock(row, part)
        self._open_slice()

    def check_clock(self, row: int, part: Part = "search") -> None:
        """Raise if the call has taken more seconds than it may; those of compiling do not count."""
        if self._ends_with is not None and self._ends_with.stopped:
            raise Stopped
        if self.limits.seconds is not None and self._seconds() > self.limits.seconds:
            raise LimitReached("seconds", row, part)

    def _seconds(self) -> float:
        return self._spent + _now() - self._since if self.budget is None else self.budget.seconds()

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
        if self._all_held() > self.limits.buffer_bytes:
            raise LimitReached("buffer_bytes", row, part)

    def _all_held(self) -> int:
        held = sum(self._held.values())
        return held if self.budget is None else self.budget.hold(self, held)

    def release(self, *what: Hashable) -> None:
        """Count no longer what is not held any more."""
        for each in what:
            self._held.pop(each, None)
        self._all_held()

    def end(self) -> None:
        """Stop counting for a piece that has ended: its steps are known, and it holds nothing.

        Raises
        ------
        LimitReached
        """
        self._held.clear()
        self._all_held()
        self.check(0)

    def _open_slice(self) -> None:
        done, begin, most = (int(self.work[k]) for k in (L.WORK_DONE, L.WORK_BEGIN, L.WORK_MOST))
        self.work[L.WORK_PAUSE] = min(done + _SLICE, begin + most)


def _now() -> float:
    return perf_counter() - seconds_compiling()


def first_row(segments: Array, segment: int) -> int:
    """Return a row of the partition that a kernel has come to, or of the last one."""
    return int(segments[min(max(segment, 0), len(segments) - 1), L.SEGMENT_BEGIN]) if len(segments) else 0
