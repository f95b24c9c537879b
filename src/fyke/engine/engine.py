"""The one door of the engine: ``advance(state, batch, watermark) -> (state, matches)``.

Batch, stream and tests all go through it.  A batch of prepared rows is added to what the state
holds; events up to the watermark are read in processing order; matches are reported once, when no
later event can change them.  A watermark of None ends the input.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from fyke.engine.automaton import AutomatonCall, Feed, limit_error
from fyke.engine.columns import column_uses, encode
from fyke.engine.kernels import layout as L
from fyke.engine.kernels.absence import filter_absences
from fyke.engine.kernels.arrays import Array, Data, Matches
from fyke.engine.kernels.external import compile_external
from fyke.engine.kernels.match_buffer import rebase_positions
from fyke.engine.kernels.overlap import greedy_cover
from fyke.engine.matchset import MatchSet, concat, duplicates, no_matches, output_order, robust
from fyke.engine.order import Ordered, order_rows, times
from fyke.engine.program import Program, Settings
from fyke.engine.state import Counters, RunState, State, empty_state
from fyke.language.ast import Strategy, WindowKind
from fyke.plan.plan import Plan

_END_OF_TIME = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Found:
    """Matches of one call of ``advance``, with the rows their positions mean."""

    matches: MatchSet
    rows: pa.Table
    events: Array
    counters: Counters


class Engine:
    """The automaton engine for one plan.  It holds no events: those are in the state."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.analysed = plan.pushed.analysed
        form = self.analysed.form
        self.uses, self.tick, scale = column_uses(plan)
        settings = Settings(
            self.uses,
            form.strategy,
            form.window.kind if form.window else None,
            self.analysed.window,
            self.tick,
            scale,
            {name: number for number, name in enumerate(plan.functions)},
            self.analysed.query.text,
        )
        self.programs = [
            Program(alternative, self._roles(number), settings)
            for number, alternative in enumerate(plan.pushed.alternatives)
        ]
        self.names = list(dict.fromkeys(v.name for program in self.programs for v in program.variables))
        self.literals = list(dict.fromkeys(t for program in self.programs for t in program.compiler.strings))
        arity = self.analysed.functions
        self.compiled = [compile_external(function, arity[name]) for name, function in plan.functions.items()]

    def _roles(self, number: int) -> dict[str, int]:
        return {
            name: bit
            for (alternative, name), bit in self.plan.pushed.roles_of.items()
            if alternative == number
        }

    def start(self, schema: pa.Schema) -> State:
        """Return the state before the first event of prepared batches with ``schema``."""
        return empty_state(schema)

    def advance(
        self, state: State, batch: pa.Table, watermark: int | None, *, sorted_rows: bool = False
    ) -> tuple[State, Found]:
        """Read the events of a batch, and those that waited, up to a watermark.

        Parameters
        ----------
        state
            What the last call returned, or :meth:`start`.
        batch
            Prepared rows, in any order; those not after the last watermark are late and left out.
        watermark
            Events with an end time up to it are complete and are read; None: all are.
        sorted_rows
            The rows of the batch are in processing order within each partition already.
        """
        counters = Counters()
        batch = self._without_late(state, batch, counters)
        rows = pa.concat_tables([state.rows, batch]) if state.rows.num_rows else batch
        ordered = order_rows(rows, self.plan, sorted_rows=sorted_rows and state.rows.num_rows == 0)
        places = np.empty(rows.num_rows, np.int64)
        places[ordered.permutation] = np.arange(rows.num_rows)
        read = np.zeros(rows.num_rows, bool)
        read[places[: len(state.read)]] = state.read
        self._number_events(state, ordered, places)
        segments = _segments(ordered, read, watermark)
        counters.events_read = int((segments[:, 2] - segments[:, 1]).sum())
        data, ranks = encode(ordered.table, self.plan, self.uses, self.tick, ordered.events, self.literals)
        if self.compiled:
            data = data._replace(addresses=np.array([each.address for each in self.compiled], np.int64))
        feed = Feed(segments, watermark is None, _END_OF_TIME if watermark is None else watermark)
        matches, runs = self._read(state, feed, data, ranks, places, counters)
        waiting = concat([state.waiting.moved(places), matches]) if len(state.waiting) else matches
        ready, waiting = self._split_ready(waiting, feed, ordered)
        ready, last_ends = self._choose(ready, segments, ordered, data, ranks, state)
        counters.matches = len(ready)
        found = Found(ready, ordered.table, ordered.events, counters)
        return self._keep(ordered, read, segments, feed, runs, waiting, last_ends), found

    def _without_late(self, state: State, batch: pa.Table, counters: Counters) -> pa.Table:
        if state.watermark is None or batch.num_rows == 0:
            return batch
        late = times(batch.column(self.analysed.schema.end)) <= state.watermark
        counters.late_rows = int(late.sum())
        return batch.filter(pa.array(~late)) if counters.late_rows else batch

    def _number_events(self, state: State, ordered: Ordered, places: Array) -> None:
        """Go on numbering the events of a partition where earlier, dropped rows left off."""
        window = self.analysed.form.window
        if window is None or window.kind is not WindowKind.EVENTS or len(state.index) == 0:
            return
        numbers, codes = ordered.events[L.EVENT_INDEX], ordered.events[L.EVENT_SEGMENT]
        offset = np.zeros(int(codes.max(initial=0)) + 2, np.int64)
        old = places[: len(state.index)]
        offset[codes[old]] = state.index - numbers[old]
        ordered.events[L.EVENT_INDEX] = numbers + offset[codes]

    def _read(
        self, state: State, feed: Feed, data: Data, ranks: dict[str, int], places: Array, counters: Counters
    ) -> tuple[MatchSet, list[RunState]]:
        found, runs = [], []
        for number, program in enumerate(self.programs):
            call = AutomatonCall(program, ranks, data, self.plan.limits)
            before = state.runs[number] if state.runs else None
            matches, saved = call.run(feed, before, places)
            counters.merge(call.counters)
            numbering = np.array([self.names.index(v.name) for v in program.variables], np.int64)
            numbered = replace(
                matches,
                variables=numbering[matches.variables],
                alternative=np.full(len(matches), number, np.int64),
            )
            found.append(numbered)
            runs.append(saved)
        return concat(found), runs

    # --- what may still change --------------------------------------------------------

    def _split_ready(self, matches: MatchSet, feed: Feed, ordered: Ordered) -> tuple[MatchSet, MatchSet]:
        """Part matches into those that are certain and those that later events may rule out."""
        if feed.flush or len(matches) == 0 or not self._waits():
            return matches, no_matches()
        window = self.analysed.window
        if window is None:
            return no_matches(), matches
        assert self.analysed.form.window is not None
        if self.analysed.form.window.kind is WindowKind.EVENTS:
            numbers, codes = ordered.events[L.EVENT_INDEX], ordered.events[L.EVENT_SEGMENT]
            seen = np.full(int(codes.max(initial=0)) + 2, -1, np.int64)
            done = ordered.events[L.EVENT_END] <= feed.now
            np.maximum.at(seen, codes[done], numbers[done])
            reach = matches.offsets[1:] - 1 if self.plan.output == "non_overlap" else matches.offsets[:-1]
            at = matches.positions[reach]
            certain = seen[codes[at]] >= numbers[at] + window - 1
        else:
            # The last moment that can matter: a window behind the first event, or behind the end.
            row = L.EVENT_END
            if self.plan.output == "non_overlap":
                moment = matches.spans(ordered.events)[1]
            else:
                moment = ordered.events[row][matches.first]
            certain = (
                moment <= feed.now - window if feed.now >= window - 2**62 else np.zeros(len(matches), bool)
            )
        return matches.select(certain), matches.select(~certain)

    def _waits(self) -> bool:
        """Say whether a match can be ruled out by events after it."""
        if self.plan.output == "non_overlap" or self.analysed.form.strategy is Strategy.ROBUST:
            return True
        for program in self.programs:
            positive = (1 << program.positives) - 1
            for row in program.absence_rows:
                variables = range(row[L.ABSENCE_VARIABLES], row[L.ABSENCE_VARIABLES_END])
                if any(program.after[v] & positive == 0 for v in variables):
                    return True
        return False

    # --- which matches ----------------------------------------------------------------

    def _choose(
        self,
        matches: MatchSet,
        segments: Array,
        ordered: Ordered,
        data: Data,
        ranks: dict[str, int],
        state: State,
    ) -> tuple[MatchSet, pa.Table | None]:
        """Apply robust selection, absences, the union of alternatives and the output format, one by one."""
        segment = np.searchsorted(segments[:, 0], matches.first, side="right") - 1
        keep = np.ones(len(matches), bool)
        for number, program in enumerate(self.programs):
            mine = np.flatnonzero(matches.alternative == number)
            if len(mine) == 0:
                continue
            part = matches.select(mine)
            chosen = np.ones(len(mine), bool)
            if self.analysed.form.strategy is Strategy.ROBUST:
                chosen = robust(part)
            if program.absence_rows:
                chosen &= self._absent(program, part, segments, segment[mine], data, ranks)
            keep[mine] = chosen
        if not keep.all():
            matches, segment = matches.select(keep), segment[keep]
        if len(self.programs) > 1 and len(matches):
            repeated = duplicates(matches)
            if repeated.any():
                matches, segment = matches.select(~repeated), segment[~repeated]
        if self.plan.output == "non_overlap":
            return self._non_overlap(matches, segment, segments, ordered, state)
        return matches, None

    def _absent(
        self,
        program: Program,
        matches: MatchSet,
        segments: Array,
        segment: Array,
        data: Data,
        ranks: dict[str, int],
    ) -> Array:
        call = AutomatonCall(program, ranks, data, self.plan.limits)
        local = np.full(len(self.names), -1, np.int64)
        for number, variable in enumerate(program.variables):
            local[self.names.index(variable.name)] = number
        bindings = np.stack((matches.positions, local[matches.variables]), axis=1)
        keep = np.ones(len(matches), np.uint8)
        call.longest = data.events.shape[1] + int(matches.lengths.max(initial=0)) + 2
        world = call.world(segments, Matches(bindings, matches.offsets))
        endless = filter_absences(world, segment, len(matches), keep, self.plan.limits.steps)
        if endless >= 0:
            raise limit_error("steps", self.plan.limits.steps, f"partition number {endless}")
        return keep.astype(bool)

    def _non_overlap(
        self, matches: MatchSet, segment: Array, segments: Array, ordered: Ordered, state: State
    ) -> tuple[MatchSet, pa.Table]:
        """Keep, partition by partition, matches that start after the last kept one ended ([N] 2)."""
        partition = list(self.analysed.form.partition)
        codes = ordered.events[L.EVENT_SEGMENT][matches.first] if len(matches) else np.zeros(0, np.int64)
        number, owner = np.unique(codes, return_inverse=True)
        last_ends = np.zeros((len(number) + 1, 2), np.int64)
        known: dict[tuple[object, ...], int] = {}
        if state.last_ends is not None:
            known = {
                tuple(row[name] for name in partition): row["end"] for row in state.last_ends.to_pylist()
            }
        heads = [int(matches.first[np.flatnonzero(owner == k)[0]]) for k in range(len(number))]
        values = [
            tuple(row.values())
            for row in ordered.table.select(partition).take(pa.array(heads, pa.int64())).to_pylist()
        ]
        values = values if partition else [()] * len(heads)
        for k, value in enumerate(values):
            if value in known:
                last_ends[k] = known[value], 1
        order = output_order(matches, owner.astype(np.int64), ordered.events)
        starts, ends = matches.spans(ordered.events)
        keep = greedy_cover(order, owner.astype(np.int64), starts, ends, last_ends)
        known |= {value: int(last_ends[k, 0]) for k, value in enumerate(values)}
        rows = [{**dict(zip(partition, value, strict=True)), "end": end} for value, end in known.items()]
        kinds = [(name, ordered.table.schema.field(name).type) for name in partition]
        return matches.select(order[keep[order]]), pa.Table.from_pylist(
            rows, pa.schema([*kinds, ("end", pa.int64())])
        )

    # --- what to keep -----------------------------------------------------------------

    def _keep(
        self,
        ordered: Ordered,
        read: Array,
        segments: Array,
        feed: Feed,
        runs: list[RunState],
        waiting: MatchSet,
        last_ends: pa.Table | None,
    ) -> State:
        """Return the state after a call: rows that are unread, or within a window of the watermark."""
        if feed.flush:
            return replace(empty_state(ordered.table.schema), last_ends=last_ends)
        for begin, _, end in segments[:, :3]:
            read[begin:end] = True
        keep = ~read | self._still_visible(ordered, feed)
        used = [node.nodes[:, 0] for node in runs] + [waiting.positions]
        keep[np.concatenate(used)] = True
        places = np.cumsum(keep) - 1
        moved = []
        for program, each in zip(self.programs, runs, strict=True):
            nodes = each.nodes.copy()
            nodes[:, 0] = places[nodes[:, 0]]
            integers = each.integers.copy()
            moved.append(self._moved(program, RunState(integers, each.floats, nodes), places))
        return State(
            ordered.table.filter(pa.array(keep)),
            read[keep],
            ordered.events[L.EVENT_INDEX][keep],
            tuple(moved),
            waiting.moved(places),
            feed.now,
            last_ends,
        )

    def _moved(self, program: Program, runs: RunState, places: Array) -> RunState:
        code, _ = program.pack(dict.fromkeys(self.literals, 0))
        if len(runs.integers):
            rebase_positions(code, runs.integers, len(runs.integers), places)
        return runs

    def _still_visible(self, ordered: Ordered, feed: Feed) -> Array:
        """Say which read rows an absence, or the numbering of events, may still look at."""
        window = self.analysed.form.window
        length = self.analysed.window
        if window is None or length is None:
            return np.ones(ordered.table.num_rows, bool)
        if window.kind is WindowKind.EVENTS:
            codes, numbers = ordered.events[L.EVENT_SEGMENT], ordered.events[L.EVENT_INDEX]
            newest = np.full(int(codes.max(initial=0)) + 2, -1, np.int64)
            np.maximum.at(newest, codes, numbers)
            return np.asarray(numbers > newest[codes] - 2 * length)
        margin = 2 * length if self._waits() else length
        return np.asarray(ordered.events[L.EVENT_END] >= max(feed.now - margin, -(2**63)))


def _segments(ordered: Ordered, read: Array, watermark: int | None) -> Array:
    """Return the kernel's table of segments: first row, first unread row, end of what is complete."""
    starts, ends = ordered.segments[:-1], ordered.segments[1:]
    segments = np.zeros((len(starts), 5), np.int64)
    segments[:, 0] = starts
    counted = np.concatenate(([0], np.cumsum(read)))
    segments[:, 1] = starts + counted[ends] - counted[starts]
    complete = np.ones(len(read), bool) if watermark is None else ordered.events[L.EVENT_END] <= watermark
    counted = np.concatenate(([0], np.cumsum(complete)))
    segments[:, 2] = starts + counted[ends] - counted[starts]
    return segments
