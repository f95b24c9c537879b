"""Bundles of arrays on the host's side; a call puts them together into an arena."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, Any]
NUMBER = np.int16  # numbers of variables and alternatives in matches, which there may be many of
BINDING_BYTES = 8 + np.dtype(NUMBER).itemsize  # a position and the number of a variable


class Data(NamedTuple):
    """The events of a call, read only; see :class:`fyke.engine.kernels.conditions.arena.ConditionArena`."""

    events: Array
    cols_i: Array
    cols_f: Array
    valid_i: Array
    valid_f: Array
    lists: Array
    values: Array
    addresses: Array


class Runs(NamedTuple):
    """Runs, a row of integers and a row of floats each."""

    integers: Array
    floats: Array


class Matches(NamedTuple):
    """Matches: the ``positions`` they bind, in processing order, and to which ``variables``, by offsets."""

    positions: Array
    variables: Array
    offsets: Array
