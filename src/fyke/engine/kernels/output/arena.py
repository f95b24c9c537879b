"""The arena of a search: conditions, where it stands, and what it finds."""

from __future__ import annotations

from fyke.engine.kernels.conditions.arena import ConditionArena
from fyke.engine.kernels.kinds import IntegerRows, Integers, Numbers


class SearchArena(ConditionArena):
    """What every search has: ``segments`` to read, where it stands, and its output.

    A row of ``segments`` is a partition (``layout.SEGMENT_*``).  Matches leave through ``out_positions``,
    ``out_variables`` and ``offsets``.
    """

    segments: IntegerRows
    cursor: Integers
    out_positions: Integers
    out_variables: Numbers
    offsets: Integers
