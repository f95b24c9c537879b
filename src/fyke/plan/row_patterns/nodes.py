"""What rows can lead to, as numbers: the sets of states that a pass back can come to, found ahead of any row.

A *node* is the set of states that can take a row and then lead to a match; node 0 stands behind the last row
of a partition.  A *symbol* has a bit for each condition that holds.  Patterns that people write have a
handful of nodes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fyke.plan.row_patterns.automaton import END, Automaton

Array = np.ndarray[Any, Any]

NO_MATCH = -2
MOST_BITS = 8  # of a symbol
_MOST_NODES = 1 << 8
_MOST_ENTRIES = 1 << 14
_MOST_STATES = 62


@dataclass(frozen=True, slots=True)
class NodeTables:
    """The tables of an automaton with ``nodes`` nodes.

    ``following[node << bits | symbol]`` is the node of a row in front of ``node``.  ``choices`` has, for each
    list of moves and each node, the most preferred move that leads to a match, or NO_MATCH; ``starts`` says
    of each node whether there is one from a row that is not the first of its partition.
    """

    nodes: int
    bits: int
    following: Array
    choices: Array
    starts: Array


def node_tables(automaton: Automaton, conditions: Mapping[int, int], bits: int) -> NodeTables | None:
    """Return the tables of an automaton, None if they would be too large.

    ``conditions`` has the bit of the symbol for the labels that have a condition.
    """
    states = len(automaton.labels)
    if bits > MOST_BITS or states > _MOST_STATES:
        return None
    holds = _holding(automaton, conditions, bits)
    before = _before(automaton)
    goes_on = _set(state for state in range(states) if END in automaton.moves[state])
    sets = [0]
    numbers: dict[int, int] = {}
    following: list[list[int]] = []
    while len(following) < len(sets):
        node = len(following)
        can_follow = _set(s for s in range(states) if automaton.ends[s]) if node == 0 else goes_on
        for state in range(states):
            if node > 0 and sets[node] >> state & 1:
                can_follow |= before[state]
        row = []
        for found in (holds & can_follow).tolist():
            if found not in numbers:
                numbers[found] = len(sets)
                sets.append(found)
            row.append(numbers[found])
        if len(sets) > _MOST_NODES or len(sets) << bits > _MOST_ENTRIES:
            return None
        following.append(row)
    lists = [*automaton.moves, automaton.first, automaton.start]
    choices = np.array([[_choice(moves, each) for each in sets] for moves in lists], np.int32)
    starts = (choices[-1] != NO_MATCH).astype(np.uint8)
    return NodeTables(len(sets), bits, np.array(following, np.uint8).ravel(), choices.ravel(), starts)


def _holding(automaton: Automaton, conditions: Mapping[int, int], bits: int) -> Array:
    """Return, for each symbol, the states whose conditions hold."""
    holds = np.zeros(1 << bits, np.int64)
    symbols = np.arange(1 << bits)
    for state, label in enumerate(automaton.labels):
        bit = conditions.get(label)
        there = np.ones(len(symbols), np.int64) if bit is None else symbols >> bit & 1
        holds |= there << state
    return holds


def _before(automaton: Automaton) -> list[int]:
    """Return, for each state, those that move to it."""
    before = [0] * len(automaton.labels)
    for state, moves in enumerate(automaton.moves):
        for to in moves:
            if to != END:
                before[to] |= 1 << state
    return before


def _set(states: Iterable[int]) -> int:
    return sum(1 << state for state in states)


def _choice(moves: tuple[int, ...], node: int) -> int:
    """Return the most preferred move to a state of a node, or to the end."""
    return next((to for to in moves if to == END or node >> to & 1), NO_MATCH)
