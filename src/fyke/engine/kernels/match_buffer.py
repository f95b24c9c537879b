"""The buffer of bindings that runs share: predecessor links ([N] 5.1), with ended runs' links reclaimed."""

from __future__ import annotations

import numpy as np

from fyke.engine.kernels import layout as L
from fyke.engine.kernels.jit import jit


@jit
def mark(nodes, marks, roots, count):
    """Mark the nodes that ``count`` runs can reach."""
    for r in range(count):
        at = roots[r, L.RUN_NODE]
        while at >= 0 and marks[at] == 0:
            marks[at] = 1
            at = nodes[at, 2]


@jit
def sweep(nodes, marks, count):
    """Move marked nodes together, in order; return how many stay and leave new numbers in ``marks``."""
    kept = 0
    for k in range(count):
        if marks[k] == 0:
            marks[k] = -1
            continue
        previous = nodes[k, 2]
        nodes[kept, 0] = nodes[k, 0]
        nodes[kept, 1] = nodes[k, 1]
        nodes[kept, 2] = marks[previous] if previous >= 0 else -1
        nodes[kept, 3] = nodes[k, 3]
        marks[k] = kept
        kept += 1
    return kept


@jit
def redirect(runs, count, marks):
    """Give runs the new numbers of their nodes."""
    for r in range(count):
        node = runs[r, L.RUN_NODE]
        if node >= 0:
            runs[r, L.RUN_NODE] = marks[node]


@jit
def compact_nodes(nodes, count, live, n_live, saved, n_saved, loaded, n_loaded, boundary):
    """Release the nodes no run needs; return (nodes left, nodes left below ``boundary``)."""
    marks = np.zeros(count + 1, np.int64)
    mark(nodes, marks, live, n_live)
    mark(nodes, marks, saved, n_saved)
    mark(nodes, marks, loaded, n_loaded)
    below = 0
    for k in range(boundary):
        below += 1 if marks[k] else 0
    kept = sweep(nodes, marks, count)
    redirect(live, n_live, marks)
    redirect(saved, n_saved, marks)
    redirect(loaded, n_loaded, marks)
    return kept, below


@jit
def rebase_positions(program, runs, count, places):
    """Rewrite the positions that runs hold after rows have moved: ``places`` is the new place of each row."""
    variables = program[L.HEAD_VARIABLES]
    for r in range(count):
        runs[r, L.RUN_FIRST] = places[runs[r, L.RUN_FIRST]]
        for v in range(variables):
            at = L.RUN_VARIABLES + v * L.RUN_VARIABLE_SIZE
            if runs[r, at + L.RUN_COUNT] > 0:
                for k in (L.RUN_FIRST_OF, L.RUN_LAST_OF, L.RUN_BARRIER):
                    runs[r, at + k] = places[runs[r, at + k]]
            row = program[L.HEAD_VARIABLE_TABLE] + v * L.VAR_SIZE
            for k in range(program[row + L.VAR_ACCUMULATORS], program[row + L.VAR_ACCUMULATORS_END]):
                acc = program[L.HEAD_ACCUMULATOR_TABLE] + k * L.ACC_SIZE
                kind, slot = program[acc + L.ACC_KIND], program[acc + L.ACC_SLOT]
                if (kind == L.ACC_MIN or kind == L.ACC_MAX) and runs[r, slot] >= 0:
                    runs[r, slot] = places[runs[r, slot]]
