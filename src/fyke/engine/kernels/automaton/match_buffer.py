"""The buffer of bindings that runs share ([N] 5.1): a graph of predecessor links.

A run is known by its last node.  Where equivalent runs were merged a *union* node has two
predecessors; each node knows the age of its youngest history, so that reading a match backwards never
enters a history that has left the window, and costs the length of the match.
"""

from __future__ import annotations

import numpy as np

from fyke.engine.kernels import layout as L
from fyke.engine.kernels.jit import entry, jit
from fyke.engine.kernels.kinds import IntegerRows, Integers
from fyke.engine.kernels.rows import copy_row

NEVER, LOWEST = np.int64(2**63 - 1), np.int64(-(2**63))


@jit
def mark_roots(oldest, runs, first, count, age):
    """Say of the last nodes of runs that they are needed, with histories from ``age`` on.

    With an age of ``NEVER`` the mark of each run says how old its histories may be, as saved ones do.
    """
    for r in range(first, count):
        node = runs[r, L.RUN_NODE]
        if node >= 0:
            wanted = runs[r, L.RUN_MARK] if age == NEVER else age
            oldest[node] = min(oldest[node], wanted)


@jit
def mark_histories(nodes, oldest, count):
    """Say of every node that needed ones lead to how old a history may be; predecessors come first."""
    for k in range(count - 1, -1, -1):
        wanted = oldest[k]
        if wanted == NEVER:
            continue
        one = nodes[k, L.NODE_PREVIOUS]
        if nodes[k, L.NODE_EVENT] != L.UNION:
            if one >= 0:
                oldest[one] = min(oldest[one], wanted)
            continue
        other = nodes[k, L.NODE_VARIABLE]
        if nodes[other, L.NODE_AGE] >= wanted:
            oldest[other] = min(oldest[other], wanted)
        if nodes[one, L.NODE_AGE] >= wanted or nodes[other, L.NODE_AGE] < wanted:
            oldest[one] = min(oldest[one], wanted)


@jit
def sweep(nodes, places, count):
    """Move needed nodes together, in order; a union of which one history is left becomes that one.

    ``places`` says which are needed (not ``NEVER``), and afterwards where they are: -1 for the rest.
    Returns how many stay.
    """
    kept = 0
    for k in range(count):
        if places[k] == NEVER:
            places[k] = -1
            continue
        previous = nodes[k, L.NODE_PREVIOUS]
        one = places[previous] if previous >= 0 else -1
        union = nodes[k, L.NODE_EVENT] == L.UNION
        other = places[nodes[k, L.NODE_VARIABLE]] if union else -1
        if union and (one < 0 or other < 0 or one == other):
            places[k] = max(one, other)
            continue
        for c in range(L.NODE_SIZE):
            nodes[kept, c] = nodes[k, c]
        nodes[kept, L.NODE_PREVIOUS] = one
        if union:
            nodes[kept, L.NODE_VARIABLE] = other
            nodes[kept, L.NODE_DEPTH] = max(nodes[one, L.NODE_DEPTH], nodes[other, L.NODE_DEPTH])
            nodes[kept, L.NODE_UNIONS] = max(nodes[one, L.NODE_UNIONS], nodes[other, L.NODE_UNIONS]) + 1
        elif one >= 0:
            nodes[kept, L.NODE_DEPTH] = nodes[one, L.NODE_DEPTH] + 1
            nodes[kept, L.NODE_UNIONS] = nodes[one, L.NODE_UNIONS]
        places[k] = kept
        kept += 1
    return kept


@jit
def redirect(runs, first, count, places):
    """Give runs the new numbers of their nodes."""
    for r in range(first, count):
        node = runs[r, L.RUN_NODE]
        if node >= 0:
            runs[r, L.RUN_NODE] = places[node]


@entry
def release_nodes(
    nodes: IntegerRows,
    count,
    places: Integers,
    live: IntegerRows,
    n_live,
    age,
    saved: IntegerRows,
    n_saved,
    loaded: IntegerRows,
    first_loaded,
    n_loaded,
):
    """Release the nodes no run needs, and histories that have left the window; return how many stay.

    Live runs need histories from ``age`` on, saved ones from their own, loaded ones all.  ``places`` is
    scratch for as many nodes.
    """
    for k in range(count):
        places[k] = NEVER
    mark_roots(places, live, 0, n_live, age)
    mark_roots(places, saved, 0, n_saved, NEVER)
    mark_roots(places, loaded, first_loaded, n_loaded, LOWEST)
    mark_histories(nodes, places, count)
    kept = sweep(nodes, places, count)
    redirect(live, 0, n_live, places)
    redirect(saved, 0, n_saved, places)
    redirect(loaded, first_loaded, n_loaded, places)
    return kept


@jit
def unite(w, kept, gone):
    """Give one run the history of an equivalent one too; it lasts as long as the younger ([N] 5.2.3)."""
    run, other = w.runs_i[kept], w.runs_i[gone]
    a, b = run[L.RUN_NODE], other[L.RUN_NODE]
    node = w.cursor[L.CURSOR_NODES]
    w.nodes[node, L.NODE_EVENT] = L.UNION
    w.nodes[node, L.NODE_VARIABLE] = a
    w.nodes[node, L.NODE_PREVIOUS] = b
    w.nodes[node, L.NODE_DEPTH] = max(w.nodes[a, L.NODE_DEPTH], w.nodes[b, L.NODE_DEPTH])
    w.nodes[node, L.NODE_AGE] = max(w.nodes[a, L.NODE_AGE], w.nodes[b, L.NODE_AGE])
    w.nodes[node, L.NODE_UNIONS] = max(w.nodes[a, L.NODE_UNIONS], w.nodes[b, L.NODE_UNIONS]) + 1
    w.cursor[L.CURSOR_NODES] = node + 1
    if w.nodes[b, L.NODE_AGE] > w.nodes[a, L.NODE_AGE]:
        # The positions of the younger one: its events stay as long as the run does.
        copy_row(other, run)
        copy_row(w.runs_f[gone], w.runs_f[kept])
    run[L.RUN_NODE] = node
