"""The automaton as a searcher: one call of the kernel for each alternative."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from fyke.engine.automaton.call import AutomatonCall
from fyke.engine.automaton.program import AutomatonProgram
from fyke.engine.automaton.saved_runs import (
    SavedRuns,
    bound_rows,
    check_runs,
    merge_runs,
    moved_runs,
    no_runs,
    split_runs,
)
from fyke.engine.compiled import CompiledQuery
from fyke.engine.feed import Feed
from fyke.engine.kernels.arrays import NUMBER, Array
from fyke.engine.matchset import MatchSet, concat
from fyke.engine.measure.clock import Clock
from fyke.engine.output.graphs import concat_graphs, share_ends
from fyke.engine.output.size import compressed_node_bytes
from fyke.engine.searcher import Dump, Reading
from fyke.errors import StateError
from fyke.language.ast import Strategy
from fyke.plan.plan import Plan

_FEW_ENTRIES = 1 << 14
_SHARED_BYTES = 300  # of a node, while equal ones of several pieces are found
_ARRAYS = {"states": np.int64, "integers": np.int64, "floats": np.float64, "nodes": np.int64}

AutomatonMemory = tuple[SavedRuns, ...]  # the live runs, by alternative


class AutomatonSearcher:
    """Searches with runs that read events in processing order ([N] 5, [S] 4); these are its memory."""

    def __init__(self, compiled: CompiledQuery) -> None:
        self.compiled, self.plan = compiled, compiled.plan
        self.programs = compiled.programs(partial(AutomatonProgram, prunes=_prunes(compiled.plan)))
        self.compresses = self._compresses()

    def _compresses(self) -> bool:
        """Say whether matches leave the search as graphs: only if nothing chooses among them afterwards."""
        program = self.programs[0]
        picks = self.plan.strategy is Strategy.ROBUST and program.search != "robust"
        alone = len(self.programs) == 1 and not program.absence_rows
        return self.plan.format.shared and alone and not picks

    def read(self, feed: Feed, memory: AutomatonMemory, clock: Clock) -> Reading:
        """Find the matches that runs complete, alternative by alternative."""
        found, runs, graphs, read_to = [], [], [], None
        for number, (program, before) in enumerate(zip(self.programs, memory, strict=True)):
            node = None
            if self.compresses:
                shares = program.search != "breadth_first"  # then what ends with one event comes in pieces
                node = compressed_node_bytes(self.plan, feed.ordered.table) + _SHARED_BYTES * shares
            call = AutomatonCall(program, feed.ranks, feed.data, feed.meter, graph_bytes=node)
            matches, saved = call.run(feed, before)
            read_to, graphs = call.read_to, call.graphs
            feed.counters.merge(call.counters)
            if len(self.programs) > 1:
                matches = replace(
                    matches,
                    variables=self.compiled.numbering(program)[matches.variables],
                    alternative=np.full(len(matches), number, NUMBER),
                )
            found.append(matches)
            runs.append(saved)
        return Reading(
            concat(found),
            tuple(runs),
            read_to,
            graphs=share_ends(concat_graphs(graphs)) if self.compresses else None,
        )

    @property
    def looks_back(self) -> bool:
        """Whether events are read again: a search that is not breadth first goes back."""
        return any(program.search != "breadth_first" for program in self.programs)

    @property
    def may_stay(self) -> bool:
        """Whether the states that were built so far are few."""
        return sum(program.entries() for program in self.programs) <= _FEW_ENTRIES

    def chunks(self, feed: Feed) -> Iterator[MatchSet] | None:
        """Return None: runs find all matches in one call, in the order of their ends."""
        return None

    def decided_early(self, alternative: int) -> Sequence[int]:
        """Return nothing: absences never steer runs."""
        return ()

    # --- memory -------------------------------------------------------------------------

    def live_runs(self, memory: AutomatonMemory) -> int:
        """Return how many runs are alive."""
        return sum(map(len, memory))

    def start(self) -> AutomatonMemory:
        """Return no runs."""
        return tuple(map(no_runs, self.programs))

    def used_rows(self, memory: AutomatonMemory) -> Array:
        """Return the rows that runs have bound."""
        return np.concatenate([bound_rows(runs) for runs in memory])

    def moved(self, memory: AutomatonMemory, places: Array) -> AutomatonMemory:
        """Return the runs after rows have moved."""
        pairs = zip(self.programs, memory, strict=True)
        return tuple(moved_runs(program, runs, places) for program, runs in pairs)

    def split(self, memory: AutomatonMemory, part_of: Array, parts: int) -> list[AutomatonMemory]:
        """Return the runs of each part."""
        return list(zip(*(split_runs(runs, part_of, parts) for runs in memory), strict=True))

    def merge(self, memories: Sequence[AutomatonMemory]) -> AutomatonMemory:
        """Return the runs of several parts."""
        by_alternative = zip(self.programs, zip(*memories, strict=True), strict=True)
        return tuple(merge_runs(program, parts) for program, parts in by_alternative)

    def dump(self, memory: AutomatonMemory) -> Dump:
        """Return the runs as arrays."""
        return Dump(
            {
                f"{name}_{number}": getattr(runs, name)
                for number, runs in enumerate(memory)
                for name in _ARRAYS
                if len(runs)
            }
        )

    def load(self, dump: Dump, rows: int) -> AutomatonMemory:
        """Return the runs of a dump, if they fit these programs and rows."""
        memory, left = [], dict(dump.arrays)
        for number, program in enumerate(self.programs):
            names = [f"{name}_{number}" for name in _ARRAYS]
            if not any(name in left for name in names):
                memory.append(no_runs(program))
                continue
            nothing: Array = np.zeros(0)
            arrays = [left.pop(name, nothing) for name in names]
            pairs = zip(arrays, _ARRAYS.values(), strict=True)
            if any(array.ndim != 2 or array.dtype != kind for array, kind in pairs):
                raise StateError.damaged("an array of its runs is missing or of another kind")
            memory.append(SavedRuns(*arrays))
            check_runs(program, memory[-1], rows)
        if left or dump.notes is not None:
            raise StateError.damaged("it holds more than the runs of this query")
        return tuple(memory)


def _prunes(plan: Plan) -> bool:
    """Say whether ``non_overlap`` is sure to keep every match that is found.

    Then a match ends all runs of its partition ([N] 5.2.1).  It is not sure if events last, because one may
    begin before the match, nor if a match of another alternative, or of another part of the partition, may
    come before it.
    """
    alone = len(plan.alternatives) == 1 and plan.split == plan.partition
    alone &= plan.reads_apart or not plan.partition
    certain = plan.strategy is not Strategy.ROBUST
    return plan.format.apart and alone and certain and plan.schema.points
