"""Pairs of events, drawn at random from those that can be in one match."""

from __future__ import annotations

from fyke.engine.kernels.jit import entry
from fyke.engine.kernels.kinds import FloatRows, IntegerRows, Integers


@entry
def draw_pairs(
    own: Integers,
    theirs: Integers,
    low: Integers,
    high: Integers,
    ranks: Integers,
    drawn: FloatRows,
    pairs: IntegerRows,
):
    """Write pairs of a candidate and one of another role that it reaches; return how many they are.

    A row reaches those from ``low`` to ``high``; ``ranks`` says how many candidates of the other role are in
    front of a row.  Numbers from 0 to 1 are ``drawn``, two a pair; where nothing is reached there is none.
    """
    count = 0
    for k in range(len(drawn[0])):
        x = own[int(drawn[0, k] * len(own))]
        first = ranks[low[x]]
        reached = ranks[max(low[x], high[x])] - first
        if reached > 0:
            y = theirs[first + int(drawn[1, k] * reached)]
            pairs[0, count], pairs[1, count] = x, y
            count += x != y
    return count
