"""Host of the kernels of row patterns: conditions as columns, room for matches, limits."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from fyke.engine.kernels import layout as L
from fyke.engine.kernels.arrays import Array, Data
from fyke.engine.kernels.conditions.arena import condition_scratch
from fyke.engine.kernels.row_patterns import layout as R
from fyke.engine.kernels.row_patterns.arena import HistoryArena, RowArena
from fyke.engine.kernels.row_patterns.history import search_rows
from fyke.engine.kernels.row_patterns.linear import walk_rows
from fyke.engine.limits import LimitReached
from fyke.engine.meter import Meter
from fyke.engine.row_patterns.across import LABEL, REMEMBERED, AcrossProgram
from fyke.engine.row_patterns.matches import RowMatches
from fyke.engine.row_patterns.neighbours import RowColumns
from fyke.engine.row_patterns.tables import automaton_tables
from fyke.engine.row_patterns.times import present, window_times
from fyke.language.row_patterns import Rows
from fyke.plan.row_patterns.plan import RowPlan

_MATCHES, _STATES, _DEPTH = 1 << 12, 1 << 14, 1 << 10
_MOST_FAILED = 17  # bits of the number of failed ways that are remembered
NOTHING = np.zeros(1, np.int64)
LAST = np.iinfo(np.int64).max  # behind all rows


class SkipsNowhere(Exception):
    """Raised for a match, by a row of its partition, that has no row to skip to, or whose first row it is."""

    def __init__(self, row: int, *, stays: bool) -> None:
        self.row, self.stays = row, stays
        super().__init__(row)


def search_of(plan: RowPlan, columns: RowColumns, meter: Meter) -> RowSearch:
    """Return the search of a plan over ordered rows."""
    return (RowSearch if plan.linear else HistorySearch)(plan, columns, meter)


class RowSearch:
    """The search of a plan whose conditions the rows and their neighbours decide."""

    def __init__(self, plan: RowPlan, columns: RowColumns, meter: Meter) -> None:
        self.plan, self.columns, self.meter = plan, columns, meter
        self.segments = columns.ordered.segments
        self.cursor = np.zeros(R.AT_SIZE, np.int64)
        self._made: Any = None

    def matches(self, first: int = 0, last: int = LAST) -> RowMatches:
        """Return the matches that start from row ``first`` to in front of row ``last``.

        If ``first`` is not 0 there is one partition.  A second call finds the rows marked by the first one.

        Raises
        ------
        LimitReached, SkipsNowhere
        """
        again = self._made is not None
        arena = self._made = self._made if again else self._arena()
        self.cursor[:] = 0
        self.cursor[R.AT_ROW] = first if again else -1
        self.cursor[R.AT_FAR], self.cursor[R.AT_DEPTH] = first, -1
        arena.settings[R.SET_FROM], arena.settings[R.SET_STOP] = first, last
        try:
            self._finish(arena)
        except LimitReached as reached:
            reached.variable = self._variable(arena)
            raise
        count, states = int(self.cursor[R.AT_MATCHES]), int(self.cursor[R.AT_STATES])
        keeps = bool(arena.settings[R.SET_LABELS])
        return RowMatches(
            arena.begins[:count].copy(),
            arena.ends[:count].copy(),
            arena.states[:states].copy() if keeps else None,
            int(self.cursor[R.AT_STEPS]),
            int(self.cursor[R.AT_EVALUATIONS]),
            int(self.cursor[R.AT_NEXT]),
        )

    def _finish(self, arena: Any) -> None:
        while True:
            status = self._call(arena)
            self.meter.check(self._row())
            if status == L.DONE:
                break
            self._provide(status, arena)

    def _call(self, arena: Any) -> int:
        return int(walk_rows(arena))

    def _variable(self, arena: Any) -> str | None:
        """Return the variable of the last row of the current way, if ways are tried one after the other."""
        return None

    def _row(self) -> int:
        """Return a row of the partition that the kernel has come to."""
        segment = min(int(self.cursor[R.AT_SEGMENT]), len(self.segments) - 2)
        return int(self.segments[segment]) if segment >= 0 else 0

    def _arena(self) -> RowArena:
        return RowArena(**no_conditions(), **self._arrays(), work=self.meter.work)

    def _arrays(self) -> dict[str, Array]:
        """Return the fields of an arena that are about rows."""
        truth, conditions = self._truth()
        tables = automaton_tables(self.plan, conditions, len(truth))
        longest = int(np.diff(self.segments).max(initial=0))
        narrow, states = bool(tables["settings"][R.SET_NARROW]), int(tables["settings"][R.SET_STATES])
        size = 8 * longest if narrow else 4 * longest * states
        self.meter.hold("marks", size, self._longest_row())
        self.meter.hold("matches", 16 * _MATCHES + 2 * _STATES, 0)
        return {
            **tables,
            "segments": self.segments,
            "truth": truth if len(truth) else np.zeros((1, 1), np.uint8),
            "times": self._times(),
            "marks": np.zeros(longest + 1 if narrow else 1, np.int64),
            "earliest": np.zeros(1 if narrow else longest * states + 1, np.int32),
            "begins": np.zeros(_MATCHES, np.int64),
            "ends": np.zeros(_MATCHES, np.int64),
            "states": np.zeros(_STATES, np.uint16),
            "cursor": self.cursor,
        }

    def _longest_row(self) -> int:
        return int(self.segments[int(np.argmax(np.diff(self.segments)))]) if len(self.segments) > 1 else 0

    def _truth(self) -> tuple[Array, dict[int, int]]:
        """Return where each condition holds, and the number of the condition of each label that has one."""
        rows = [self.columns.truth(each) for each in self.plan.columns]
        numbers = self.plan.column_of
        timed = self._timed()
        if timed is not None:
            rows = [each & timed for each in rows]
            for label in range(len(self.plan.conditions)):
                numbers.setdefault(label, len(rows))
            rows.append(timed)
        self.meter.hold("truth", len(rows) * self.columns.rows, 0)
        return np.array(rows, np.uint8).reshape(len(rows), self.columns.rows), numbers

    # --- WITHIN -----------------------------------------------------------------------------------

    def _timed(self) -> Array | None:
        """Return which rows have a time, if WITHIN asks for one and some have none."""
        if self.plan.analysed.window is None:
            return None
        return present(self.columns.column(self.plan.analysed.order[0].column))

    def _times(self) -> Array:
        if self.plan.analysed.window is None:
            return NOTHING
        item = self.plan.analysed.order[0]
        return window_times(self.columns.column(item.column), item)

    # --- what a kernel asks for -----------------------------------------------------------------------

    def _provide(self, status: int, arena: Any) -> None:
        if status == R.NEED_MATCHES:
            arena.update(begins=self._grown(arena.begins, 16), ends=self._grown(arena.ends, 0))
        elif status == R.NEED_STATES:
            arena.update(states=self._grown(arena.states, 2))
        elif status in (R.SKIPS_NOWHERE, R.SKIPS_TO_START):
            self._fail(status)

    def _grown(self, array: Array, bytes_each: int) -> Array:
        size = 2 * len(array)
        if bytes_each:
            self.meter.hold(("room", bytes_each), size * bytes_each, self._row(), "matches")
        larger = np.zeros(size, array.dtype)
        larger[: len(array)] = array
        return larger

    def _fail(self, status: int) -> NoReturn:
        raise SkipsNowhere(int(self.cursor[R.AT_ROW]), stays=status == R.SKIPS_TO_START)


class HistorySearch(RowSearch):
    """The search of a plan some of whose conditions look at other rows of the match."""

    def __init__(self, plan: RowPlan, columns: RowColumns, meter: Meter) -> None:
        super().__init__(plan, columns, meter)
        self.program = AcrossProgram(plan)

    def _call(self, arena: Any) -> int:
        return int(search_rows(arena))

    def _variable(self, arena: Any) -> str | None:
        depth = int(self.cursor[R.AT_DEPTH])
        if depth <= 0:
            return None
        label = self.plan.automaton.labels[int(arena.chosen[depth])]
        return self.plan.analysed.variables[label]

    def _arena(self) -> HistoryArena:
        program, plan = self.program, self.plan
        data, ranks = program.data(self.columns)
        code, constants = program.pack(ranks)
        rows = self._arrays()
        rows["settings"][R.SET_EVERY] = int(plan.analysed.rows is Rows.MATCHES)
        rows["settings"][R.SET_LABEL_COLUMN] = program.uses[LABEL].number if LABEL in program.uses else -1
        variables, depth = len(program.sets) + len(program.positions), program.compiler.depth + 1
        names = plan.analysed.variables
        keys, key_offsets = program.keys()
        self.meter.hold("failed", 8 * self._failed_size() * self._key_width(keys), 0)
        return HistoryArena(
            program=code,
            constants=constants,
            **data._asdict(),
            **condition_scratch(
                max(1, variables), depth, max(1, program.integers), max(1, program.floats), 1
            ),
            **rows,
            work=self.meter.work,
            label_of=np.array(plan.automaton.labels or [0], np.int64),
            across=np.array([program.numbers.get(k, -1) for k in range(len(names))], np.int64),
            ranks=np.array([ranks.get(name, 0) for name in names], np.int64),
            positions=np.array([each.row for each in program.positions] or [[0] * 4], np.int64),
            asked=np.array([p for each in program.asked for p in each] or [0], np.int64),
            asked_offsets=np.concatenate(([0], np.cumsum([len(each) for each in program.asked]))).astype(
                np.int64
            ),
            members=np.array([[name in each for name in names] for each in program.sets], np.uint8).reshape(
                len(program.sets), len(names)
            ),
            counts=np.zeros(len(program.sets), np.int64),
            keys=keys,
            key_offsets=key_offsets,
            key=np.zeros(self._key_width(keys), np.int64),
            failed=np.full((self._failed_size(), self._key_width(keys)), -1, np.int64),
            **self._way(_DEPTH, None),
        )

    def _failed_size(self) -> int:
        """Return how many failed ways are remembered: a power of two, some for each row."""
        return 1 << min(max(int(8 * self.columns.rows).bit_length(), 10), _MOST_FAILED)

    @staticmethod
    def _key_width(keys: Array) -> int:
        return 2 + REMEMBERED if len(keys) else 2

    def _way(self, depth: int, arena: HistoryArena | None) -> dict[str, Array]:
        """Return room for a way of so many rows, with what an arena has of the current one."""
        program = self.program
        size = depth * (16 + 8 * (len(program.sets) + program.integers + program.floats))
        self.meter.hold("way", size, self._row())
        bits = np.zeros((depth, program.floats), np.int64)
        made = {
            "chosen": np.zeros(depth, np.int64),
            "next_moves": np.zeros(depth, np.int64),
            "taken": np.zeros((len(program.sets), depth), np.int64),
            "sums_i": np.zeros((depth, program.integers), np.int64),
            "sums_bits": bits,
        }
        if arena is not None:
            held = len(arena.chosen)
            for name, array in made.items():
                if name == "taken":
                    array[:, :held] = arena.taken
                else:
                    array[:held] = getattr(arena, name)
        return {**made, "sums_f": bits.view(np.float64)}

    def _provide(self, status: int, arena: Any) -> None:
        if status == R.NEED_DEPTH:
            arena.update(**self._way(2 * len(arena.chosen), arena))
        else:
            super()._provide(status, arena)


def no_conditions() -> dict[str, Array]:
    """Return the fields of an arena that are about conditions, where there are none to decide."""
    nothing, none = np.zeros((1, 1), np.int64), np.zeros((1, 1), np.uint8)
    data = Data(nothing, nothing, np.zeros((1, 1)), none, none, nothing, np.zeros(1), NOTHING)
    return {
        "program": NOTHING,
        "constants": np.zeros(1),
        **data._asdict(),
        **condition_scratch(1, 1, 1, 1, 1),
    }
