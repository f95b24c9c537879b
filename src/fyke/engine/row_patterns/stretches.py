"""Ordered rows to stretches that threads search side by side: whole partitions, or a piece of a long one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fyke.engine.kernels.arrays import Array
from fyke.engine.row_patterns.neighbours import RowColumns
from fyke.engine.row_patterns.order import OrderedRows
from fyke.engine.row_patterns.times import window_times
from fyke.plan.row_patterns.cut import Cut, Overlap
from fyke.plan.row_patterns.plan import RowPlan

LEAST_ROWS = 1 << 17  # fewer are searched as a whole
STRETCH_ROWS = 1 << 17
NODE_ROWS = 1 << 19  # of a stretch where a row costs a few nanoseconds
_GREATEST = np.iinfo(np.int64).max
BARRIER_ROWS = 1 << 12  # that are looked at for a barrier at once
WINDOWS = 4  # a piece has at least so many times the rows that it sees behind it


@dataclass(frozen=True, slots=True)
class Stretch:
    """Matches that start from row ``first`` to in front of row ``last``.

    Between ``begin`` and ``end`` are all rows that decide them.  ``piece``: it is of one partition that has
    others, and the first of them begins at ``partition``.
    """

    first: int
    last: int
    begin: int
    end: int
    piece: bool = False
    partition: int = 0

    @property
    def joins(self) -> bool:
        """Whether its partition begins in another stretch."""
        return self.piece and self.first > self.partition


def are_many(rows: int) -> bool:
    """Say whether so many rows are worth several threads."""
    return rows >= LEAST_ROWS


def cut_rows(plan: RowPlan, cut: Cut, ordered: OrderedRows) -> list[Stretch]:
    """Return the stretches of ordered rows, which depend on nothing but the rows and the plan."""
    segments = ordered.segments
    count = int(segments[-1])
    if not are_many(count):
        return [Stretch(0, count, 0, count)]
    size = _size(cut)
    targets = segments[np.searchsorted(segments, np.arange(size, count, size))]
    long = np.flatnonzero(np.diff(segments) >= 2 * size)
    edges = np.unique(np.concatenate(([0, count], targets, segments[long], segments[long + 1])))
    stretches: list[Stretch] = []
    longs = set(segments[long].tolist())
    for first, last in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        pieces = _pieces(plan, cut, ordered, first, last) if first in longs else []
        stretches += pieces or [Stretch(first, last, first, last)]
    return stretches


def _size(cut: Cut) -> int:
    return NODE_ROWS if cut.overlap is Overlap.NODES else STRETCH_ROWS


def _pieces(plan: RowPlan, cut: Cut, ordered: OrderedRows, begin: int, end: int) -> list[Stretch]:
    """Return the pieces of a long partition; none if it is not cut."""
    if cut.overlap is Overlap.WHOLE:
        return []
    size = _size(cut)
    firsts = np.linspace(begin, end, (end - begin) // size + 1).astype(np.int64)
    if cut.overlap is Overlap.BARRIERS:
        firsts = _at_barriers(cut, ordered, firsts)
        if len(firsts) == 2:
            return []
    lasts = firsts[1:]
    if cut.overlap is Overlap.WINDOW:
        ends = begin + _ends_of_windows(plan, ordered, begin, end, lasts - begin)
    else:
        ends = lasts + cut.rows
    if cut.overlap in (Overlap.WINDOW, Overlap.ROWS) and int((ends - lasts).max()) * WINDOWS > size:
        return []
    back = cut.before + 1  # so that no piece but the first begins with a start
    return [
        Stretch(first, last, max(begin, first - back), min(end, until + cut.behind + 1), True, begin)
        for first, last, until in zip(firsts[:-1].tolist(), lasts.tolist(), ends.tolist(), strict=True)
    ]


def _ends_of_windows(plan: RowPlan, ordered: OrderedRows, begin: int, end: int, lasts: Array) -> Array:
    """Return behind which row the window of the last row in front of each of some rows ends."""
    item, window = plan.analysed.order[0], plan.analysed.window
    assert window is not None
    times = window_times(ordered.part(begin, end).column(item.column), item)
    latest = [min(int(time) + window, int(_GREATEST)) for time in times[lasts - 1]]
    return np.searchsorted(times, np.array(latest, np.int64), "right")


def _at_barriers(cut: Cut, ordered: OrderedRows, targets: Array) -> Array:
    """Return the first barrier from each of some rows of a partition on; the first and the last one stay."""
    inner = targets[1:-1].tolist()
    found = [
        _first_barrier(cut, ordered, int(targets[0]), first, until, int(targets[-1]))
        for first, until in zip(inner, targets[2:].tolist(), strict=True)
    ]
    return np.array([targets[0], *(row for row in found if row is not None), targets[-1]], np.int64)


def _first_barrier(
    cut: Cut, ordered: OrderedRows, begin: int, first: int, until: int, end: int
) -> int | None:
    """Return the first row from ``first`` to in front of ``until`` that no attempt from before can take.

    ``begin`` and ``end`` are those of its partition.
    """
    for row in range(first, until, BARRIER_ROWS):
        last = min(row + BARRIER_ROWS, until)
        back = max(begin, row - cut.before)
        columns = RowColumns(ordered.part(back, min(end, last + cut.behind)))
        holds = np.zeros(columns.rows, bool)
        for condition in cut.barring:
            holds |= columns.truth(condition).astype(bool)
        barriers = np.flatnonzero(~holds[row - back : last - back])
        if len(barriers):
            return row + int(barriers[0])
    return None
