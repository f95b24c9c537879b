"""One OR-free alternative to a program for the kernels: tables of integers, states on demand.

An automaton state is a downward-closed set of variables ([S] Def. 4.1; for a chain [N]'s states),
refined by the groups that hold their maximum.  :meth:`Program.expand` builds a state's transitions
when a run first needs them, so that a set of n variables does not cost 2ⁿ states up front.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from fyke.engine.automaton.equivalence import Bounds, Pending, needed_values
from fyke.engine.conditions.compile import Code, ColumnUse, Compiler
from fyke.engine.kernels import layout as L
from fyke.engine.kernels.arrays import Array
from fyke.engine.window import kernel_window
from fyke.language.ast import Strategy
from fyke.logical.normal_form import Absence, Alternative, Condition, Variable
from fyke.plan.window import Extent
from fyke.techniques import Techniques

_STRATEGY = {
    Strategy.ANY: L.ANY,
    Strategy.ROBUST: L.ANY,  # all matches first; the robust ones are picked from them
    Strategy.NEXT: L.NEXT,
    Strategy.GREEDY: L.GREEDY,
    Strategy.PARTITION: L.PARTITION,
    Strategy.STRICT: L.STRICT,
}


@dataclass(frozen=True, slots=True)
class Settings:
    """What all alternatives of a query share."""

    columns: Mapping[str, ColumnUse]
    strategy: Strategy
    window: Extent
    tick: int
    scale: int
    functions: Mapping[str, int]
    text: str | None
    points: bool
    techniques: Techniques
    prunes: bool


@dataclass(slots=True)
class _Placed:
    """A condition with its number and the bit masks of its variables."""

    number: int
    needs: int
    each: int
    lagged: int
    whole: int


class Program:
    """The compiled form of an alternative.  Plain lists until :meth:`pack` lays them out as one array.

    Without ``runs`` it has conditions and absences only: engines that make none need no states.
    """

    def __init__(
        self,
        alternative: Alternative,
        roles: Mapping[str, int],
        settings: Settings,
        starts: Mapping[str, int] | None = None,
        *,
        runs: bool = True,
    ) -> None:
        self.starts = {**roles, **(starts or {})}
        self.settings = settings
        self.variables = alternative.variables
        self.everything = [*alternative.variables, *_absent(alternative.absences)]
        self.number = {variable.name: k for k, variable in enumerate(self.everything)}
        self.positives = len(alternative.variables)
        self.roles = roles
        self.before, self.after = self._order(alternative)
        self.compiler = Compiler(
            settings.columns, self.number, settings.tick, settings.scale, settings.functions, settings.text
        )
        self.code: list[Code] = []
        self.each_rows: list[list[int]] = []
        self.condition_rows: list[list[int]] = []
        self.check_rows: list[list[int]] = []
        self.merge_rows: list[list[int]] = []
        self.state_rows: list[list[int]] = []
        self.move_rows: list[list[int]] = []
        self.states: dict[tuple[int, int], int] = {}
        self.state_keys: list[tuple[int, int]] = []
        self.placed = [self._condition(condition) for condition in alternative.conditions]
        self.absence_rows: list[list[int]] = []
        self.enough: dict[str, int] = {}
        self._absences(alternative.absences, -1)
        self._place_accumulators()
        positive = (1 << self.positives) - 1
        self.trailing_group = any(
            variable.group and self.after[k] & positive == 0 for k, variable in enumerate(self.variables)
        )
        self.search = self._search()
        self.merges = self._merges()
        if runs:
            self.expand(self._state(0, 0))

    # --- conditions and absences ------------------------------------------------------

    def _order(self, alternative: Alternative) -> tuple[list[int], list[int]]:
        before, after = [0] * len(self.everything), [0] * len(self.everything)
        for u, v in alternative.order:
            before[self.number[v]] |= 1 << self.number[u]
            after[self.number[u]] |= 1 << self.number[v]
        positive = (1 << self.positives) - 1
        # A run knows positive variables only; absences look at all that is bound or added.
        return [mask & positive if k < self.positives else mask for k, mask in enumerate(before)], after

    def _mask(self, names: frozenset[str]) -> int:
        return sum(1 << self.number[name] for name in names)

    def _condition(self, condition: Condition) -> _Placed:
        code = self.compiler.condition(condition.expression)
        first = sum(map(len, self.code))
        self.code.append(code)
        each = len(self.each_rows)
        for name in sorted(condition.each):
            self.each_rows.append([self.number[name], int(name in condition.lagged)])
        self.condition_rows.append([first, first + len(code), each, len(self.each_rows)])
        masks = (condition.variables, condition.each, condition.lagged, condition.whole)
        return _Placed(len(self.condition_rows) - 1, *map(self._mask, masks))

    def _absences(self, absences: tuple[Absence, ...], parent: int) -> None:
        for absence in absences:
            numbers = [self.number[variable.name] for variable in absence.variables]
            first = len(self.check_rows)
            self.check_rows += [self._staged(self._condition(condition)) for condition in absence.conditions]
            self.enough |= self._enough(absence)
            row = len(self.absence_rows)
            self.absence_rows.append([parent, numbers[0], numbers[-1] + 1, first, len(self.check_rows)])
            self._absences(absence.absences, row)

    def _staged(self, placed: _Placed) -> list[int]:
        """Return the check of an absence's condition: due when its last variable grows, or is closed."""
        return [placed.number, 2 * (placed.needs.bit_length() - 1) + int(placed.whole != 0)]

    def _enough(self, absence: Absence) -> dict[str, int]:
        """Return the groups of an absence of which no more than the minimum need be looked for.

        Without that minimum nothing can be there, and what more would be there forbids no less:
        unless a condition looks at the whole group, or a nested absence at what is between.
        """
        whole = frozenset[str]().union(*(condition.whole for condition in absence.conditions))
        few = [
            variable for variable in absence.variables if not absence.absences and variable.name not in whole
        ]
        return {variable.name: variable.minimum for variable in few}

    def _place_accumulators(self) -> None:
        first = L.RUN_VARIABLES + L.RUN_VARIABLE_SIZE * self.positives
        integers, floats = self.compiler.place_accumulators(first)
        for code in self.code:
            self.compiler.resolve_accumulators(code)
        self.run_integers, self.run_floats = first + integers, max(1, floats)

    # --- states -----------------------------------------------------------------------

    def _state(self, bound: int, full: int) -> int:
        """Return the number of a state; a new one can report matches, but has no transitions yet."""
        if (bound, full) not in self.states:
            self.states[bound, full] = len(self.state_rows)
            self.state_keys.append((bound, full))
            closed = self._closed(bound, full)
            row = [0] * L.STATE_SIZE
            row[L.STATE_BOUND] = bound
            row[L.STATE_COMPLETE] = int(bound == (1 << self.positives) - 1)
            row[L.STATE_OPEN] = int(
                any(v.group and bound >> k & 1 and not closed >> k & 1 for k, v in enumerate(self.variables))
            )
            for v in self._enabled(bound, closed):
                row[L.STATE_ROLES] |= self._role(v, extends=bool(bound >> v & 1))
            row[L.STATE_FINAL_CHECKS] = len(self.check_rows)
            if row[L.STATE_COMPLETE]:
                open_ended = (placed for placed in self.placed if placed.whole & ~closed)
                self.check_rows += [[placed.number, int(placed.each != 0)] for placed in open_ended]
            row[L.STATE_FINAL_CHECKS_END] = len(self.check_rows)
            row[L.STATE_MERGE], row[L.STATE_MERGE_END] = self._merged(bound, closed)
            self.state_rows.append(row)
        return self.states[bound, full]

    def _search(self) -> str:
        """Return the order of search: breadth_first, backtrack or robust."""
        techniques = self.settings.techniques
        if self.settings.strategy is Strategy.ROBUST and techniques.robust == "backtracking":
            return "robust"
        return techniques.search

    def _tests_windows(self) -> bool:
        """Say whether starts are tested for candidate windows."""
        in_order = all(mask < 1 << k for k, mask in enumerate(self.before[: self.positives]))
        worth = self.settings.window.bounded and self.positives > 1
        return self.settings.techniques.candidate_windows and worth and in_order

    def _prunes(self) -> bool:
        """Say whether a match ends all runs of its partition.

        It does where matches are reported as they end, which greedy does not do while a group is open.
        """
        greedy_waits = self.settings.strategy is Strategy.GREEDY and self.trailing_group
        return self.settings.prunes and not self.absence_rows and not greedy_waits

    def _merges(self) -> bool:
        """Say whether equivalent runs are merged.

        Not under greedy with a group at the end: there the window of each run cuts off its last form,
        so that runs with different windows have different futures.
        """
        settings = self.settings
        if not settings.techniques.merging or self.search != "breadth_first":
            return False
        return not (settings.strategy is Strategy.GREEDY and self.trailing_group)

    def _merged(self, bound: int, closed: int) -> tuple[int, int]:
        """Append what runs of a state must agree in; return its stretch of the merge table."""
        first = len(self.merge_rows)
        if not self.merges:
            return -1, -1
        rows = needed_values(
            [Bounds(v.group, v.minimum, v.maximum, self.before[k]) for k, v in enumerate(self.variables)],
            [Pending(self.code[p.number], p.needs, p.each, p.whole) for p in self.placed],
            [(key[0], acc) for key, acc in self.compiler.accumulators.items()],
            bound,
            closed,
            points=self.settings.points,
        )
        if rows is None:
            return -1, -1
        self.merge_rows += rows
        return first, len(self.merge_rows)

    def _closed(self, bound: int, full: int) -> int:
        closed = full
        for v in range(self.positives):
            if bound >> v & 1:
                closed |= self.before[v]
        return closed

    def _enabled(self, bound: int, closed: int) -> list[int]:
        """Return the variables that a run can start or extend."""
        enabled = []
        for v, variable in enumerate(self.variables):
            started, open_group = bound >> v & 1, variable.group and not closed >> v & 1
            if (started and open_group) or (not started and self.before[v] & ~bound == 0):
                enabled.append(v)
        return enabled

    def expand(self, state: int) -> None:
        """Build the transitions of a state."""
        bound, full = self.state_keys[state]
        closed = self._closed(bound, full)
        row = self.state_rows[state]
        row[L.STATE_TRANSITIONS] = len(self.move_rows)
        moves = []
        for v in self._enabled(bound, closed):
            moves.append(self._move(v, self.variables[v], bound, full, closed))
        self.move_rows += moves
        row[L.STATE_TRANSITIONS_END] = len(self.move_rows)
        row[L.STATE_EXPANDED] = 1

    def _move(self, v: int, variable: Variable, bound: int, full: int, closed: int) -> list[int]:
        bit, extends = 1 << v, bool(bound >> v & 1)
        closes = (
            0
            if extends
            else sum(
                1 << u
                for u in range(self.positives)
                if self.before[v] >> u & 1 and self.variables[u].group and not closed >> u & 1
            )
        )
        target = self._state(bound | bit, full)
        checks = self._checks(v, extends, bound, closed, self._closed(bound | bit, full))
        full_target, full_checks = -1, (0, 0)
        if variable.group and variable.maximum is not None:
            full_target = self._state(bound | bit, full | bit)
            after = self._closed(bound | bit, full | bit)
            # Only what the maximum itself decides: the other checks have been made.
            full_checks = self._checks(v, extends, bound, closed, after, self._closed(bound | bit, full))
        role = self._role(v, extends=extends)
        return [v, int(extends), closes, target, *checks, full_target, *full_checks, role]

    def _role(self, v: int, *, extends: bool) -> int:
        """Return the mask of the role that an event must have to extend a variable, or to start it."""
        return 1 << (self.roles if extends else self.starts)[self.everything[v].name]

    def _checks(
        self, v: int, extends: bool, bound: int, closed: int, closed_after: int, already: int | None = None
    ) -> tuple[int, int]:
        """Append the conditions that binding ``v`` decides; return their stretch of the check table."""
        bit, first = 1 << v, len(self.check_rows)
        for placed in self.placed:
            after = placed.needs & ~(bound | bit) == 0 and placed.whole & ~closed_after == 0
            before = placed.needs & ~bound == 0 and placed.whole & ~closed == 0
            if not after or (before and not placed.each & bit):
                continue
            if already is not None and placed.whole & ~already == 0:
                continue
            if not extends and placed.lagged & bit:
                continue  # a group of one element has no element before
            every = placed.each != 0 and not (placed.each == bit and (before or not extends))
            self.check_rows.append([placed.number, int(every)])
        return first, len(self.check_rows)

    # --- layout -----------------------------------------------------------------------

    def pack(self, string_ranks: Mapping[str, int]) -> tuple[Array, Array]:
        """Lay the program out as one integer array and its float constants, with room for more states."""
        tables = [
            (L.HEAD_VARIABLE_TABLE, self._variable_rows()),
            (L.HEAD_CONDITION_TABLE, self.condition_rows),
            (L.HEAD_EACH_TABLE, self.each_rows),
            (L.HEAD_ACCUMULATOR_TABLE, self._accumulator_rows()),
            (L.HEAD_ABSENCE_TABLE, self.absence_rows),
            (L.HEAD_CODE, [op for code in self.code for op in self._ranked(code, string_ranks)]),
        ]
        head = self._head()
        body: list[int] = []
        for place, rows in tables:
            head[place] = L.HEAD_SIZE + len(body)
            for row in rows:
                body.extend(row)
        for place, width, rows in self._growing():
            head[place] = L.HEAD_SIZE + len(body)
            for row in rows:
                body.extend(row)
            body.extend([0] * width * (_room(len(rows)) - len(rows)))
        program = np.array([*head, *body, 0], np.int64)
        return program, np.array(self.compiler.constants or [0.0], np.float64)

    def _growing(self) -> list[tuple[int, int, list[list[int]]]]:
        """Return the tables that grow with the states: their places in the head, widths and rows."""
        return [
            (L.HEAD_STATE_TABLE, L.STATE_SIZE, self.state_rows),
            (L.HEAD_TRANSITION_TABLE, L.MOVE_SIZE, self.move_rows),
            (L.HEAD_CHECK_TABLE, L.CHECK_SIZE, self.check_rows),
            (L.HEAD_MERGE_TABLE, L.MERGE_SIZE, self.merge_rows),
        ]

    def sizes(self) -> list[int]:
        """Return the rows of the tables that grow."""
        return [len(rows) for _, _, rows in self._growing()]

    def add_state(self, state: int, program: Array, packed: list[int], written: list[int]) -> bool:
        """Write a state that was built, and what has come with it, into a program.

        It was laid out when the tables had the sizes ``packed``, and has their rows up to ``written``.
        Say whether there was room.
        """
        growing = self._growing()
        if any(len(rows) > _room(size) for (_, _, rows), size in zip(growing, packed, strict=True)):
            return False
        for (place, width, rows), size in zip(growing, written, strict=True):
            at = int(program[place]) + size * width
            new = np.array(rows[size:], np.int64).reshape(-1)
            program[at : at + len(new)] = new
        at = int(program[L.HEAD_STATE_TABLE]) + state * L.STATE_SIZE
        program[at : at + L.STATE_SIZE] = self.state_rows[state]
        program[L.HEAD_STATES] = len(self.state_rows)
        return True

    def _head(self) -> list[int]:
        head = [0] * L.HEAD_SIZE
        settings = self.settings
        head[L.HEAD_VARIABLES] = self.positives
        head[L.HEAD_ALL_VARIABLES] = len(self.everything)
        head[L.HEAD_STRATEGY] = _STRATEGY[settings.strategy]
        head[L.HEAD_WINDOW_KIND], head[L.HEAD_WINDOW] = kernel_window(settings.window)
        head[L.HEAD_RUN_INTEGERS], head[L.HEAD_RUN_FLOATS] = self.run_integers, self.run_floats
        head[L.HEAD_MERGES], head[L.HEAD_POINTS] = int(self.merges), int(settings.points)
        head[L.HEAD_CANDIDATES], head[L.HEAD_PRUNES] = int(self._tests_windows()), int(self._prunes())
        head[L.HEAD_STATES], head[L.HEAD_ABSENCES] = len(self.state_rows), len(self.absence_rows)
        return head

    def _variable_rows(self) -> list[list[int]]:
        owners = [key[0] for key in self.compiler.accumulators]
        rows = []
        for v, variable in enumerate(self.everything):
            maximum = L.UNBOUNDED if variable.maximum is None else variable.maximum
            maximum = self.enough.get(variable.name, maximum)
            first = sum(owner < v for owner in owners)
            role = 1 << self.roles[variable.name]
            counted = (first, first + owners.count(v))
            rows.append(
                [
                    variable.minimum,
                    maximum,
                    int(variable.group),
                    role,
                    self.before[v],
                    *counted,
                    self.after[v],
                    self._role(v, extends=False),
                ]
            )
        return rows

    def _accumulator_rows(self) -> list[list[int]]:
        ordered = sorted(self.compiler.accumulators.items(), key=lambda item: item[0][0])
        return [[acc.kind, acc.column, acc.typed, acc.slot, acc.floats] for _, acc in ordered]

    def _ranked(self, code: Code, ranks: Mapping[str, int]) -> Code:
        texts = self.compiler.strings
        return [
            [L.CONST_I, ranks[texts[op[2] - 1]], 0, 0, 0, 0] if op[0] == L.CONST_I and op[2] > 0 else op
            for op in code
        ]


def _room(rows: int) -> int:
    return 2 * rows + 16


def _absent(absences: tuple[Absence, ...]) -> list[Variable]:
    found: list[Variable] = []
    for absence in absences:
        found += [*absence.variables, *_absent(absence.absences)]
    return found
