"""The arena of row patterns: an automaton, what is known of each row, and room for matches."""

from __future__ import annotations

from fyke.engine.kernels.conditions.arena import ConditionArena
from fyke.engine.kernels.kinds import ByteRows, Bytes, Codes, FloatRows, IntegerRows, Integers, Letters


class RowArena(ConditionArena):
    """What a walk over rows works on.

    ``settings`` and ``cursor`` are laid out in ``layout``.  The moves of state s are
    ``moves[offsets[s]:offsets[s + 1]]``; behind the last state come those from the first row of a partition
    and from any other.  ``conditions`` has the row of ``truth`` that says where a state's condition holds.
    ``masks`` are the states of each condition, ``before`` those that move to a set of states, for each byte
    of it.  ``flags`` say of states what the FLAG_ bits mean.  ``marks`` and ``earliest`` say what the rows
    of the current partition can lead to: a bit a state, or the row behind which a match ends at the
    earliest.  ``times`` are those of WITHIN. Matches are ``begins`` and ``ends``, and the ``states`` of
    their rows one after the other.
    """

    settings: Integers
    segments: Integers
    moves: Integers
    offsets: Integers
    conditions: Integers
    masks: Integers
    before: Integers
    flags: Bytes
    truth: ByteRows
    times: Integers
    marks: Integers
    earliest: Codes
    begins: Integers
    ends: Integers
    states: Letters
    cursor: Integers


class NodeArena(RowArena):
    """What a walk works on where each row has one node.

    ``choices`` has, for each list of moves and each node, the most preferred move that leads to a match;
    ``starts`` says of each node whether there is one from a row that is not the first of its partition.
    """

    nodes: Bytes
    choices: Codes
    starts: Bytes


class HistoryArena(RowArena):
    """What a search works on whose conditions look at other rows of the match.

    Of each label, ``across`` has its condition (-1: none) and ``ranks`` its name among strings.
    ``positions`` are laid out in ``layout``; those of condition c are
    ``asked[asked_offsets[c]:asked_offsets[c + 1]]``. ``members`` says which labels are in which set,
    ``taken`` has the rows of each set that the current way has taken, ``counts`` how many.  A way is a
    stack of lists of moves (``chosen``) with the next move of each (``next_moves``) and the accumulators so
    far (``sums_i``, ``sums_f``; ``sums_bits`` is the same memory as integers).  Failed ways are in
    ``failed``, by what ``keys`` lists for their state; ``key`` is scratch.
    """

    label_of: Integers
    across: Integers
    ranks: Integers
    positions: IntegerRows
    asked: Integers
    asked_offsets: Integers
    members: ByteRows
    taken: IntegerRows
    counts: Integers
    chosen: Integers
    next_moves: Integers
    sums_i: IntegerRows
    sums_f: FloatRows
    sums_bits: IntegerRows
    keys: IntegerRows
    key_offsets: Integers
    key: Integers
    failed: IntegerRows


class OpenArena(HistoryArena):
    """What a search works on where more rows may come.

    ``ahead`` is laid out in ``layout``.  ``done`` says from which rows attempts are decided, ``unsure``,
    by condition as ``truth``, where rows to come decide whether it holds.  Condition c looks at rows behind
    the positions ``reach[reach_offsets[c]:reach_offsets[c + 1]]``.  ``expired`` says which of the matches are
    attempts that expired, and ``latest`` of each row of the partition and each state behind which row a way
    comes to its end at the latest.
    """

    ahead: Integers
    done: Bytes
    unsure: ByteRows
    reach: IntegerRows
    reach_offsets: Integers
    expired: Bytes
    latest: Codes
