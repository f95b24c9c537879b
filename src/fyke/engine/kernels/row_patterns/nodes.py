"""The linear search where what a row can lead to is one number, its *node*: two passes over a table.

A node stands for a set of states (:mod:`fyke.engine.row_patterns.nodes`).  The pass back takes the node of a
row from that of the row behind it and from which conditions hold, its *symbol*; the walk on takes the next
state from the current one and from the node.  Both are one look into a table a row.
"""

from __future__ import annotations

from fyke.engine.kernels import layout as L
from fyke.engine.kernels.jit import entry, jit
from fyke.engine.kernels.kinds import Bytes, Integers
from fyke.engine.kernels.row_patterns import layout as R
from fyke.engine.kernels.row_patterns.arena import NodeArena
from fyke.engine.kernels.row_patterns.skips import next_start


@entry
def mark_partitions(symbols: Bytes, following: Bytes, segments: Integers, nodes: Bytes, bits):
    """Write the nodes of the rows of whole partitions."""
    for s in range(len(segments) - 1):
        node = 0
        for row in range(segments[s + 1] - 1, segments[s] - 1, -1):
            node = following[(node << bits) | symbols[row]]
            nodes[row] = node


@entry
def mark_stretch(symbols: Bytes, following: Bytes, nodes: Bytes, begin, end, node, bits, again: bool):
    """Write the nodes of rows whose last is followed by ``node``; return the first row that was written.

    ``again``: they are written already, for another node; what differs is written until nothing does.
    """
    for row in range(end - 1, begin - 1, -1):
        node = following[(node << bits) | symbols[row]]
        if again and nodes[row] == node:
            return row + 1
        nodes[row] = node
    return begin


@entry
def walk_nodes(w: NodeArena):
    """Find the matches of all partitions; return DONE, PAUSE, a need, or why a skip leads nowhere."""
    cursor, segments = w.cursor, w.segments
    while cursor[R.AT_SEGMENT] < len(segments) - 1:
        begin, end = segments[cursor[R.AT_SEGMENT]], segments[cursor[R.AT_SEGMENT] + 1]
        if cursor[R.AT_ROW] < 0:
            cursor[R.AT_ROW] = max(begin, w.settings[R.SET_FROM])
            marked = min(end, w.settings[R.SET_STOP]) - cursor[R.AT_ROW]
            w.work[L.WORK_BEGIN] = w.work[L.WORK_DONE]
            w.work[L.WORK_DONE] += marked
            cursor[R.AT_STEPS] += marked
        status = walk_partition(w, begin, end, min(end, w.settings[R.SET_STOP]))
        if status != L.DONE:
            return status
        cursor[R.AT_SEGMENT] += 1
        cursor[R.AT_NEXT] = cursor[R.AT_ROW]
        cursor[R.AT_ROW] = -1
    return L.DONE


@jit
def walk_partition(w: NodeArena, begin, end, stop):
    """Find the matches of a partition that start at the row of the cursor or behind it, before ``stop``."""
    cursor, work, nodes, starts = w.cursor, w.work, w.nodes, w.starts
    first, count = w.settings[R.SET_STATES], w.settings[R.SET_NODES]
    row = cursor[R.AT_ROW]
    while row < stop:
        if work[L.WORK_DONE] > work[L.WORK_PAUSE]:
            return L.PAUSE
        candidate = row
        if row > begin or w.choices[first * count + nodes[row]] == R.NO_MATCH:
            candidate += row == begin
            while candidate < stop and starts[nodes[candidate]] == 0:
                candidate += 1
            cursor[R.AT_STEPS] += candidate - row
            work[L.WORK_DONE] += (candidate - row) >> 2
            row = cursor[R.AT_ROW] = candidate
        if row >= stop:
            break
        if cursor[R.AT_MATCHES] == len(w.begins):
            return R.NEED_MATCHES
        behind = follow_nodes(w, row, end, first if row == begin else first + 1)
        if behind < 0:
            return R.NEED_STATES
        status = next_start(w, row, behind)
        if status != L.DONE:
            return status
        row = cursor[R.AT_ROW]
    return L.DONE


@jit
def follow_nodes(w: NodeArena, row, end, at):
    """Walk along the preferred match from a row; return the row behind it, -1 if its labels need room."""
    nodes, choices, count = w.nodes, w.choices, w.settings[R.SET_NODES]
    here = row
    if w.settings[R.SET_LABELS]:
        states, offset = w.states, w.cursor[R.AT_STATES] - row
        full = min(end, row + len(states) - w.cursor[R.AT_STATES])
        while here < full:
            at = choices[at * count + nodes[here]]
            if at < 0:
                break
            states[offset + here] = at
            here += 1
        if here == full and full < end:
            return -1
    else:
        while here < end:
            at = choices[at * count + nodes[here]]
            if at < 0:
                break
            here += 1
    w.work[L.WORK_DONE] += 1 + here - row
    w.cursor[R.AT_STEPS] += 1 + here - row
    return here
