"""The linear search where what a row can lead to is one number, its *node*: two passes over a table.

A node stands for a set of states (:mod:`fyke.engine.row_patterns.nodes`).  The pass back takes the node of a
row from that of the row behind it and from which conditions hold, its *symbol*; the walk on takes the next
state from the current one and from the node.  Both are one look into a table a row.
"""

from __future__ import annotations

import numpy as np

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
        mark_span(symbols, following, nodes, segments[s], segments[s + 1], 0, bits)


@entry
def mark_stretch(symbols: Bytes, following: Bytes, nodes: Bytes, begin, end, node, bits, again: bool):
    """Write the nodes of rows whose last is followed by ``node``; return the first row that was written.

    ``again``: they are written already, for another node; what differs is written until nothing does.
    """
    if again:
        return mark_back(symbols, following, nodes, begin, end, node, bits, True)
    mark_span(symbols, following, nodes, begin, end, node, bits)
    return begin


@jit
def mark_span(symbols, following, nodes, begin, end, node, bits):
    """Write the nodes of rows, many of them in quarters that are put together where they meet."""
    if end - begin < R.LONG_SPAN:
        mark_back(symbols, following, nodes, begin, end, node, bits, False)
        return
    quarter = (end - begin - 1) >> 2
    rest = begin + 4 * quarter
    mark_back(symbols, following, nodes, rest, end, node, bits, False)
    mark_quarters(symbols, following, nodes, begin, quarter, nodes[rest], bits)
    for number in range(3, 0, -1):
        edge = begin + number * quarter
        mark_back(symbols, following, nodes, edge - quarter, edge, nodes[edge], bits, True)


@jit
def mark_back(symbols, following, nodes, begin, end, node, bits, again):
    """Do as :func:`mark_stretch` does, row by row."""
    node = np.int64(node)
    for row in range(end - 1, begin - 1, -1):
        node = np.int64(following[(node << bits) | symbols[row]])
        if again and nodes[row] == node:
            return row + 1
        nodes[row] = node
    return begin


@jit
def mark_quarters(symbols, following, nodes, begin, quarter, node, bits):
    """Write the nodes of four times so many rows side by side: one look into the table waits for the last.

    Only the last quarter is followed by a node that is known; the others are taken for ends of partitions.
    """
    second, third, fourth = begin + quarter, begin + 2 * quarter, begin + 3 * quarter
    a = b = c = np.int64(0)
    d = np.int64(node)
    for k in range(quarter - 1, -1, -1):
        a = np.int64(following[(a << bits) | symbols[begin + k]])
        b = np.int64(following[(b << bits) | symbols[second + k]])
        c = np.int64(following[(c << bits) | symbols[third + k]])
        d = np.int64(following[(d << bits) | symbols[fourth + k]])
        nodes[begin + k], nodes[second + k], nodes[third + k], nodes[fourth + k] = a, b, c, d


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
        stop = min(end, w.settings[R.SET_STOP])
        if w.settings[R.SET_SKIP] == R.SKIP_PAST_LAST and not w.settings[R.SET_MAY_BE_EMPTY]:
            status = walk_past(w, begin, end, stop)
        else:
            status = walk_partition(w, begin, end, stop)
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
def walk_past(w: NodeArena, begin, end, stop):
    """Do as :func:`walk_partition` does where a match has a row and the next one starts behind it.

    That is what most clauses ask for, so nothing is written but the matches.
    """
    cursor, work, nodes, starts, choices = w.cursor, w.work, w.nodes, w.starts, w.choices
    begins, ends, states = w.begins, w.ends, w.states
    count, labels = w.settings[R.SET_NODES], w.settings[R.SET_LABELS]
    first = w.settings[R.SET_STATES] * count
    found, written, row = cursor[R.AT_MATCHES], cursor[R.AT_STATES], cursor[R.AT_ROW]
    last, room = len(begins), len(states)
    status, since, pause = L.DONE, row, row + work[L.WORK_PAUSE] - work[L.WORK_DONE]
    at = first if row == begin else first + count
    while row < stop:
        if at != first:
            while row < stop and starts[nodes[row]] == 0:
                row += 1
            if row >= stop:
                break
        elif choices[at + nodes[row]] < 0:
            at = first + count
            row += 1
            continue
        if row > pause:
            status = L.PAUSE
            break
        if found == last:
            status = R.NEED_MATCHES
            break
        here = row
        if labels:
            full = min(end, row + room - written)
            offset = written - row
            while here < full:
                to = choices[at + nodes[here]]
                if to < 0:
                    break
                states[offset + here] = to
                at = to * count
                here += 1
            if here == full and full < end:
                status = R.NEED_STATES
                break
            written += here - row
        else:
            while here < end:
                to = choices[at + nodes[here]]
                if to < 0:
                    break
                at = to * count
                here += 1
        begins[found], ends[found] = row, here
        found += 1
        row = here
        at = first + count
    cursor[R.AT_MATCHES], cursor[R.AT_STATES], cursor[R.AT_ROW] = found, written, row
    cursor[R.AT_STEPS] += row - since
    work[L.WORK_DONE] += row - since
    return status


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
