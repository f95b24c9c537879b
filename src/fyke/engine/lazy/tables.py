"""Steps to the arrays of the lazy kernel: indexes of equalities, the plan as integers."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import numpy as np

from fyke.engine.candidates.keys import KeyColumn, Keys
from fyke.engine.conditions.comparison import EQUAL
from fyke.engine.kernels.arrays import Array
from fyke.engine.kernels.lazy import layout as Z
from fyke.engine.lazy.steps import AbsentEvent, AbsentEvents, ConditionTest, KeyComparison, Step, StepNode

_INDEX_FROM = 64  # with at least this many candidates in a window, an index of an equality pays


@dataclass(slots=True)
class Indexes:
    """Indexes of equalities: the candidates of a variable by the keys of a column.

    ``window_share`` is the share of the stream that a window holds: few candidates are not worth an index.
    """

    keys: Keys
    window_share: float
    heads: dict[tuple[KeyColumn, KeyColumn], int] = field(default_factory=dict)
    _rows: list[list[int]] = field(default_factory=list)
    _entries: list[Array] = field(default_factory=list)
    _length: int = 0

    def of(self, compared: KeyComparison) -> int:
        """Return the index of an equality, or -1 if windows hold too few candidates for one to pay."""
        in_window = self.keys.candidates.counts[compared.new.role] * self.window_share
        if compared.operator != EQUAL or in_window < _INDEX_FROM:
            return -1
        key = (compared.new, compared.old)
        if key not in self.heads:
            self.heads[key] = len(self._rows)
            self._rows.append(self._build(self.keys.of(compared.new), self.keys.of(compared.old)))
        return self.heads[key]

    def _build(self, new: Array, old: Array) -> list[int]:
        values, codes = np.unique(new, return_inverse=True)
        sought = np.searchsorted(values, old) if len(values) else np.zeros(len(old), np.int64)
        found = np.minimum(sought, max(0, len(values) - 1))
        matching = values[found] == old if len(values) else np.zeros(len(old), bool)
        starts = np.concatenate(([0], np.cumsum(np.bincount(codes, minlength=len(values)))))
        places = np.argsort(codes, kind="stable")
        row = []
        for part in (np.where(matching, found, -1), starts, places):
            row.append(self._length)
            self._entries.append(np.asarray(part, np.int64))
            self._length += len(part)
        return row

    def arrays(self) -> tuple[Array, Array]:
        """Return all entries, and the heads of the indexes."""
        heads = np.array(self._rows or [[0] * Z.INDEX_SIZE], np.int64)
        return np.concatenate([*self._entries, np.zeros(1, np.int64)]), heads


class PlanTables:
    """Lays steps out as the integers the kernel reads."""

    def __init__(self, indexes: Indexes, *, points: bool, distinct: bool) -> None:
        self.indexes, self.keys, self.candidates = indexes, indexes.keys, indexes.keys.candidates
        self.points, self.distinct = points, distinct
        self.steps: list[list[int]] = []
        self.lists: list[int] = []
        self.comparisons: list[list[int]] = []
        self.tests: list[list[int]] = []
        self.absent: list[list[int]] = []
        self.absent_together: list[list[int]] = []
        self.children: list[int] = []
        self.accepts: list[int] = []
        self.choices: list[list[int]] = []
        self.roots = 0
        self.most_comparisons = 1

    def add_chains(self, roots: Sequence[StepNode]) -> None:
        """Lay out the steps of shared chains; the first children are the roots."""
        self.children = [0] * len(roots)
        self.roots = len(roots)
        waiting: list[tuple[StepNode, int, int | None]] = [
            (node, place, None) for place, node in enumerate(roots)
        ]
        while waiting:
            node, place, parent = waiting.pop()
            number = self.children[place] = len(self.steps)
            row = self._step(node.step)
            first = len(self.children)
            self.children += [0] * len(node.children)
            waiting += [(child, first + k, number) for k, child in enumerate(node.children)]
            row[Z.STEP_CHILDREN], row[Z.STEP_CHILDREN_END] = first, first + len(node.children)
            row[Z.STEP_ACCEPT] = len(self.accepts)
            self.accepts += node.accepts
            row[Z.STEP_ACCEPT_END] = len(self.accepts)
            if parent is not None and node.step.group and self.steps[parent][Z.STEP_GROUP]:
                self._link(row, self.steps[parent][Z.STEP_FIRST_GROUP])
            row[Z.STEP_LEAF] = int(row[Z.STEP_PLAIN] and not node.children and len(node.accepts) == 1)

    def add_tree(self, number: int, steps: Sequence[Step]) -> None:
        """Lay out the steps of an alternative whose order is open."""
        first, head = len(self.steps), -1
        for step in steps:
            row = self._step(step)
            row[Z.STEP_ALTERNATIVE] = len(self.choices)
            if step.group:
                head = head if head >= 0 else len(self.steps) - 1
                self._link(row, head)
        singles = sum(step.bit for step in steps if not step.group)
        everything = sum(step.bit for step in steps)
        self.choices.append([first, len(self.steps), everything, singles, number])
        self.roots = len(self.choices)

    def _step(self, step: Step) -> list[int]:
        row = [0] * Z.STEP_SIZE
        row[Z.STEP_VARIABLE], row[Z.STEP_GROUP] = step.variable, int(step.group)
        row[Z.STEP_ROLE] = self.candidates.rows[step.role]
        row[Z.STEP_CANDIDATES] = self.candidates.starts[step.role]
        row[Z.STEP_MINIMUM], row[Z.STEP_MAXIMUM] = step.minimum, step.maximum
        row[Z.STEP_BEFORE : Z.STEP_BEFORE + 2] = self._list(step.before)
        row[Z.STEP_AFTER : Z.STEP_AFTER + 2] = self._list(step.after)
        row[Z.STEP_SAME] = int(step.same)
        row[Z.STEP_COMPARISONS : Z.STEP_COMPARISONS + 2] = self._compare(step.comparisons)
        row[Z.STEP_CHECKS : Z.STEP_CHECKS + 2] = self._tests(step.tests)
        row[Z.STEP_CLOSE : Z.STEP_CLOSE + 2] = self._tests(step.close)
        row[Z.STEP_SINGLE_ABSENCES : Z.STEP_SINGLE_ABSENCES + 2] = self._absent(step.absent)
        row[Z.STEP_JOINT_ABSENCES : Z.STEP_JOINT_ABSENCES + 2] = self._absent_together(step.absent_together)
        row[Z.STEP_BIT] = step.bit
        row[Z.STEP_COUPLED], row[Z.STEP_NEXT_GROUP] = int(step.coupled), -1
        row[Z.STEP_FIRST_GROUP] = len(self.steps)
        row[Z.STEP_PLAIN] = int(step.plain and self.points)
        self.steps.append(row)
        return row

    def _link(self, row: list[int], head: int) -> None:
        """Link the step of a group, the last one laid out, after the steps from ``head`` on."""
        place = len(self.steps) - 1
        row[Z.STEP_FIRST_GROUP] = head
        last = head
        while last != place and self.steps[last][Z.STEP_NEXT_GROUP] >= 0:
            last = self.steps[last][Z.STEP_NEXT_GROUP]
        if last != place:
            self.steps[last][Z.STEP_NEXT_GROUP] = place

    def _list(self, variables: Sequence[int]) -> list[int]:
        first = len(self.lists)
        self.lists += variables
        return [first, len(self.lists)]

    def _compare(self, comparisons: Sequence[KeyComparison], *, indexed: bool = True) -> list[int]:
        first = len(self.comparisons)
        self.most_comparisons = max(self.most_comparisons, len(comparisons))
        for each in comparisons:
            places = [self.keys.place(each.new), each.other, self.keys.place(each.old)]
            index = self.indexes.of(each) if indexed else -1
            self.comparisons.append([*places, each.operator, int(each.lagged), index])
        return [first, len(self.comparisons)]

    def _tests(self, tests: Sequence[ConditionTest]) -> list[int]:
        first = len(self.tests)
        self.tests += [[each.condition, each.mode, each.needs] for each in tests]
        return [first, len(self.tests)]

    def _absent(self, absences: Sequence[AbsentEvent]) -> list[int]:
        first = len(self.absent)
        for each in absences:
            role = [self.candidates.rows[each.role], self.candidates.starts[each.role]]
            lists = [*self._list(each.before), *self._list(each.after)]
            conditions = [*self._compare(each.comparisons, indexed=False), *self._tests(each.tests)]
            self.absent.append([each.variable, *role, *lists, *conditions, each.needs])
        return [first, len(self.absent)]

    def _absent_together(self, absences: Sequence[AbsentEvents]) -> list[int]:
        first = len(self.absent_together)
        for each in absences:
            numbers = self._list(each.numbers)[0]
            self.absent_together.append([each.arena, each.absence, numbers, each.needs])
        return [first, len(self.absent_together)]

    def anchor_groups(self, heads: Collection[int]) -> None:
        """Let the first elements of groups bound their windows, for the variables in ``heads``."""
        for row in self.steps:
            row[Z.STEP_ANCHOR] = int(row[Z.STEP_GROUP] and row[Z.STEP_VARIABLE] in heads)

    def pack(
        self,
        *,
        count_only: bool,
        accumulates: bool,
        slice_windows: int,
        subsets: bool = False,
        tallies: Sequence[Sequence[int]] = (),
    ) -> Array:
        """Return the plan as one array."""
        head = [0] * Z.PLAN_SIZE
        head[Z.PLAN_SUBSETS], head[Z.PLAN_TALLY_COUNT] = int(subsets), len(tallies)
        head[Z.PLAN_ROOTS], head[Z.PLAN_POINTS] = self.roots, int(self.points)
        head[Z.PLAN_DISTINCT] = int(self.distinct)
        head[Z.PLAN_TREE] = int(bool(self.choices))
        head[Z.PLAN_COUNT_ONLY], head[Z.PLAN_ACCUMULATES] = int(count_only), int(accumulates)
        head[Z.PLAN_SLICE] = slice_windows
        body: list[int] = []
        tables: list[tuple[int, Sequence[Sequence[int]]]] = [
            (Z.PLAN_STEPS, self.steps),
            (Z.PLAN_LIST, [self.lists]),
            (Z.PLAN_COMPARISONS, self.comparisons),
            (Z.PLAN_CHECKS, self.tests),
            (Z.PLAN_SINGLE_ABSENCES, self.absent),
            (Z.PLAN_JOINT_ABSENCES, self.absent_together),
            (Z.PLAN_CHILDREN, [self.children]),
            (Z.PLAN_ACCEPT, [self.accepts]),
            (Z.PLAN_ALTERNATIVES, self.choices),
            (Z.PLAN_TALLIES, tallies),
        ]
        for place, rows in tables:
            head[place] = Z.PLAN_SIZE + len(body)
            for row in rows:
                body.extend(row)
        return np.array([*head, *body, 0], np.int64)
