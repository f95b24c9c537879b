"""The arena of a join tree: its tables, candidates with their keys, and the rows of its nodes."""

from __future__ import annotations

from fyke.engine.kernels.kinds import IntegerRows, Integers
from fyke.engine.kernels.output.arena import SearchArena


class TreeArena(SearchArena):
    """Candidates by role, how many of them are in front of each row (``ranks``), how far rows ``reach``.

    ``keys`` are attributes of all rows.  ``buffers`` say where the ``rows`` of each node are, and the
    ``buckets`` of their hashes.  ``observed`` counts decisions by condition; ``prefix`` is one sorted match.
    """

    tree: Integers
    candidates: Integers
    ranks: IntegerRows
    keys: Integers
    reach: IntegerRows
    buffers: IntegerRows
    rows: Integers
    buckets: Integers
    observed: IntegerRows
    prefix: Integers
