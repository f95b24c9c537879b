"""Loops in Numba for row patterns: hand-written ones, one per pattern, and one that goes back, for any.

The hand-written loops are the floor: each knows its one pattern and that rows are in order.  The other one is
what a textbook has: instructions, and a stack of what is left to try.  What a user gets is the same as from
Fyke.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numba import njit

Array = np.ndarray[Any, Any]
TAKE, SPLIT, JUMP, ACCEPT = 0, 1, 2, 3


# --- one pattern each -------------------------------------------------------------------------------


def pairs(ticks: pa.Table) -> pa.Table:
    """Return the matches of ``A B``: a low x, and then a high one."""
    t, x = (ticks.column(name).to_numpy() for name in ("t", "x"))
    found = _pairs(x)
    return pa.table({"a": t[found], "b": t[found + 1]})


@njit(cache=True)
def _pairs(x: Array) -> Array:
    found = np.empty(len(x) // 2 + 1, np.int64)
    count, row = 0, 0
    while row + 1 < len(x):
        if x[row] < 0.3 and x[row + 1] > 0.7:
            found[count] = row
            count += 1
            row += 2
        else:
            row += 1
    return found[:count]


def v_shapes(ticks: pa.Table) -> pa.Table:
    """Return the matches of ``S DOWN+ UP+``: where they begin, turn and end."""
    t, price = (ticks.column(name).to_numpy() for name in ("t", "price"))
    begin, turn, end = _v_shapes(price)
    return pa.table({"a": t[begin], "b": t[turn], "c": t[end]})


@njit(cache=True)
def _v_shapes(price: Array) -> tuple[Array, Array, Array]:
    room = len(price) // 3 + 1
    begin, turn, end = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.int64)
    count, row, rows = 0, 0, len(price)
    while row < rows:
        down = row
        while down + 1 < rows and price[down + 1] < price[down]:
            down += 1
        up = down
        while up + 1 < rows and price[up + 1] > price[up]:
            up += 1
        if down > row and up > down:
            begin[count], turn[count], end[count] = row, down, up
            count += 1
            row = up + 1
        else:
            row = max(down, row + 1)
    return begin[:count], turn[:count], end[:count]


def streaks(ticks: pa.Table) -> pa.Table:
    """Return the matches of ``S UP{3,}``: where they begin and end, and how long they are."""
    t, price = (ticks.column(name).to_numpy() for name in ("t", "price"))
    begin, end = _streaks(price)
    return pa.table({"a": t[begin], "b": t[end], "n": end - begin + 1})


@njit(cache=True)
def _streaks(price: Array) -> tuple[Array, Array]:
    begin, end = np.empty(len(price) // 4 + 1, np.int64), np.empty(len(price) // 4 + 1, np.int64)
    count, row, rows = 0, 0, len(price)
    while row < rows:
        up = row
        while up + 1 < rows and price[up + 1] > price[up]:
            up += 1
        if up - row >= 3:
            begin[count], end[count] = row, up
            count += 1
        row = up + 1
    return begin[:count], end[:count]


# --- any pattern ------------------------------------------------------------------------------------


def go_back(ticks: pa.Table, program: list[tuple[int, int, int]]) -> pa.Table:
    """Return the matches of a program, one past the other: the time of the first row, and how many they have.

    An instruction is TAKE a row of a letter, SPLIT to two places, the preferred one first, JUMP to a place,
    or ACCEPT.
    """
    t, letter = (ticks.column(name).to_numpy() for name in ("t", "letter"))
    begins, ends = _go_back(letter, np.array(program))
    return pa.table({"a": t[begins], "n": ends - begins})


@njit(cache=True)
def _go_back(letter: Array, program: Array) -> tuple[Array, Array]:
    rows = len(letter)
    begins, ends = np.empty(rows + 1, np.int64), np.empty(rows + 1, np.int64)
    places, heres = np.empty(2 * rows + 16, np.int64), np.empty(2 * rows + 16, np.int64)
    count, start = 0, 0
    while start < rows:
        depth, behind = 1, -1
        places[0], heres[0] = 0, start
        while depth > 0 and behind < 0:
            depth -= 1
            place, here = places[depth], heres[depth]
            while True:
                kind, one, other = program[place, 0], program[place, 1], program[place, 2]
                if kind == TAKE:
                    if here == rows or letter[here] != one:
                        break
                    here += 1
                    place += 1
                elif kind == SPLIT:
                    places[depth], heres[depth] = other, here
                    depth += 1
                    place = one
                elif kind == JUMP:
                    place = one
                else:
                    behind = here
                    break
        if behind < 0:
            start += 1
            continue
        begins[count], ends[count] = start, behind
        count += 1
        start = max(behind, start + 1)
    return begins[:count], ends[:count]
