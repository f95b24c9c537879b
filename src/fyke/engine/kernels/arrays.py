"""The arrays kernels work on, in bundles that Numba passes along as they are."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fyke.engine.kernels.jit import borrow, jit

Array = np.ndarray[Any, Any]


class Data(NamedTuple):
    """The events of a call, read only.

    ``events`` has the rows of ``layout.EVENT_*``; ``cols_i`` and ``cols_f`` one row per derived
    column of that type, with ``valid_*`` beside them; list columns are offsets in ``lists`` into
    ``values``; ``addresses`` are those of user functions.
    """

    events: Array
    cols_i: Array
    cols_f: Array
    valid_i: Array
    valid_f: Array
    lists: Array
    values: Array
    addresses: Array


class Scratch(NamedTuple):
    """Room for the evaluation of one condition, and for the elements of one substitution."""

    slots: Array
    lengths: Array
    stack_i: Array
    stack_f: Array
    nulls: Array


class Runs(NamedTuple):
    """Live runs, a row of integers and a row of floats each, and the buffer of their bindings."""

    integers: Array
    floats: Array
    nodes: Array  # position, variable, previous node, depth


class Matches(NamedTuple):
    """Matches as they leave the kernel: ``bindings`` (position, variable) in processing order."""

    bindings: Array
    offsets: Array


@jit
def borrow_data(data):
    """Return the events without reference counts."""
    return Data(
        borrow(data.events),
        borrow(data.cols_i),
        borrow(data.cols_f),
        borrow(data.valid_i),
        borrow(data.valid_f),
        borrow(data.lists),
        borrow(data.values),
        borrow(data.addresses),
    )


@jit
def borrow_scratch(scratch):
    """Return the scratch arrays without reference counts."""
    return Scratch(
        borrow(scratch.slots),
        borrow(scratch.lengths),
        borrow(scratch.stack_i),
        borrow(scratch.stack_f),
        borrow(scratch.nulls),
    )


@jit
def borrow_runs(runs):
    """Return runs without reference counts."""
    return Runs(borrow(runs.integers), borrow(runs.floats), borrow(runs.nodes))


@jit
def borrow_matches(matches):
    """Return matches without reference counts."""
    return Matches(borrow(matches.bindings), borrow(matches.offsets))


def make_scratch(variables: int, depth: int) -> Scratch:
    """Return scratch arrays for a number of variables and a depth of the evaluation stack."""
    return Scratch(
        np.zeros(max(1, 4 * variables), np.int64),
        np.zeros(max(1, variables), np.int64),
        np.zeros(max(1, depth), np.int64),
        np.zeros(max(1, depth), np.float64),
        np.zeros(max(1, depth), np.uint8),
    )
