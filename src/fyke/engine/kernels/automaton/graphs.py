"""Matches as graphs ([N] 4.2): what the buffer shares stays shared, match after match is never written."""

from __future__ import annotations

import numpy as np

from fyke.engine.kernels import layout as L
from fyke.engine.kernels.automaton.arena import AutomatonArena
from fyke.engine.kernels.automaton.runs import age_fits
from fyke.engine.kernels.jit import entry, jit
from fyke.engine.kernels.kinds import IntegerRows, Integers

EVENT, VARIABLE, ONE, OTHER, GRAPH_SIZE = 0, 1, 2, 3, 4
LARGEST = np.int64(2**63 - 1)


@jit
def mark(marks, node, pending):
    """Ask for a node; return how many are asked for and not visited."""
    if marks[node] == 0:
        marks[node] = -1
        return pending + 1
    return pending


@jit
def visit(w, node, last, marks, nodes, filled, pending):
    """Write a node, with its predecessors by their numbers in the buffer, and ask for those that fit."""
    for k in range(GRAPH_SIZE):
        nodes[filled, k] = -1
    one, other = w.nodes[node, L.NODE_PREVIOUS], -1
    if w.nodes[node, L.NODE_EVENT] == L.UNION:
        other = w.nodes[node, L.NODE_VARIABLE]
        if not age_fits(w, w.nodes[other, L.NODE_AGE], last):
            other = -1
        elif not age_fits(w, w.nodes[one, L.NODE_AGE], last):
            one, other = other, -1
    else:
        nodes[filled, EVENT] = w.nodes[node, L.NODE_EVENT]
        nodes[filled, VARIABLE] = w.nodes[node, L.NODE_VARIABLE]
    nodes[filled, ONE] = one
    nodes[filled, OTHER] = other
    if one >= 0:
        pending = mark(marks, one, pending)
    if other >= 0:
        pending = mark(marks, other, pending)
    return pending


@jit
def write_graph(w, first, stop, marks, nodes, filled):
    """Write the graph of the matches noted from ``first`` to ``stop``, which end with one event.

    Nodes come after those that lead to them, last ones first; predecessors are named by their numbers
    in the buffer.  ``marks`` then has the place of each node behind ``filled``, plus one.  Returns where
    the nodes end, and the range of their numbers in the buffer.
    """
    last = w.nodes[w.heads[first], L.NODE_EVENT]
    pending, highest = 0, np.int64(-1)
    for h in range(first, stop):
        pending = mark(marks, w.heads[h], pending)
        highest = max(highest, w.heads[h])
    node, at = highest, filled
    while pending > 0:
        if marks[node] == -1:
            pending = visit(w, node, last, marks, nodes, at, pending) - 1
            marks[node] = at - filled + 1
            at += 1
        node -= 1
    return at, node + 1, highest


@jit
def resolve(marks, nodes, filled, end):
    """Name predecessors by their places in the graph."""
    for k in range(filled, end):
        for link in (ONE, OTHER):
            if nodes[k, link] >= 0:
                nodes[k, link] = marks[nodes[k, link]] - 1


@jit
def count_ways(nodes, filled, end, ways):
    """Write how many histories each node has; -1 for more than an integer can say."""
    for k in range(end - 1, filled - 1, -1):
        one, other = nodes[k, ONE], nodes[k, OTHER]
        ways[k - filled] = 1 if one < 0 else ways[one]
        if other >= 0:
            ways[k - filled] = add_ways(ways[k - filled], ways[other])


@jit
def add_ways(x, y):
    """Add two numbers of matches, -1 being too many."""
    if x < 0 or y < 0 or x > LARGEST - y:
        return np.int64(-1)
    return x + y


@jit
def write_noted_graphs(w, marks, ways, nodes, lasts, rows, filled):
    """Write graphs for the noted matches; return how many rows, and leave nodes and lasts in ``filled``.

    ``rows`` has for each graph the event that ends it, the end of its nodes, the end of its last nodes,
    and its number of matches.  It stops early where there may not be room for one more graph; noted
    matches that are left are moved to the front.
    """
    head, heads, count = 0, w.cursor[L.CURSOR_HEADS], 0
    while head < heads:
        if filled[0] + w.cursor[L.CURSOR_NODES] > len(nodes) or count >= len(rows):
            break
        stop = head + 1
        while stop < heads and w.nodes[w.heads[stop], L.NODE_EVENT] == w.nodes[w.heads[head], L.NODE_EVENT]:
            stop += 1
        begin = filled[0]
        end, lowest, highest = write_graph(w, head, stop, marks, nodes, begin)
        resolve(marks, nodes, begin, end)
        count_ways(nodes, begin, end, ways)
        total = np.int64(0)
        for h in range(head, stop):
            lasts[filled[1]] = marks[w.heads[h]] - 1
            filled[1] += 1
            total = add_ways(total, ways[marks[w.heads[h]] - 1])
        rows[count, 0] = w.nodes[w.heads[head], L.NODE_EVENT]
        rows[count, 1] = end
        rows[count, 2] = filled[1]
        rows[count, 3] = total
        count += 1
        filled[0] = end
        for k in range(lowest, highest + 1):
            marks[k] = 0
        head = stop
    for h in range(head, heads):
        w.heads[h - head] = w.heads[h]
    w.cursor[L.CURSOR_HEADS] = heads - head
    return count


@entry
def write_graphs(
    arena: AutomatonArena,
    marks: Integers,
    ways: Integers,
    nodes: IntegerRows,
    lasts: Integers,
    rows: IntegerRows,
    filled: Integers,
):
    """Write graphs for the noted matches; see :func:`write_noted_graphs`."""
    return write_noted_graphs(arena, marks, ways, nodes, lasts, rows, filled)


@entry
def next_matches(
    nodes: IntegerRows,
    node_ends: Integers,
    lasts: Integers,
    last_ends: Integers,
    place: Integers,
    stack: IntegerRows,
    bindings: IntegerRows,
    offsets: Integers,
):
    """Write matches of graphs, first event first, until the output is full; return how many.

    ``node_ends`` and ``last_ends`` say where each graph ends in ``nodes`` and ``lasts``.  ``place`` is
    (graph, last node, depth of the stack), all 0 at the begin; ``stack`` has (node, links followed).
    The number of bindings is left in the last offset.
    """
    found, filled = 0, 0
    graph, last, depth = place[0], place[1], place[2]
    while True:
        if depth == 0:
            while graph < len(last_ends) and last >= last_ends[graph]:
                graph += 1
            if graph >= len(last_ends):
                break
            base = node_ends[graph - 1] if graph > 0 else 0
            stack[0, 0], stack[0, 1] = base + lasts[last], 0
            depth = 1
            last += 1
        base = node_ends[graph - 1] if graph > 0 else 0
        node, followed = stack[depth - 1, 0], stack[depth - 1, 1]
        link = nodes[node, ONE] if followed == 0 else (nodes[node, OTHER] if followed == 1 else -1)
        if link >= 0:
            stack[depth - 1, 1] = followed + 1
            stack[depth, 0], stack[depth, 1] = base + link, 0
            depth += 1
            continue
        if followed == 0:  # a begin: the stack is a match
            if found + 1 >= len(offsets) or filled + depth > len(bindings):
                break
            for k in range(depth - 1, -1, -1):
                if nodes[stack[k, 0], EVENT] >= 0:
                    bindings[filled, 0] = nodes[stack[k, 0], EVENT]
                    bindings[filled, 1] = nodes[stack[k, 0], VARIABLE]
                    filled += 1
            found += 1
            offsets[found] = filled
        depth -= 1
    place[0], place[1], place[2] = graph, last, depth
    return found
