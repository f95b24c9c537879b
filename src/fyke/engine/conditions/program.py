"""An alternative to a program for the kernels: its conditions, absences and aggregates as integers.

All engines share it; the automaton adds states to it (``automaton/program.py``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from fyke.engine.conditions.compile import Compiler
from fyke.engine.conditions.values import Code, ColumnUse
from fyke.engine.kernels import layout as L
from fyke.engine.kernels.arrays import Array
from fyke.engine.window import kernel_window
from fyke.language.ast import Strategy
from fyke.logical.normal_form import Absence, Alternative, Condition, Variable
from fyke.plan.window import Extent
from fyke.techniques import Techniques


@dataclass(frozen=True, slots=True)
class Settings:
    """What all alternatives of a query share."""

    columns: Mapping[str, ColumnUse]
    strategy: Strategy
    window: Extent
    tick: int
    functions: Mapping[str, int]
    text: str | None
    points: bool
    techniques: Techniques


@dataclass(slots=True)
class Placed:
    """A condition with its number and the bit masks of its variables."""

    number: int
    needs: int
    each: int
    lagged: int
    whole: int
    reached: int = 0


class Program:
    """The compiled form of an alternative.  Plain lists until :meth:`pack` lays them out as one array."""

    def __init__(
        self,
        alternative: Alternative,
        roles: Mapping[str, int],
        settings: Settings,
        starts: Mapping[str, int] | None = None,
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
            settings.columns, self.number, settings.tick, settings.functions, settings.text
        )
        self.code: list[Code] = []
        self.each_rows: list[list[int]] = []
        self.condition_rows: list[list[int]] = []
        self.check_rows: list[list[int]] = []
        self.placed = [self._condition(condition) for condition in alternative.conditions]
        self.absence_rows: list[list[int]] = []
        self.enough: dict[str, int] = {}
        self._absences(alternative.absences, -1)
        self.early = [self._early(condition) for condition in alternative.conditions if condition.reached]
        self._place_accumulators()

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

    def _condition(self, condition: Condition, reached: frozenset[tuple[str, int]] = frozenset()) -> Placed:
        code = self.compiler.condition(condition.expression, sorted(reached))
        first = sum(map(len, self.code))
        self.code.append(code)
        each = len(self.each_rows)
        for name in sorted(condition.each):
            self.each_rows.append([self.number[name], int(name in condition.lagged)])
        self.condition_rows.append([first, first + len(code), each, len(self.each_rows)])
        grown = frozenset(name for name, _ in reached)
        masks = (condition.variables, condition.each, condition.lagged, condition.whole - grown, grown)
        return Placed(len(self.condition_rows) - 1, *map(self._mask, masks))

    def _early(self, condition: Condition) -> Placed:
        """Return a condition on elements by number as it is asked before the groups are closed.

        It says nothing until each of these groups has the element, so it may be asked at any time.
        """
        return self._condition(condition, condition.reached)

    def _absences(self, absences: tuple[Absence, ...], parent: int) -> None:
        for absence in absences:
            numbers = [self.number[variable.name] for variable in absence.variables]
            first = len(self.check_rows)
            self.check_rows += [self._staged(self._condition(condition)) for condition in absence.conditions]
            self.enough |= self._enough(absence)
            row = len(self.absence_rows)
            self.absence_rows.append([parent, numbers[0], numbers[-1] + 1, first, len(self.check_rows)])
            self._absences(absence.absences, row)

    def _staged(self, placed: Placed) -> list[int]:
        """Return the check of an absence's condition, due when its last variable grows or is closed."""
        return [placed.number, 2 * (placed.needs.bit_length() - 1) + int(placed.whole != 0)]

    def _enough(self, absence: Absence) -> dict[str, int]:
        """Return the groups of an absence for which finding the minimum number of events is enough.

        If the minimum cannot be found, the absence holds; if it can, more events change nothing.  This is so
        unless a condition looks at the whole group, or a nested absence looks at what lies between.
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

    def _role(self, v: int, *, extends: bool) -> int:
        """Return the mask of the role that an event must have to extend a variable, or to start it."""
        return 1 << (self.roles if extends else self.starts)[self.everything[v].name]

    # --- layout -----------------------------------------------------------------------

    def pack(self, string_ranks: Mapping[str, int]) -> tuple[Array, Array]:
        """Lay the program out as one integer array and its float constants."""
        tables = [
            (L.HEAD_VARIABLE_TABLE, self._variable_rows()),
            (L.HEAD_CONDITION_TABLE, self.condition_rows),
            (L.HEAD_EACH_TABLE, self.each_rows),
            (L.HEAD_ACCUMULATOR_TABLE, self._accumulator_rows()),
            (L.HEAD_ABSENCE_TABLE, self.absence_rows),
            (L.HEAD_CODE, [op for code in self.code for op in self._ranked(code, string_ranks)]),
            *self._own_tables(),
        ]
        head = self._head()
        body: list[int] = []
        for place, rows in tables:
            head[place] = L.HEAD_SIZE + len(body)
            for row in rows:
                body.extend(row)
        program = np.array([*head, *body, 0], np.int64)
        return program, np.array(self.compiler.constants or [0.0], np.float64)

    def _own_tables(self) -> list[tuple[int, list[list[int]]]]:
        """Return the tables that only some engines need: their places in the head, and their rows."""
        return [(L.HEAD_CHECK_TABLE, self.check_rows)]

    def _head(self) -> list[int]:
        head = [0] * L.HEAD_SIZE
        settings = self.settings
        head[L.HEAD_VARIABLES] = self.positives
        head[L.HEAD_ALL_VARIABLES] = len(self.everything)
        head[L.HEAD_WINDOW_KIND], head[L.HEAD_WINDOW] = kernel_window(settings.window)
        head[L.HEAD_RUN_INTEGERS], head[L.HEAD_RUN_FLOATS] = self.run_integers, self.run_floats
        head[L.HEAD_POINTS], head[L.HEAD_ABSENCES] = int(settings.points), len(self.absence_rows)
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
        return [[acc.kind, acc.column, acc.typed, acc.slot, acc.floats, acc.offset] for _, acc in ordered]

    def _ranked(self, code: Code, ranks: Mapping[str, int]) -> Code:
        texts = self.compiler.strings
        return [
            [L.CONST_I, ranks[texts[op[2] - 1]], 0, 0, 0, 0] if op[0] == L.CONST_I and op[2] > 0 else op
            for op in code
        ]


def _absent(absences: tuple[Absence, ...]) -> list[Variable]:
    found: list[Variable] = []
    for absence in absences:
        found += [*absence.variables, *_absent(absence.absences)]
    return found
