"""Which of the matches found in a slice of time belong to it; see :mod:`fyke.plan.slices`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fyke.engine.engine import Engine
from fyke.engine.found import Found
from fyke.engine.input.segments import count_ties
from fyke.engine.kernels.arrays import Array
from fyke.engine.output.graphs import select_graphs


def owned(found: Found, rows: Array, engine: Engine) -> Found:
    """Return the matches that belong to a slice which owns some ``rows``; other rows are not counted."""
    matches, counters, graphs, plan = found.matches, found.counters, found.graphs, engine.plan
    by_end = plan.format.shared
    own = rows[matches.positions[matches.offsets[1:] - 1] if by_end else matches.first]
    mine = matches if own.all() else matches.select(own)
    count = len(mine)
    if graphs is not None:
        graphs = select_graphs(graphs, np.flatnonzero(rows[graphs.ends]))
        count = graphs.matches()
    if counters.events_read:
        counters = replace(counters, events_read=int(rows.sum()))
    if counters.tied_rows:  # otherwise those of the slice are not tied, either
        events = found.events[:, rows]
        stretch = np.zeros(1, np.int64), np.array([events.shape[1]], np.int64)
        tied = count_ties(events, *stretch, engine.successions, apart=plan.reads_apart)
        counters = replace(counters, tied_rows=tied[0], tied_successors=tied[1])
    return replace(found, matches=mine, graphs=graphs, counters=replace(counters, matches=count))
