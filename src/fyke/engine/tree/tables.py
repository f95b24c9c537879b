"""An alternative and the shape of its join tree to the integers that the kernel reads ([T] 3.4, 3.5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fyke.engine.candidates.candidates import Candidates
from fyke.engine.candidates.keys import ALL_ROWS, KeyColumn, Keys
from fyke.engine.conditions.comparison import EQUAL, Comparison, cheapest_first, comparison_of
from fyke.engine.conditions.program import Program
from fyke.engine.kernels import layout as L
from fyke.engine.kernels.arrays import Array
from fyke.engine.kernels.tree import layout as T
from fyke.logical.normal_form import Alternative, Condition
from fyke.plan.early_absences import may_be_one
from fyke.plan.tree_shape import Shape, is_left_first, last_variable, leaves


@dataclass(frozen=True, slots=True)
class JoinComparison:
    """A condition that compares attributes of two single variables, the left and the right of ``names``."""

    condition: int
    compared: Comparison
    names: tuple[str, str]

    def flipped(self) -> JoinComparison:
        """Return the same comparison with its sides exchanged."""
        return JoinComparison(self.condition, self.compared.flipped(), (self.names[1], self.names[0]))


@dataclass(frozen=True, slots=True)
class TreeOptions:
    """How a tree runs: ``pull`` or push, the leaf that conditions are passed down to, whether it looks ahead.

    ``mixed``: events of several partitions are read together; ``chunk``: rows between two pauses.
    """

    pull: bool
    pass_down: str | None
    candidate_windows: bool
    strict: bool
    points: bool
    mixed: bool
    chunk: int


def joined_by(program: Program, condition: int) -> JoinComparison | None:
    """Return a condition as a comparison of two single variables' attributes, if it is one."""
    compared = comparison_of(program.code[condition])
    if compared is None:
        return None
    u, v = (program.everything[side.variable] for side in (compared.left, compared.right))
    if u.group or v.group or u.name == v.name:
        return None
    return JoinComparison(condition, compared, (u.name, v.name))


class TreeTables:
    """The tables of one tree, filled node by node: children before their parents."""

    def __init__(
        self,
        alternative: Alternative,
        program: Program,
        shape: Shape,
        candidates: Candidates,
        keys: Keys,
        options: TreeOptions,
    ) -> None:
        self.alternative, self.program, self.options = alternative, program, options
        self.candidates, self.keys = candidates, keys
        self.names = [variable.name for variable in alternative.variables]
        self.variables = {variable.name: variable for variable in alternative.variables}
        self.order = frozenset(
            (u, v) for u, v in alternative.order if u in self.variables and v in self.variables
        )
        self.chain = len(self.order) == len(self.names) * (len(self.names) - 1) // 2
        self.last = last_variable(self.names, self.order)
        self.nodes: list[list[int]] = []
        self.columns: list[list[str]] = []
        self.leaf_of: dict[str, int] = {}
        self.vars: list[list[int]] = []
        self.pairs: list[list[int]] = []
        self.apart: list[list[int]] = []
        self.comparisons: list[list[int]] = []
        self.tests: list[list[int]] = []
        self.needs: list[list[int]] = []
        self.key_rows: list[list[int]] = []
        self.ops: list[list[int]] = []
        self.root = self._add(shape)
        if options.pass_down is not None:
            self._pass_down(shape, options.pass_down)
        self._operate(shape)
        self.ops.append([T.EMIT, self.root, 0])

    # --- nodes ------------------------------------------------------------------------

    def _add(self, shape: Shape) -> int:
        if isinstance(shape, str):
            return self._leaf(shape)
        left, right = self._add(shape[0]), self._add(shape[1])
        return self._inner(left, right)

    def _leaf(self, name: str) -> int:
        variable, node = self.variables[name], [0] * T.NODE_SIZE
        number = self.leaf_of[name] = len(self.nodes)
        role = self.program.roles[name]
        node[T.NODE_LEFT] = node[T.NODE_RIGHT] = -1
        node[T.NODE_WIDTH] = T.LIST_SIZE if variable.group else T.ROW_SIZE + 1
        node[T.NODE_VARIABLE], node[T.NODE_GROUP] = self.program.number[name], int(variable.group)
        node[T.NODE_MINIMUM] = variable.minimum
        node[T.NODE_MAXIMUM] = L.UNBOUNDED if variable.maximum is None else variable.maximum
        node[T.NODE_ROLE], node[T.NODE_CANDIDATES] = self.candidates.rows[role], self.candidates.starts[role]
        node[T.NODE_ADJACENT] = int(self.options.strict and self.chain)
        own = [k for k, each in enumerate(self.alternative.conditions) if each.variables == {name}]
        closing = [k for k in own if name in self.alternative.conditions[k].whole]
        node[T.NODE_TESTS : T.NODE_TESTS + 2] = self._tests([k for k in own if k not in closing])
        node[T.NODE_CLOSE : T.NODE_CLOSE + 2] = self._tests(closing)
        node[T.NODE_NEEDS : T.NODE_NEEDS + 2] = self._needs(name)
        self.columns.append([name])
        node[T.NODE_VARS : T.NODE_VARS + 2] = self._list([name])
        self.nodes.append(node)
        return number

    def _needs(self, name: str) -> list[int]:
        """Return what an event needs in its window, before it ([T] 4.2) and, looking ahead, after it."""
        first = len(self.needs)
        for other in self.names:
            behind = (name, other) in self.order
            if (other, name) in self.order or (behind and self.options.candidate_windows):
                role = self.candidates.rows[self.program.roles[other]]
                self.needs.append([role, self.variables[other].minimum, int(behind)])
        return [first, len(self.needs)]

    def _list(self, names: Sequence[str]) -> list[int]:
        first = len(self.vars)
        for name in names:
            leaf = self.leaf_of[name] if self.variables[name].group else -1
            self.vars.append([self.program.number[name], leaf])
        return [first, len(self.vars)]

    def _inner(self, left: int, right: int) -> int:
        node, (u, v) = [0] * T.NODE_SIZE, (self.columns[left], self.columns[right])
        node[T.NODE_LEFT], node[T.NODE_RIGHT] = left, right
        node[T.NODE_WIDTH] = T.ROW_SIZE + len(u) + len(v)
        self.columns.append([*u, *v])
        node[T.NODE_VARS : T.NODE_VARS + 2] = self._list([*u, *v])
        sequence = all((x, y) in self.order for x in u for y in v)
        node[T.NODE_LEFT_FIRST], node[T.NODE_SEQUENCE] = int(is_left_first(u, v, self.order)), int(sequence)
        node[T.NODE_ADJACENT] = int(self.options.strict and sequence and self._side_by_side(u, v))
        node[T.NODE_PAIRS : T.NODE_PAIRS + 2] = self._order_pairs(u, v)
        node[T.NODE_APART : T.NODE_APART + 2] = self._apart_pairs(u, v)
        crossing = [k for k, each in enumerate(self.alternative.conditions) if _crosses(each, u, v)]
        compared, others = self._told_apart(crossing, u)
        compared.sort(key=lambda each: cheapest_first(each.compared.operator))
        node[T.NODE_COMPARISONS : T.NODE_COMPARISONS + 2] = self._compare(compared, u, v)
        node[T.NODE_TESTS : T.NODE_TESTS + 2] = self._tests(others)
        equal = [each for each in compared if each.compared.operator == EQUAL]
        node[T.NODE_HASHED] = len(equal)
        self._hash_children(left, right, equal)
        self.nodes.append(node)
        return len(self.nodes) - 1

    def _side_by_side(self, u: Sequence[str], v: Sequence[str]) -> bool:
        """Say whether the right side must directly follow the left one in a match without gaps."""
        between = [
            w
            for w in self.names
            if w not in u and w not in v and self._after_any(w, u) and self._before_any(w, v)
        ]
        return self.chain and not between

    def _after_any(self, name: str, others: Sequence[str]) -> bool:
        return any((other, name) in self.order for other in others)

    def _before_any(self, name: str, others: Sequence[str]) -> bool:
        return any((name, other) in self.order for other in others)

    def _order_pairs(self, u: Sequence[str], v: Sequence[str]) -> list[int]:
        first, inside = len(self.pairs), {*u, *v}
        for i, x in enumerate(u):
            for j, y in enumerate(v):
                for forward, pair in ((1, (x, y)), (0, (y, x))):
                    implied = any((pair[0], z) in self.order and (z, pair[1]) in self.order for z in inside)
                    if pair in self.order and not implied:
                        self.pairs.append([i, j, forward])
        return [first, len(self.pairs)]

    def _apart_pairs(self, u: Sequence[str], v: Sequence[str]) -> list[int]:
        first = len(self.apart)
        for i, x in enumerate(u):
            for j, y in enumerate(v):
                ordered = (x, y) in self.order or (y, x) in self.order
                if not ordered and may_be_one(self.variables[x], self.variables[y]):
                    self.apart.append([i, j, 0])
        return [first, len(self.apart)]

    def _told_apart(
        self, conditions: Sequence[int], left: Sequence[str]
    ) -> tuple[list[JoinComparison], list[int]]:
        """Return the conditions that compare two single variables, that of ``left`` first, and the rest."""
        found = [(k, joined_by(self.program, k)) for k in conditions]
        sided = [each if each.names[0] in left else each.flipped() for _, each in found if each is not None]
        return sided, [k for k, each in found if each is None]

    def _keys(self, store: str, column: int) -> int:
        return self.keys.place(KeyColumn(ALL_ROWS, store, column))

    def _compare(
        self, comparisons: Sequence[JoinComparison], u: Sequence[str], v: Sequence[str]
    ) -> list[int]:
        first = len(self.comparisons)
        for each in comparisons:
            compared = each.compared
            self.comparisons.append(
                [
                    T.ROW_SIZE + u.index(each.names[0]),
                    self._keys(compared.store, compared.left.column),
                    T.ROW_SIZE + v.index(each.names[1]),
                    self._keys(compared.store, compared.right.column),
                    compared.operator,
                    each.condition,
                ]
            )
        return [first, len(self.comparisons)]

    def _hash_children(self, left: int, right: int, equal: Sequence[JoinComparison]) -> None:
        for side, operands in (
            (left, [(each.names[0], each.compared.left, each.compared.store) for each in equal]),
            (right, [(each.names[1], each.compared.right, each.compared.store) for each in equal]),
        ):
            first = len(self.key_rows)
            for name, operand, store in operands:
                place = T.ROW_SIZE + self.columns[side].index(name)
                self.key_rows.append([place, self._keys(store, operand.column)])
            self.nodes[side][T.NODE_KEY : T.NODE_KEY + 2] = [first, len(self.key_rows)]

    def _tests(self, conditions: Sequence[int]) -> list[int]:
        """Append conditions, those on one event and cheap ones first."""
        first = len(self.tests)
        rows = []
        for k in conditions:
            groups = any(self.variables[name].group for name in self.alternative.conditions[k].variables)
            rows.append([k, int(groups)])
        self.tests += sorted(rows, key=lambda row: (row[1], len(self.program.code[row[0]])))
        return [first, len(self.tests)]

    # --- operations -------------------------------------------------------------------

    def _pass_down(self, shape: Shape, name: str) -> None:
        """Make the path from a leaf to the right-most path transient; compare the leaf with the trigger."""
        while not isinstance(shape, str) and name in leaves(shape[1]):
            shape = shape[1]
        assert not isinstance(shape, str)
        assert self.last is not None
        leaf = self.nodes[self.leaf_of[name]]
        between = [
            k for k, each in enumerate(self.alternative.conditions) if each.variables == {name, self.last}
        ]
        compared, others = self._told_apart(between, [name])
        leaf[T.NODE_PASSED : T.NODE_PASSED + 2] = self._compare(compared, [name], [self.last])
        leaf[T.NODE_PASSED_TESTS : T.NODE_PASSED_TESTS + 2] = self._tests(others)
        for number, columns in enumerate(self.columns):
            if name in columns and set(columns) <= set(leaves(shape[0])):
                self.nodes[number][T.NODE_TRANSIENT] = 1
                self.ops.append([T.CLEAR, number, 0])

    def _operate(self, shape: Shape) -> int:
        """Append the operations that evaluate a shape; return its node."""
        if isinstance(shape, str):
            self.ops.append([T.LEAF, self.leaf_of[shape], 0])
            return self.leaf_of[shape]
        node = next(k for k, names in enumerate(self.columns) if names == leaves(shape))
        if self.options.pull:
            self._operate(shape[1])
            check = [T.CHECK, node, 0]
            self.ops.append(check)
            self._operate(shape[0])
            self.ops.append([T.JOIN, node, 0])
            check[T.OP_JUMP] = len(self.ops)
        else:
            self._operate(shape[0])
            self._operate(shape[1])
            self.ops.append([T.JOIN, node, 0])
        return node

    def _triggers(self) -> int:
        """Return the roles whose events start a pass: all, or those that can end a match."""
        ending = [name for name in self.names if not self._before_any(name, self.names)]
        names = ending if self.options.pull else self.names
        return sum({1 << self.program.roles[name] for name in names})

    def pack(self) -> Array:
        """Return the tree as one array."""
        head = [0] * T.TREE_SIZE
        head[T.TREE_NODES], head[T.TREE_ROOT] = len(self.nodes), self.root
        head[T.TREE_TRIGGERS], head[T.TREE_POINTS] = self._triggers(), int(self.options.points)
        head[T.TREE_CHUNK], head[T.TREE_MIXED] = self.options.chunk, int(self.options.mixed)
        if self.options.strict:
            most = [L.UNBOUNDED if v.maximum is None else v.maximum for v in self.alternative.variables]
            head[T.TREE_STRICT] = min(sum(most), L.UNBOUNDED)
        single = self.last is not None and not self.variables[self.last].group
        head[T.TREE_LAST] = self.leaf_of[self.last] if single and self.last is not None else -1
        body: list[int] = []
        tables: Mapping[int, Sequence[Sequence[int]]] = {
            T.TREE_TABLE: self.nodes,
            T.TREE_VARIABLES: self.vars,
            T.TREE_PAIRS: self.pairs,
            T.TREE_APART: self.apart,
            T.TREE_COMPARISONS: self.comparisons,
            T.TREE_TESTS: self.tests,
            T.TREE_NEEDS: self.needs,
            T.TREE_KEYS: self.key_rows,
            T.TREE_OPS: self.ops,
        }
        for place, rows in tables.items():
            head[place] = T.TREE_SIZE + len(body)
            for row in rows:
                body.extend(row)
        head[T.TREE_OPS_END] = T.TREE_SIZE + len(body)
        return np.array([*head, *body, 0], np.int64)


def _crosses(condition: Condition, left: Sequence[str], right: Sequence[str]) -> bool:
    """Say whether a condition fits under a node and crosses it ([T] 3.5.4)."""
    names = condition.variables
    return names <= {*left, *right} and not names <= set(left) and not names <= set(right)
