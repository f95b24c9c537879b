"""The arena of a lazy search: its plan, candidates with their keys, and the levels of bound events."""

from __future__ import annotations

from typing import Annotated

from fyke.engine.kernels.arena import Arenas
from fyke.engine.kernels.conditions.arena import ConditionArena
from fyke.engine.kernels.kinds import ByteRows, FloatRows, IntegerRows, Integers, Numbers
from fyke.engine.kernels.output.arena import SearchArena


class LazyArena(SearchArena):
    """Candidates by role, how many of them are in front of each row (``ranks``), how far rows ``reach``.

    ``keys`` are attributes of candidates; ``entries`` and ``index_heads`` find them by key.  ``levels`` are
    bound events (``layout.LEVEL_*``), each with the ``intervals`` that keys must lie in and the accumulators
    ``kept``; ``chosen`` is the candidate of each variable, ``prefix`` one match in order, ``fits`` places of
    candidates for the last variable.  ``out_alternative`` says whose each match is.

    Counting has numbers of matches by segment, ``subset`` states of groups, the ``values`` of attributes and
    what they come to (``tally``).  An absence of several events is searched for in an arena ``beside``, with
    a stack of bound and ``added`` events, ``frames``, where that search stands (``place``), and how many rows
    it has ``looked`` at.
    """

    plan: Integers
    candidates: Integers
    ranks: IntegerRows
    keys: Integers
    entries: Integers
    index_heads: IntegerRows
    reach: IntegerRows
    levels: IntegerRows
    intervals: IntegerRows
    chosen: Integers
    prefix: Integers
    kept_i: IntegerRows
    kept_f: FloatRows
    fits: Integers
    out_alternative: Numbers
    counts: Integers
    subset_i: IntegerRows
    subset_f: FloatRows
    values_i: IntegerRows
    values_f: FloatRows
    values_ok: ByteRows
    tally_i: IntegerRows
    tally_f: FloatRows
    beside: Annotated[Arenas, ConditionArena, 0]
    added: IntegerRows
    frames: IntegerRows
    place: Integers
    looked: Integers
