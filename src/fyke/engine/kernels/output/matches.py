"""Writing one match: its bindings in the order of their positions, then where it ends."""

from __future__ import annotations

from fyke.engine.kernels import layout as L
from fyke.engine.kernels.jit import jit
from fyke.engine.kernels.output.arena import SearchArena


@jit
def has_room(w: SearchArena, length):
    """Say whether one more match of that length fits into the output."""
    if w.cursor[L.CURSOR_MATCHES] + 2 > len(w.offsets):
        return False
    return w.cursor[L.CURSOR_BINDINGS] + length <= len(w.out_positions)


@jit
def close_match(w: SearchArena, length):
    """End a match whose bindings have been written."""
    w.cursor[L.CURSOR_BINDINGS] += length
    w.cursor[L.CURSOR_MATCHES] += 1
    w.offsets[w.cursor[L.CURSOR_MATCHES]] = w.cursor[L.CURSOR_BINDINGS]


@jit
def insert_binding(prefix, count, position, variable):
    """Insert a binding among sorted ones: positions fill one half of ``prefix``, variables the other."""
    half, at = len(prefix) // 2, count
    while at > 0 and prefix[at - 1] > position:
        prefix[at] = prefix[at - 1]
        prefix[half + at] = prefix[half + at - 1]
        at -= 1
    prefix[at] = position
    prefix[half + at] = variable


@jit
def write_match(w: SearchArena, prefix, count):
    """Write a match of ``count`` sorted bindings, for which there is room."""
    half, out = len(prefix) // 2, w.cursor[L.CURSOR_BINDINGS]
    for k in range(count):
        w.out_positions[out + k] = prefix[k]
        w.out_variables[out + k] = prefix[half + k]
    close_match(w, count)
