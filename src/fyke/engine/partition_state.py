"""Splits a state by partition and merges states again, so that a stream can be rescaled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from fyke.engine.engine import Engine
from fyke.engine.kernels.arrays import Array
from fyke.engine.matchset import MatchSet, concat
from fyke.engine.output.identity import row_hashes
from fyke.engine.state import State
from fyke.errors import StateError


def part_of_rows(rows: pa.Table, split: Sequence[str], parts: int) -> Array:
    """Return the part of each row, from 0: by a hash of its partition values, the same on every machine."""
    hashes = row_hashes(rows.select(list(split)))[:, 0]
    return np.asarray((hashes % np.uint64(parts)).astype(np.int64))


def split_state(engine: Engine, state: State, parts: int) -> list[State]:
    """Split a state into parts by a hash of the partition values.

    Each part continues as the whole would, with the events of its partitions.

    Raises
    ------
    StateError
        If the query does not divide its events, so that every event may meet every other.
    """
    plan = engine.plan
    if not plan.split or not plan.reads_apart:
        raise StateError(
            "the state of this query cannot be split: nothing divides its events into partitions",
            remedy="Keep it whole, or let events agree on an attribute, as in WHERE { [user] }.",
        )
    if set(plan.partition) != set(plan.split) and state.last_ends is not None:
        raise StateError(
            "the state of this query cannot be split: matches of different parts may overlap",
            remedy="Keep it whole.",
        )
    part_of = part_of_rows(state.rows, plan.split, parts)
    memories = engine.searcher.split(state.memory, part_of, parts)
    ends = state.last_ends
    end_parts = None if ends is None else part_of_rows(ends, plan.split, parts)
    found = []
    for part, memory in enumerate(memories):
        keep = part_of == part
        places = np.cumsum(keep) - 1
        found.append(
            replace(
                state,
                rows=state.rows.filter(pa.array(keep)),
                read=state.read[keep],
                index=state.index[keep],
                memory=engine.searcher.moved(memory, places),
                waiting=_of_part(state.waiting, part_of, part).moved(places),
                chosen=_of_part(state.chosen, part_of, part).moved(places),
                last_ends=None if ends is None else ends.filter(pa.array(end_parts == part)),
            )
        )
    return found


def _of_part(matches: MatchSet, part_of: Array, part: int) -> MatchSet:
    return matches.select(part_of[matches.first] == part) if len(matches) else matches


def merge_states(engine: Engine, states: Sequence[State]) -> State:
    """Return the states of different partitions as one.

    A part that was not called for a while may lag behind: the whole has the latest watermark of all parts.
    """
    if not states:
        raise StateError("there are no states to merge", remedy="Begin with Engine.start.")
    memories, waiting, chosen, first = [], [], [], 0
    for state in states:
        places = np.arange(state.rows.num_rows) + first
        first += state.rows.num_rows
        memories.append(engine.searcher.moved(state.memory, places))
        waiting.append(state.waiting.moved(places))
        chosen.append(state.chosen.moved(places))
    watermarks = [state.watermark for state in states if state.watermark is not None]
    ends = [state.last_ends for state in states if state.last_ends is not None]
    return State(
        pa.concat_tables([state.rows for state in states]),
        np.concatenate([state.read for state in states]),
        np.concatenate([state.index for state in states]),
        engine.searcher.merge(memories),
        concat(waiting),
        concat(chosen),
        max(watermarks, default=None),
        pa.concat_tables(ends) if ends else None,
    )
