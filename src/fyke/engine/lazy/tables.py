"""Steps and events to the arrays of the lazy kernel: candidates, keys, indexes, the plan as integers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from fyke.engine.kernels import layout as L
from fyke.engine.kernels.arrays import Array, Data
from fyke.engine.kernels.candidates.candidates import gather_floats, gather_integers, list_candidates
from fyke.engine.kernels.candidates.reach import measure_reach
from fyke.engine.kernels.lazy import layout as Z
from fyke.engine.lazy.steps import Column, Fast, Lack, Node, Several, Step, Test

_INDEX_FROM = 64  # candidates in a window from which on building an index of an equality pays


@dataclass(slots=True)
class Candidates:
    """The rows that can play each role, sorted: what all alternatives share.

    ``starts`` says where the candidates of a role bit begin in ``positions``; row k of ``ranks`` is how
    many of them are in front of each row.
    """

    data: Data
    starts: dict[int, int]
    rows: dict[int, int]
    positions: Array
    ranks: Array
    counts: dict[int, int]

    def of(self, role: int) -> Array:
        """Return the candidates of a role."""
        begin = self.starts[role]
        return self.positions[begin : begin + self.counts[role]]


def find_candidates(data: Data, roles: Iterable[int]) -> Candidates:
    """Return the candidates of roles."""
    bits = np.array(list(dict.fromkeys(roles)) or [0], np.int64)
    events = data.events[L.EVENT_ROLES]
    ranks, positions = (np.empty((len(bits), len(events) + 1), np.int64) for _ in range(2))
    counts = np.zeros(len(bits), np.int64)
    list_candidates(events, bits, ranks, positions, counts)
    numbered = dict(enumerate(bits.tolist()))
    return Candidates(
        data,
        {bit: row * (len(events) + 1) for row, bit in numbered.items()},
        {bit: row for row, bit in numbered.items()},
        positions.reshape(-1),
        ranks,
        {bit: int(counts[row]) for row, bit in numbered.items()},
    )


def find_reach(data: Data, segments: Array, kind: int, window: int, points: bool) -> tuple[Array, bool]:
    """Return how far every row reaches (``kernels/candidates/reach.py``), and whether none are tied."""
    rows = data.events.shape[1]
    ranks = data.events[L.EVENT_LOW]
    distinct = bool(points and rows > 0 and ranks[-1] - ranks[0] == rows - 1)  # they number runs of ties
    reach = np.empty((L.REACH_SIZE, rows + 1), np.int64)
    scratch = np.zeros((2, 1 if points else rows), np.int64)
    measure_reach(data.events, segments, kind, window, points, distinct, scratch, reach)
    return reach, distinct


@dataclass(slots=True)
class Keys:
    """Attributes of candidates as integers that compare as the attributes do; null is the smallest."""

    candidates: Candidates
    window_share: float
    places: dict[Column, int] = field(default_factory=dict)
    length: int = 0
    integers: list[Array] = field(default_factory=list)
    index_parts: list[Array] = field(default_factory=list)
    index_length: int = 0
    heads: dict[tuple[Column, Column], int] = field(default_factory=dict)
    head_rows: list[list[int]] = field(default_factory=list)

    def place(self, column: Column) -> int:
        """Return where the keys of a role's candidates begin."""
        if column not in self.places:
            self.places[column] = self.length
            self.length += self.candidates.counts[column[0]]
        return self.places[column]

    def of(self, column: Column) -> Array:
        """Return the keys of a role's candidates."""
        keys = np.empty(self.candidates.counts[column[0]], np.int64)
        self._gather(column, keys)
        return keys

    def _gather(self, column: Column, keys: Array) -> None:
        role, store, number = column
        data, positions = self.candidates.data, self.candidates.of(role)
        if store == "f":
            gather_floats(data.cols_f[number], data.valid_f[number], positions, L.NULL_KEY, keys)
        else:
            gather_integers(self._integers()[number], data.valid_i[number], positions, L.NULL_KEY, keys)

    def _integers(self) -> Array:
        """Return the integer columns, as ranks if the smallest integer, which stands for null, is a value."""
        if not self.integers:
            columns = self.candidates.data.cols_i
            if columns.size and int(columns.min()) == L.NULL_KEY:
                columns = np.unique(columns, return_inverse=True)[1].reshape(columns.shape).astype(np.int64)
            self.integers = [columns]
        return self.integers[0]

    def index(self, fast: Fast) -> int:
        """Return the index of an equality, -1 where windows hold so few candidates that none pays."""
        in_window = self.candidates.counts[fast.new[0]] * self.window_share
        if fast.operator != 0 or in_window < _INDEX_FROM:
            return -1
        key = (fast.new, fast.old)
        if key not in self.heads:
            self.heads[key] = len(self.head_rows)
            self.head_rows.append(self._build_index(self.of(fast.new), self.of(fast.old)))
        return self.heads[key]

    def _build_index(self, new: Array, old: Array) -> list[int]:
        values, codes = np.unique(new, return_inverse=True)
        sought = np.searchsorted(values, old) if len(values) else np.zeros(len(old), np.int64)
        found = np.minimum(sought, max(0, len(values) - 1))
        matching = values[found] == old if len(values) else np.zeros(len(old), bool)
        starts = np.concatenate(([0], np.cumsum(np.bincount(codes, minlength=len(values)))))
        places = np.argsort(codes, kind="stable")
        row = []
        for part in (np.where(matching, found, -1), starts, places):
            row.append(self.index_length)
            self.index_parts.append(np.asarray(part, np.int64))
            self.index_length += len(part)
        return row

    def arrays(self) -> tuple[Array, Array, Array]:
        """Return all keys, all index entries, and the heads of the indexes."""
        keys = np.empty(self.length + 1, np.int64)
        for column, place in self.places.items():
            self._gather(column, keys[place : place + self.candidates.counts[column[0]]])
        heads = np.array(self.head_rows or [[0] * Z.INDEX_SIZE], np.int64)
        return keys, np.concatenate([*self.index_parts, np.zeros(1, np.int64)]), heads


class PlanTables:
    """Lays steps out as the integers the kernel reads."""

    def __init__(self, candidates: Candidates, keys: Keys, *, points: bool, distinct: bool) -> None:
        self.candidates, self.keys, self.points, self.distinct = candidates, keys, points, distinct
        self.steps: list[list[int]] = []
        self.lists: list[int] = []
        self.fast: list[list[int]] = []
        self.tests: list[list[int]] = []
        self.lacks: list[list[int]] = []
        self.several: list[list[int]] = []
        self.children: list[int] = []
        self.accepts: list[int] = []
        self.choices: list[list[int]] = []
        self.roots = 0
        self.most_fast = 1

    def add_chains(self, roots: Sequence[Node]) -> None:
        """Lay out the steps of shared chains; the first children are the roots."""
        self.children = [0] * len(roots)
        self.roots = len(roots)
        waiting: list[tuple[Node, int, int | None]] = [
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
        row[Z.STEP_COMPARISONS : Z.STEP_COMPARISONS + 2] = self._fast(step.fast)
        row[Z.STEP_CHECKS : Z.STEP_CHECKS + 2] = self._tests(step.tests)
        row[Z.STEP_CLOSE : Z.STEP_CLOSE + 2] = self._tests(step.close)
        row[Z.STEP_SINGLE_ABSENCES : Z.STEP_SINGLE_ABSENCES + 2] = self._lacks(step.lacks)
        row[Z.STEP_JOINT_ABSENCES : Z.STEP_JOINT_ABSENCES + 2] = self._several(step.several)
        row[Z.STEP_BIT] = step.bit
        row[Z.STEP_COUPLED], row[Z.STEP_NEXT_GROUP] = int(step.coupled), -1
        row[Z.STEP_FIRST_GROUP] = len(self.steps)
        row[Z.STEP_PLAIN] = int(step.plain and self.points)
        self.steps.append(row)
        return row

    def _link(self, row: list[int], head: int) -> None:
        """Let the step of a group, the last one laid out, be the next behind those from ``head`` on."""
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

    def _fast(self, comparisons: Sequence[Fast], *, indexed: bool = True) -> list[int]:
        first = len(self.fast)
        self.most_fast = max(self.most_fast, len(comparisons))
        for each in comparisons:
            places = [self.keys.place(each.new), each.other, self.keys.place(each.old)]
            index = self.keys.index(each) if indexed else -1
            self.fast.append([*places, each.operator, int(each.lagged), index])
        return [first, len(self.fast)]

    def _tests(self, tests: Sequence[Test]) -> list[int]:
        first = len(self.tests)
        self.tests += [[each.condition, each.mode, each.needs] for each in tests]
        return [first, len(self.tests)]

    def _lacks(self, lacks: Sequence[Lack]) -> list[int]:
        first = len(self.lacks)
        for lack in lacks:
            role = [self.candidates.rows[lack.role], self.candidates.starts[lack.role]]
            lists = [*self._list(lack.before), *self._list(lack.after)]
            conditions = [*self._fast(lack.fast, indexed=False), *self._tests(lack.tests)]
            self.lacks.append([lack.variable, *role, *lists, *conditions, lack.needs])
        return [first, len(self.lacks)]

    def _several(self, several: Sequence[Several]) -> list[int]:
        first = len(self.several)
        for each in several:
            numbers = self._list(each.numbers)[0]
            self.several.append([each.arena, each.absence, numbers, each.needs])
        return [first, len(self.several)]

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
            (Z.PLAN_COMPARISONS, self.fast),
            (Z.PLAN_CHECKS, self.tests),
            (Z.PLAN_SINGLE_ABSENCES, self.lacks),
            (Z.PLAN_JOINT_ABSENCES, self.several),
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
