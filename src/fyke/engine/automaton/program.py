"""The automaton of an alternative: its compiled conditions and absences, and states built on demand.

A state is a downward-closed set of variables ([S] Def. 4.1; for a chain [N]'s states), refined by the
groups that have their maximum number of events.  :meth:`AutomatonProgram.expand` builds a state's
transitions when a run first needs them, so that a set of n variables does not cost 2ⁿ states up front.
States are numbered as they are reached, so what a run keeps between two calls is the two sets, never the
number.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from fyke.engine.automaton.equivalence import Bounds, Pending, needed_values
from fyke.engine.conditions.program import Program, Settings
from fyke.engine.kernels import layout as L
from fyke.engine.kernels.arrays import Array
from fyke.language.ast import Strategy
from fyke.logical.normal_form import Alternative, Variable

_STRATEGY = {
    Strategy.ANY: L.ANY,
    Strategy.ROBUST: L.ANY,  # all matches first; the robust ones are picked from them
    Strategy.NEXT: L.NEXT,
    Strategy.GREEDY: L.GREEDY,
    Strategy.PARTITION: L.PARTITION,
    Strategy.STRICT: L.STRICT,
    Strategy.GREEDY_PARTITION: L.GREEDY_PARTITION,
    Strategy.GREEDY_STRICT: L.GREEDY_STRICT,
}


class AutomatonProgram(Program):
    """A program with states, whose tables grow as runs reach new ones.

    ``prunes``: the output wants matches that do not overlap, and is sure to keep each match that is found.
    """

    def __init__(
        self,
        alternative: Alternative,
        roles: Mapping[str, int],
        settings: Settings,
        starts: Mapping[str, int] | None = None,
        *,
        prunes: bool = False,
    ) -> None:
        super().__init__(alternative, roles, settings, starts)
        self.prunes = prunes
        self.merge_rows: list[list[int]] = []
        self.state_rows: list[list[int]] = []
        self.move_rows: list[list[int]] = []
        self.needs = self._needs()
        self.bounds = [
            Bounds(v.group, v.minimum, v.maximum, self.before[k]) for k, v in enumerate(self.variables)
        ]
        self.checked = [*self.placed, *self.early]
        self.pending = [Pending(self.code[p.number], p.needs, p.each, p.whole) for p in self.checked]
        self.states: dict[tuple[int, int], int] = {}
        self.state_keys: list[tuple[int, int]] = []
        positive = (1 << self.positives) - 1
        self.trailing_group = any(
            variable.group and self.after[k] & positive == 0 for k, variable in enumerate(self.variables)
        )
        self.search = self._search()
        self.merges = self._merges()
        self.buries = self.search == "robust" and settings.techniques.merging
        self.expand(self.state_of(0, 0))

    # --- states -----------------------------------------------------------------------

    def state_of(self, bound: int, full: int) -> int:
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
        return self.settings.techniques.candidate_windows and self.positives > 1 and in_order

    def _prunes(self) -> bool:
        """Say whether a match ends all runs of its partition.

        It does if matches are reported as they end, which greedy does not do while a group is open.
        """
        greedy_waits = self.settings.strategy.greedy and self.trailing_group
        return self.prunes and not self.absence_rows and not greedy_waits

    def _merges(self) -> bool:
        """Say whether equivalent runs are merged.

        Not under greedy with a group at the end: there the window of each run cuts off its last form,
        so that runs with different windows have different futures.
        """
        settings = self.settings
        if not settings.techniques.merging or self.search != "breadth_first":
            return False
        return not (settings.strategy.greedy and self.trailing_group)

    def _merged(self, bound: int, closed: int) -> tuple[int, int]:
        """Append the values that runs of a state must agree on; return their range in the merge table."""
        first = len(self.merge_rows)
        if not self.merges and not self.buries:
            return -1, -1
        rows = needed_values(
            self.bounds,
            self.pending,
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
        target = self.state_of(bound | bit, full)
        checks = self._checks(v, extends, bound, closed, self._closed(bound | bit, full))
        full_target, full_checks = -1, (0, 0)
        if variable.group and variable.maximum is not None:
            full_target = self.state_of(bound | bit, full | bit)
            after = self._closed(bound | bit, full | bit)
            # Only what the maximum itself decides: the other checks have been made.
            full_checks = self._checks(v, extends, bound, closed, after, self._closed(bound | bit, full))
        role = self._role(v, extends=extends)
        return [v, int(extends), closes, target, *checks, full_target, *full_checks, role]

    def _checks(
        self, v: int, extends: bool, bound: int, closed: int, closed_after: int, already: int | None = None
    ) -> tuple[int, int]:
        """Append the conditions that binding ``v`` decides; return their range in the check table."""
        bit, first = 1 << v, len(self.check_rows)
        for placed in self.checked:
            after = placed.needs & ~(bound | bit) == 0 and placed.whole & ~closed_after == 0
            before = placed.needs & ~bound == 0 and placed.whole & ~closed == 0
            if not after or (before and not (placed.each | placed.reached) & bit):
                continue
            if already is not None and placed.whole & ~already == 0:
                continue
            if not extends and (placed.lagged | placed.reached) & bit:
                continue  # a group of one element has no element before, and no second one
            new_alone = placed.each == bit and (before or not extends) and not placed.reached & bit
            every = placed.each != 0 and not new_alone
            self.check_rows.append([placed.number, int(every)])
        return first, len(self.check_rows)

    # --- layout -----------------------------------------------------------------------

    def _own_tables(self) -> list[tuple[int, list[list[int]]]]:
        """Return the tables that grow with the states, with room for more."""
        growing = [
            (place, [*rows, [0] * width * (_room(len(rows)) - len(rows))])
            for place, width, rows in self._growing()
        ]
        return [(L.HEAD_NEED_TABLE, self.needs), *growing]

    def _growing(self) -> list[tuple[int, int, list[list[int]]]]:
        """Return the tables that grow with the states: their places in the head, widths and rows."""
        return [
            (L.HEAD_STATE_TABLE, L.STATE_SIZE, self.state_rows),
            (L.HEAD_TRANSITION_TABLE, L.MOVE_SIZE, self.move_rows),
            (L.HEAD_CHECK_TABLE, L.CHECK_SIZE, self.check_rows),
            (L.HEAD_MERGE_TABLE, L.MERGE_SIZE, self.merge_rows),
        ]

    def _needs(self) -> list[list[int]]:
        """Return how many events a match binds of each role, and of all, where order does not tell."""
        masks = [self._role(v, extends=False) | self._role(v, extends=True) for v in range(self.positives)]
        everything = 0
        for mask in masks:
            everything |= mask
        needs = []
        for mask in dict.fromkeys([*masks, everything]):
            mine = [v for v in range(self.positives) if masks[v] & mask == masks[v]]
            apart = any(
                not (self.before[v] >> u & 1 or self.before[u] >> v & 1) for v in mine for u in mine if u < v
            )
            count = sum(self.variables[v].minimum for v in mine)
            if count > 1 and (apart or any(self.variables[v].minimum > 1 for v in mine)):
                needs.append([mask, count])
        return needs

    def sizes(self) -> list[int]:
        """Return the rows of the tables that grow."""
        return [len(rows) for _, _, rows in self._growing()]

    def entries(self) -> int:
        """Return how many numbers the tables that grow have."""
        return sum(width * len(rows) for _, width, rows in self._growing())

    def add_state(self, state: int, program: Array, packed: list[int], written: list[int]) -> bool:
        """Write a new state, and the rows that came with it, into a packed program.

        The program was packed when the tables had the sizes ``packed``, and has their rows up to ``written``.
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
        head = super()._head()
        head[L.HEAD_STRATEGY], head[L.HEAD_MERGES] = _STRATEGY[self.settings.strategy], int(self.merges)
        head[L.HEAD_CANDIDATES], head[L.HEAD_PRUNES] = int(self._tests_windows()), int(self._prunes())
        head[L.HEAD_NEEDS] = len(self.needs)
        head[L.HEAD_STATES] = len(self.state_rows)
        return head


def _room(rows: int) -> int:
    return 2 * rows + 16
