"""The one door of the engine: ``advance(state, batch, watermark) -> (state, matches)``.

Batch, stream and tests all go through it.  A batch of prepared rows is added to what the state
holds; events up to the watermark are read in processing order; matches are reported once, when no
later event can change them.  A watermark of None ends the input.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from fyke.engine.automaton.call import AutomatonCall, Feed
from fyke.engine.conditions.program import Program, Settings
from fyke.engine.conditions.user_functions import compile_external
from fyke.engine.input.encode import column_uses, encode
from fyke.engine.input.list_lengths import check_list_lengths
from fyke.engine.input.order import Ordered, order_rows, times
from fyke.engine.input.segments import Taken, count_tied_rows, find_segments, number_events
from fyke.engine.kernels import layout as L
from fyke.engine.kernels.arrays import NUMBER, Array, Data, Matches
from fyke.engine.kernels.automaton.match_buffer import rebase_positions
from fyke.engine.lazy.reader import LazyReader
from fyke.engine.limits import limits_by_partition
from fyke.engine.matchset import MatchSet, concat, duplicates, no_matches, robust
from fyke.engine.measure.clock import Clock
from fyke.engine.output.graphs import GraphSet, concat_graphs, graphs_of
from fyke.engine.selection.absence import not_forbidden
from fyke.engine.selection.absence_order import absences_left, by_frequency
from fyke.engine.selection.non_overlap import keep_apart
from fyke.engine.state import NO_RUNS, Counters, RunState, State, empty_state
from fyke.engine.tree.reader import TreeReader
from fyke.language.ast import Strategy, WindowKind
from fyke.plan.plan import LAZY_ENGINES, Plan, reads_apart

_END_OF_TIME = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Found:
    """Matches of one call of ``advance``, with the rows their positions mean; as ``graphs`` if asked for."""

    matches: MatchSet
    rows: pa.Table
    events: Array
    counters: Counters
    graphs: GraphSet | None = None
    tally: pa.Table | None = None


class Engine:
    """The engine for one plan.  It holds no events: those are in the state.

    With ``only_conditions`` it can read none: it knows the conditions, for those who measure them.
    """

    def __init__(self, plan: Plan, *, only_conditions: bool = False) -> None:
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
            self.analysed.schema.points,
            plan.techniques,
            self._prunes(),
        )
        runs = plan.engine == "automaton" and not only_conditions
        self.programs = [
            Program(alternative, self._roles(number), settings, self._starts(number), runs=runs)
            for number, alternative in enumerate(plan.pushed.alternatives)
        ]
        self.compresses = self._compresses()
        self.names = list(dict.fromkeys(v.name for program in self.programs for v in program.variables))
        self.literals = list(dict.fromkeys(t for program in self.programs for t in program.compiler.strings))
        lazy = plan.engine in LAZY_ENGINES
        self.lazy = LazyReader(plan, self.programs, settings, self.names) if lazy else None
        self.tree = TreeReader(plan, self.programs, self.names) if plan.engine == "tree" else None
        arity = self.analysed.functions
        self.compiled = [
            compile_external(name, function, arity[name]) for name, function in plan.functions.items()
        ]

    def _prunes(self) -> bool:
        """Say whether, of non-overlapping matches, one that is found is always one that is kept.

        Then it ends all runs of its partition ([N] 5.2.1).  Events that last may begin before it, and a
        match of another alternative, or of another part of the partition, may come before it.
        """
        form = self.analysed.form
        alone = len(self.plan.pushed.alternatives) == 1 and self.plan.pushed.split == form.partition
        alone &= reads_apart(self.plan) or not form.partition
        certain = form.strategy is not Strategy.ROBUST
        return self.plan.output == "non_overlap" and alone and certain and self.analysed.schema.points

    def _compresses(self) -> bool:
        """Say whether matches leave the search as graphs: where nothing picks among them afterwards."""
        program = self.programs[0]
        picks = self.analysed.form.strategy is Strategy.ROBUST and program.search != "robust"
        alone = len(self.programs) == 1 and not program.absence_rows
        searches_runs = self.plan.engine == "automaton"  # the other engines list their matches
        return self.plan.output == "compressed" and alone and not picks and searches_runs

    def _graphs(self, matches: MatchSet, feed: Feed, counters: Counters) -> GraphSet:
        """Return the graphs of a call: those of the search, or those of chosen matches."""
        if not self.compresses:
            return graphs_of(matches)
        graphs = concat_graphs(feed.graphs)
        counters.matches = counters.intermediate_matches = graphs.matches()
        return graphs

    def _roles(self, number: int) -> dict[str, int]:
        return {name: bit for (n, name), bit in self.plan.pushed.roles_of.items() if n == number}

    def _starts(self, number: int) -> dict[str, int]:
        return {name: bit for (n, name), bit in self.plan.pushed.starts_of.items() if n == number}

    def start(self, schema: pa.Schema) -> State:
        """Return the state before the first event of prepared batches with ``schema``."""
        return empty_state(schema)

    def advance(
        self,
        state: State,
        batch: pa.Table,
        watermark: int | None,
        *,
        sorted_rows: bool = False,
        clock: Clock | None = None,
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
        clock
            Is told how long each phase took.
        """
        clock = clock or Clock()
        taken = self._take_up(state, batch, watermark, sorted_rows, clock)
        ordered, feed, data, ranks = taken.ordered, taken.feed, taken.data, taken.ranks
        places, read, segments, counters = taken.places, taken.read, taken.feed.segments, taken.counters
        with limits_by_partition(ordered.table, self.plan):
            matches, runs = self._read(state, taken, clock)
            counters.events_read = int((feed.read_to - segments[:, 1]).sum())
            counters.tied_rows = count_tied_rows(ordered, segments[:, 1], feed.read_to)
            clock.lap("search")
            waiting = concat([state.waiting.moved(places), matches]) if len(state.waiting) else matches
            certain, waiting = self._split_certain(waiting, feed, ordered)
            chosen = self._choose(certain, segments, data, ranks)
        if self.plan.output == "non_overlap":
            chosen = concat([state.chosen.moved(places), chosen]) if len(state.chosen) else chosen
            ready, chosen = self._split_in_order(chosen, feed, ordered)
            # A match still to come ends later than a window ago and is no longer than a window.
            window = None if self._counts_events() else self.analysed.window
            forgotten = None if window is None else feed.now - 2 * window
            partition = list(self.analysed.form.partition)
            ready, last_ends = keep_apart(ready, ordered, partition, state.last_ends, forgotten)
        else:
            ready, chosen, last_ends = chosen, no_matches(), None
        counters.matches += len(ready)
        graphs = self._graphs(ready, feed, counters) if self.plan.output == "compressed" else None
        tally = self.lazy.tally_rows(ordered.table, segments) if self.lazy is not None else None
        clock.lap("choose")
        found = Found(ready, ordered.table, ordered.events, counters, graphs, tally)
        return self._keep(ordered, read, segments, feed, runs, waiting, chosen, last_ends), found

    def advance_in_chunks(
        self,
        state: State,
        batch: pa.Table,
        watermark: int | None,
        *,
        sorted_rows: bool = False,
        clock: Clock | None = None,
    ) -> Generator[Found, None, State]:
        """Do what :meth:`advance` does, but yield matches in chunks and return the state.

        A lazy engine goes on searching only when a chunk has been taken, so that memory does not grow
        with the matches, wherever each of them is certain by itself.
        """
        waits = self._waits() and (watermark is not None or len(state.waiting))
        if self.lazy is None or not self.lazy.streams or waits:
            after, found = self.advance(state, batch, watermark, sorted_rows=sorted_rows, clock=clock)
            yield found
            return after
        clock = clock or Clock()
        taken = self._take_up(state, batch, watermark, sorted_rows, clock)
        ordered, feed = taken.ordered, taken.feed
        with limits_by_partition(ordered.table, self.plan):
            for matches in self.lazy.chunks(feed, taken.data, taken.ranks, taken.counters):
                clock.lap("search")
                chosen = self._choose(matches, feed.segments, taken.data, taken.ranks)
                clock.lap("choose")
                yield Found(chosen, ordered.table, ordered.events, Counters(matches=len(chosen)))
        clock.lap("search")
        taken.counters.events_read = int((feed.read_to - feed.segments[:, 1]).sum())
        taken.counters.tied_rows = count_tied_rows(ordered, feed.segments[:, 1], feed.read_to)
        yield Found(no_matches(), ordered.table, ordered.events, taken.counters)
        runs, nothing = [NO_RUNS] * len(self.programs), no_matches()
        return self._keep(ordered, taken.read, feed.segments, feed, runs, nothing, nothing, None)

    def _take_up(
        self, state: State, batch: pa.Table, watermark: int | None, sorted_rows: bool, clock: Clock
    ) -> Taken:
        """Put the rows of a batch in order with those that were kept, and make them arrays."""
        counters = Counters()
        clock.restart()
        batch = self._without_late(state, batch, counters)
        rows = pa.concat_tables([state.rows, batch]) if state.rows.num_rows else batch
        ordered = order_rows(rows, self.plan, sorted_rows=sorted_rows and state.rows.num_rows == 0)
        places = np.empty(rows.num_rows, np.int64)
        places[ordered.permutation] = np.arange(rows.num_rows)
        read = np.zeros(rows.num_rows, bool)
        read[places[: len(state.read)]] = state.read
        if self._counts_events() and len(state.index):
            number_events(state, ordered, places)
        segments = find_segments(ordered, read, watermark)
        clock.lap("order")
        data, ranks = encode(ordered.table, self.plan, self.uses, self.tick, ordered.events, self.literals)
        if self.compiled:
            data = data._replace(addresses=np.array([each.address for each in self.compiled], np.int64))
        check_list_lengths(self.programs, data)
        feed = Feed(segments, watermark is None, _END_OF_TIME if watermark is None else watermark)
        if self.lazy is not None:
            self.lazy.begin(ordered.table)
        clock.lap("encode")
        return Taken(ordered, places, read, feed, data, ranks, counters)

    def _without_late(self, state: State, batch: pa.Table, counters: Counters) -> pa.Table:
        if state.watermark is None or batch.num_rows == 0:
            return batch
        late = times(batch.column(self.analysed.schema.end)) <= state.watermark
        counters.late_rows = int(late.sum())
        return batch.filter(pa.array(~late)) if counters.late_rows else batch

    def _read(self, state: State, taken: Taken, clock: Clock) -> tuple[MatchSet, list[RunState]]:
        found, runs = [], []
        feed, data, ranks, counters = taken.feed, taken.data, taken.ranks, taken.counters
        if self.lazy is not None:
            return self.lazy.read(feed, data, ranks, counters), [NO_RUNS] * len(self.programs)
        if self.tree is not None:
            return self.tree.read(feed, data, ranks, counters, clock), [NO_RUNS] * len(self.programs)
        for number, program in enumerate(self.programs):
            call = AutomatonCall(program, ranks, data, self.plan.limits, compressed=self.compresses)
            before = state.runs[number] if state.runs else None
            matches, saved = call.run(feed, before, taken.places)
            feed.read_to, feed.graphs = call.read_to, call.graphs
            counters.merge(call.counters)
            if len(self.programs) > 1:
                numbering = np.array([self.names.index(v.name) for v in program.variables], NUMBER)
                alternative = np.full(len(matches), number, NUMBER)
                variables = numbering[matches.variables]
                matches = replace(matches, variables=variables, alternative=alternative)
            found.append(matches)
            runs.append(saved)
        return concat(found), runs

    # --- what may still change --------------------------------------------------------

    def _split_certain(self, matches: MatchSet, feed: Feed, ordered: Ordered) -> tuple[MatchSet, MatchSet]:
        """Part matches into those that are certain and those that later events may rule out.

        Nothing later than a window behind its first event can touch a match.
        """
        if feed.flush or len(matches) == 0 or not self._waits():
            return matches, no_matches()
        if self._counts_events():
            reach = ordered.events[L.EVENT_INDEX][matches.first]
        else:
            reach = ordered.events[L.EVENT_END][matches.first]
        return self._split_past(matches, reach, feed, ordered)

    def _split_in_order(self, matches: MatchSet, feed: Feed, ordered: Ordered) -> tuple[MatchSet, MatchSet]:
        """Part matches into those before which, in the order of non_overlap, no other can still come.

        That order is by end, and every match with the same or an earlier end is certain one window
        behind it.
        """
        if feed.flush or len(matches) == 0:
            return matches, no_matches()
        reach = matches.spans(ordered.events)[1]
        if self._counts_events():
            ends, codes = ordered.events[L.EVENT_END], ordered.events[L.EVENT_SEGMENT]
            moments = np.stack((codes, ends), axis=1)
            moment = np.unique(moments, axis=0, return_inverse=True)[1].reshape(-1)
            last = np.zeros(len(moment), np.int64)
            np.maximum.at(last, moment, ordered.events[L.EVENT_INDEX])
            # Of events at one time, the last one: matches that end there are all in order then.
            latest = np.maximum.reduceat(matches.positions, matches.offsets[:-1])
            reach = last[moment[latest]]
        return self._split_past(matches, reach, feed, ordered)

    def _split_past(
        self, matches: MatchSet, reach: Array, feed: Feed, ordered: Ordered
    ) -> tuple[MatchSet, MatchSet]:
        """Part matches by whether a window behind ``reach`` (a time, or an event's number) has passed."""
        window = self.analysed.window
        if window is None:
            return no_matches(), matches
        if self._counts_events():
            numbers, codes = ordered.events[L.EVENT_INDEX], ordered.events[L.EVENT_SEGMENT]
            seen = np.full(int(codes.max(initial=0)) + 2, -1, np.int64)
            done = ordered.events[L.EVENT_END] <= feed.now
            np.maximum.at(seen, codes[done], numbers[done])
            past = seen[codes[matches.first]] - reach >= window - 1
        else:
            past = reach <= max(feed.now - window, -(2**63))
        return matches.select(past), matches.select(~past)

    def _counts_events(self) -> bool:
        window = self.analysed.form.window
        return window is not None and window.kind is WindowKind.EVENTS

    def _waits(self) -> bool:
        """Say whether a match can be ruled out by events after it.

        Of two alternatives that find one match, a greedy one may find it later.
        """
        if self.analysed.form.strategy is Strategy.ROBUST:
            return True
        if self.analysed.form.strategy is Strategy.GREEDY and len(self.programs) > 1:
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
        data: Data,
        ranks: dict[str, int],
    ) -> MatchSet:
        """Apply robust selection, absences and the union of alternatives, one by one."""
        picks = self.analysed.form.strategy is Strategy.ROBUST and self.programs[0].search != "robust"
        if len(self.programs) == 1 and not picks and not self.programs[0].absence_rows:
            return matches
        segment = np.searchsorted(segments[:, 0], matches.first, side="right") - 1
        keep = np.ones(len(matches), bool)
        for number, program in enumerate(self.programs):
            mine = np.flatnonzero(matches.alternative == number)
            if len(mine) == 0:
                continue
            part = matches.select(mine)
            chosen = np.ones(len(mine), bool)
            if picks:
                chosen = robust(part)
            if len(absences_left(program, self.lazy.decided_early(number) if self.lazy else ())):
                chosen &= self._absent(number, part, segments, segment[mine], data, ranks)
            keep[mine] = chosen
        if not keep.all():
            matches = matches.select(keep)
        if len(self.programs) > 1 and len(matches):
            matches = matches.select(~duplicates(matches))
        return matches

    def _absent(
        self,
        alternative: int,
        matches: MatchSet,
        segments: Array,
        segment: Array,
        data: Data,
        ranks: dict[str, int],
    ) -> Array:
        program = self.programs[alternative]
        local = np.full(len(self.names), -1, NUMBER)
        for number, variable in enumerate(program.variables):
            local[self.names.index(variable.name)] = number
        variables = local[matches.variables]
        early = self.lazy.decided_early(alternative) if self.lazy else ()
        left = by_frequency(absences_left(program, early), program, data)
        found = Matches(matches.positions, variables, matches.offsets)
        return not_forbidden(program, ranks, data, found, segments, segment, left, self.plan.limits.steps)

    # --- what to keep -----------------------------------------------------------------

    def _keep(
        self,
        ordered: Ordered,
        read: Array,
        segments: Array,
        feed: Feed,
        runs: list[RunState],
        waiting: MatchSet,
        chosen: MatchSet,
        last_ends: pa.Table | None,
    ) -> State:
        """Return the state after a call: rows that are unread, or within a window of the watermark."""
        if feed.flush:
            return replace(empty_state(ordered.table.schema), last_ends=last_ends)
        for begin, end in zip(segments[:, 0], feed.read_to, strict=True):
            read[begin:end] = True
        keep = ~read | self._still_visible(ordered, read, feed)
        used = [each.bound_rows() for each in runs] + [waiting.positions, chosen.positions]
        keep[np.concatenate(used)] = True
        places = np.cumsum(keep) - 1
        moved = []
        for program, each in zip(self.programs, runs, strict=True):
            integers = each.integers.copy()
            moved.append(
                self._moved(program, RunState(integers, each.floats, each.moved_nodes(places)), places)
            )
        return State(
            ordered.table.filter(pa.array(keep)),
            read[keep],
            ordered.events[L.EVENT_INDEX][keep],
            tuple(moved),
            waiting.moved(places),
            chosen.moved(places),
            feed.now,
            last_ends,
        )

    def _moved(self, program: Program, runs: RunState, places: Array) -> RunState:
        code, _ = program.pack(dict.fromkeys(self.literals, 0))
        if len(runs.integers):
            rebase_positions(code, runs.integers, len(runs.integers), places)
        return runs

    def _still_visible(self, ordered: Ordered, read: Array, feed: Feed) -> Array:
        """Say which read rows an absence, or the numbering of events, may still look at."""
        window = self.analysed.form.window
        length = self.analysed.window
        if window is None or length is None:
            return np.ones(ordered.table.num_rows, bool)
        if window.kind is WindowKind.EVENTS:
            codes, numbers = ordered.events[L.EVENT_SEGMENT], ordered.events[L.EVENT_INDEX]
            newest = np.full(int(codes.max(initial=0)) + 2, -1, np.int64)
            np.maximum.at(newest, codes[read], numbers[read])
            return np.asarray(numbers > newest[codes] - 2 * length)
        waits = self._waits() or self.plan.output == "non_overlap"
        margin = 2 * length if waits else length
        return np.asarray(ordered.events[L.EVENT_END] >= max(feed.now - margin, -(2**63)))
