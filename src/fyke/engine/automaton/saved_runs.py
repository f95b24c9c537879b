"""The runs that an automaton keeps between two calls, in terms of the pattern and not of one process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from fyke.engine.automaton.program import AutomatonProgram
from fyke.engine.kernels import layout as L
from fyke.engine.kernels.arrays import Array
from fyke.errors import StateError


@dataclass(frozen=True, slots=True)
class SavedRuns:
    """The live runs of one alternative and the buffer of their bindings.

    Attributes
    ----------
    states
        The states of the runs, one row each: the set of bound variables and the set of full groups, as bits.
    integers, floats
        One row per run, as in the kernels, except that the state is the number of a row of ``states``.
    nodes
        The buffer of bindings ([N] 5.1); predecessors come before their successors.

    Positions are row numbers among the rows that the state keeps.
    """

    states: Array
    integers: Array
    floats: Array
    nodes: Array

    def __len__(self) -> int:
        return len(self.integers)


def no_runs(program: AutomatonProgram) -> SavedRuns:
    """Return the runs before the first event: none."""
    return SavedRuns(
        np.zeros((0, 2), np.int64),
        np.zeros((0, program.run_integers), np.int64),
        np.zeros((0, program.run_floats)),
        np.zeros((0, L.NODE_SIZE), np.int64),
    )


def save_runs(program: AutomatonProgram, integers: Array, floats: Array, nodes: Array) -> SavedRuns:
    """Return the runs that a kernel has saved; the numbers of their states become sets of variables."""
    numbers, rows = np.unique(integers[:, L.RUN_STATE], return_inverse=True)
    keys = [program.state_keys[number] for number in numbers.tolist()]
    integers[:, L.RUN_STATE] = rows.reshape(-1)
    integers[:, L.RUN_PARENT] = 0
    return SavedRuns(np.array(keys, np.int64).reshape(-1, 2), integers, floats, nodes)


def numbered_states(program: AutomatonProgram, runs: SavedRuns) -> Array:
    """Return the integers of runs, with states as they are numbered in this process."""
    numbers = np.array([program.state_of(bound, full) for bound, full in runs.states.tolist()], np.int64)
    integers = runs.integers.copy()
    if len(integers):
        integers[:, L.RUN_STATE] = numbers[integers[:, L.RUN_STATE]]
    return integers


def bound_rows(runs: SavedRuns) -> Array:
    """Return the rows that runs have bound."""
    events = runs.nodes[:, L.NODE_EVENT]
    return np.asarray(events[events != L.UNION])


def moved_runs(program: AutomatonProgram, runs: SavedRuns, places: Array) -> SavedRuns:
    """Return the same runs after rows have moved to ``places``."""
    if len(runs.nodes) == 0:
        return runs
    nodes, integers = runs.nodes.copy(), runs.integers.copy()
    bindings = nodes[:, L.NODE_EVENT] != L.UNION
    nodes[bindings, L.NODE_EVENT] = places[nodes[bindings, L.NODE_EVENT]]
    for column, held in _positions(program, integers):
        integers[held, column] = places[integers[held, column]]
    return replace(runs, integers=integers, nodes=nodes)


def _positions(program: AutomatonProgram, integers: Array) -> list[tuple[int, Array]]:
    """Return the columns of runs that hold positions, each with the runs in which it does."""
    found = [(L.RUN_FIRST, np.ones(len(integers), bool))]
    for v in range(program.positives):
        at = L.RUN_VARIABLES + v * L.RUN_VARIABLE_SIZE
        bound = integers[:, at + L.RUN_COUNT] > 0
        found += [(at + k, bound) for k in (L.RUN_FIRST_OF, L.RUN_LAST_OF, L.RUN_BARRIER)]
    for acc in program.compiler.accumulators.values():
        found += [(place, integers[:, place] >= 0) for place in acc.positions]
    return found


def split_runs(runs: SavedRuns, part_of: Array, parts: int) -> list[SavedRuns]:
    """Return the runs of each part, given the part of every row; nodes keep their order."""
    node_parts, run_parts = _parts_of_nodes(runs.nodes, part_of), part_of[runs.integers[:, L.RUN_FIRST]]
    found = []
    for part in range(parts):
        kept, mine = node_parts == part, run_parts == part
        places = np.cumsum(kept) - 1
        nodes, integers = runs.nodes[kept], runs.integers[mine]
        _redirect(nodes, integers, places)
        found.append(SavedRuns(runs.states, integers, runs.floats[mine], nodes))
    return found


def _parts_of_nodes(nodes: Array, part_of: Array) -> Array:
    """Return the part of each node: that of its event, or for a union that of the nodes it joins."""
    origin = np.arange(len(nodes))
    unions = nodes[:, L.NODE_EVENT] == L.UNION
    origin[unions] = nodes[unions, L.NODE_PREVIOUS]
    while bool(unions[origin].any()):
        origin = origin[origin]
    return np.asarray(part_of[nodes[origin, L.NODE_EVENT]])


def _redirect(nodes: Array, integers: Array, places: Array) -> None:
    """Give nodes and runs the new numbers of the nodes they lead to."""
    linked = nodes[:, L.NODE_PREVIOUS] >= 0
    nodes[linked, L.NODE_PREVIOUS] = places[nodes[linked, L.NODE_PREVIOUS]]
    unions = nodes[:, L.NODE_EVENT] == L.UNION
    nodes[unions, L.NODE_VARIABLE] = places[nodes[unions, L.NODE_VARIABLE]]
    integers[:, L.RUN_NODE] = places[integers[:, L.RUN_NODE]]


def merge_runs(program: AutomatonProgram, parts: Sequence[SavedRuns]) -> SavedRuns:
    """Return the runs of several parts as one; their positions are already among the merged rows."""
    if not parts:
        return no_runs(program)
    moved, states, nodes = [], 0, 0
    for part in parts:
        own, integers = part.nodes.copy(), part.integers.copy()
        integers[:, L.RUN_STATE] += states
        _redirect(own, integers, np.arange(len(own)) + nodes)
        moved.append(SavedRuns(part.states, integers, part.floats, own))
        states, nodes = states + len(part.states), nodes + len(own)
    fields = ("states", "integers", "floats", "nodes")
    return SavedRuns(*(np.concatenate([getattr(part, name) for part in moved]) for name in fields))


def check_runs(program: AutomatonProgram, runs: SavedRuns, rows: int) -> None:
    """Refuse runs that a kernel must not read, since kernels check no bounds.

    Raises
    ------
    StateError
        If a position, a node, a variable or a state does not belong to this program and these rows.
    """
    widths = (2, program.run_integers, program.run_floats, L.NODE_SIZE)
    arrays = (runs.states, runs.integers, runs.floats, runs.nodes)
    sound = all(array.shape[1] == width for array, width in zip(arrays, widths, strict=True))
    sound = sound and len(runs.floats) == len(runs.integers)
    sound = sound and all(_is_state(program, *map(int, state)) for state in runs.states)
    sound = sound and _nodes_are_sound(program, runs.nodes, rows)
    sound = sound and _within(runs.integers[:, L.RUN_STATE], len(runs.states))
    sound = sound and _within(runs.integers[:, L.RUN_NODE], len(runs.nodes))
    sound = sound and all(
        _within(runs.integers[held, column], rows) for column, held in _positions(program, runs.integers)
    )
    if not sound or not _counts_fit(program, runs):
        raise StateError.damaged("its runs refer to what is not there")


def _within(values: Array, end: int) -> bool:
    return bool(((values >= 0) & (values < end)).all())


def _is_state(program: AutomatonProgram, bound: int, full: int) -> bool:
    """Say whether two sets of variables are a state: downward closed, and only groups with a maximum full."""
    known = 0 < bound < 1 << program.positives and full & ~bound == 0 and full >= 0
    return known and all(
        program.before[v] & ~bound == 0 and not (full >> v & 1 and program.variables[v].maximum is None)
        for v in range(program.positives)
        if bound >> v & 1
    )


def _counts_fit(program: AutomatonProgram, runs: SavedRuns) -> bool:
    """Say whether runs have elements of exactly the variables that their state has bound."""
    bound = runs.states[runs.integers[:, L.RUN_STATE], 0]
    for v in range(program.positives):
        counts = runs.integers[:, L.RUN_VARIABLES + v * L.RUN_VARIABLE_SIZE + L.RUN_COUNT]
        if not bool(((counts > 0) == ((bound >> v) & 1 == 1)).all()) or bool((counts < 0).any()):
            return False
    return True


def _nodes_are_sound(program: AutomatonProgram, nodes: Array, rows: int) -> bool:
    """Say whether nodes lead only to earlier ones, and their depths are right."""
    numbers = np.arange(len(nodes))
    event, previous, other = nodes[:, L.NODE_EVENT], nodes[:, L.NODE_PREVIOUS], nodes[:, L.NODE_VARIABLE]
    union = event == L.UNION
    if not (_within(event[~union], rows) and _within(other[~union], program.positives)):
        return False
    if bool(((previous < -1) | (previous >= numbers)).any()) or bool((union & (previous < 0)).any()):
        return False
    if bool((union & ((other < 0) | (other >= numbers))).any()):
        return False
    depth, unions = nodes[:, L.NODE_DEPTH], nodes[:, L.NODE_UNIONS]
    linked = previous >= 0
    one, two = np.where(linked, previous, 0), np.where(union, other, 0)
    deep = np.where(union, np.maximum(depth[one], depth[two]), np.where(linked, depth[one] + 1, depth))
    joins = np.where(union, np.maximum(unions[one], unions[two]) + 1, np.where(linked, unions[one], 0))
    first = ~linked & ~union
    return bool((deep == depth).all() and (joins == unions).all() and (depth[first] == 0).all())
