"""The arena of a search for absences: the matches that were found, and the stack of the search."""

from __future__ import annotations

from fyke.engine.kernels.conditions.arena import ConditionArena
from fyke.engine.kernels.kinds import Bytes, IntegerRows, Integers, Numbers


class AbsenceArena(ConditionArena):
    """Matches by ``offsets`` into ``positions`` and ``variables``, each of a partition (``segment_of``).

    ``keep`` says which of them the outermost ``absences`` leave.  ``bound`` are the events of a match and
    those added to it, ``frames`` the stack of the search, ``place`` where it stands, ``looked`` the number of
    rows it has looked at.
    """

    positions: Integers
    variables: Numbers
    offsets: Integers
    segment_of: Integers
    segments: IntegerRows
    absences: Integers
    keep: Bytes
    bound: IntegerRows
    frames: IntegerRows
    place: Integers
    looked: Integers
    cursor: Integers
