"""An alternative and the shape of its join tree to the integers the kernel reads ([T] 3.4, 3.5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from fyke.engine.conditions.program import Program
from fyke.engine.kernels import layout as L
from fyke.engine.kernels.arrays import Array, Data
from fyke.engine.kernels.candidates.candidates import gather_floats, gather_integers
from fyke.engine.kernels.tree import layout as T
from fyke.engine.lazy.tables import Candidates
from fyke.logical.normal_form import Alternative, Condition
from fyke.plan.early_absences import may_be_one
from fyke.plan.tree_shape import Shape, is_left_first, last_variable, leaves

_FLIPPED = {0: 0, 1: 1, 2: 4, 3: 5, 4: 2, 5: 3}


@dataclass(slots=True)
class RowKeys:
    """Attributes of all rows as integers that compare as the attributes do; null is the smallest."""

    data: Data
    places: dict[tuple[str, int], int] = field(default_factory=dict)
    parts: list[Array] = field(default_factory=list)
    integers: Array | None = None
    joined: Array | None = None

    def place(self, store: str, column: int) -> int:
        """Return where the keys of a column begin."""
        rows = self.data.events.shape[1]
        if (store, column) not in self.places:
            self.places[store, column] = rows * len(self.parts)
            keys, everything = np.empty(rows, np.int64), np.arange(rows)
            if store == "f":
                gather_floats(
                    self.data.cols_f[column], self.data.valid_f[column], everything, L.NULL_KEY, keys
                )
            else:
                gather_integers(
                    self._integers()[column], self.data.valid_i[column], everything, L.NULL_KEY, keys
                )
            self.parts.append(keys)
            self.joined = None
        return self.places[store, column]

    def _integers(self) -> Array:
        """Return the integer columns, as ranks if the smallest integer, which stands for null, is a value."""
        if self.integers is None:
            columns = self.data.cols_i
            if columns.size and int(columns.min()) == L.NULL_KEY:
                columns = np.unique(columns, return_inverse=True)[1].reshape(columns.shape).astype(np.int64)
            self.integers = columns
        return self.integers

    def array(self) -> Array:
        """Return all keys."""
        if self.joined is None:
            self.joined = np.concatenate([*self.parts, np.zeros(1, np.int64)])
        return self.joined


@dataclass(frozen=True, slots=True)
class Quick:
    """A comparison ``left operator right`` of an attribute of two single variables."""

    condition: int
    store: str
    left: str
    left_column: int
    right: str
    right_column: int
    operator: int

    def turned(self) -> Quick:
        """Return the same comparison with its sides exchanged."""
        return Quick(
            self.condition, self.store, self.right, self.right_column, self.left, self.left_column,
            _FLIPPED[self.operator],
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class TreeOptions:
    """How a tree is run: ``pull`` or push, the leaf that conditions are passed down to, forward looks.

    ``mixed``: events of several partitions are read together; ``chunk``: rows between two pauses.
    """

    pull: bool
    pass_down: str | None
    candidate_windows: bool
    strict: bool
    points: bool
    mixed: bool
    chunk: int


def quick_of(program: Program, condition: int) -> Quick | None:
    """Return a condition as a comparison of two single variables' attributes, if it is one."""
    code = program.code[condition]
    if len(code) != 1 or code[0][0] not in (L.COMPARE_LOADS_I, L.COMPARE_LOADS_F):
        return None
    store = "i" if code[0][0] == L.COMPARE_LOADS_I else "f"
    _, left, left_slot, right, right_slot, operator = code[0]
    u, v = program.everything[left_slot // 4], program.everything[right_slot // 4]
    if u.group or v.group or u.name == v.name:
        return None
    return Quick(condition, store, u.name, left, v.name, right, operator)


class TreeTables:
    """The tables of one tree, filled node by node: children before their parents."""

    def __init__(
        self,
        alternative: Alternative,
        program: Program,
        shape: Shape,
        candidates: Candidates,
        keys: RowKeys,
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
        self.quick: list[list[int]] = []
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
        """Return what must be in one window with an event: before it ([T] 4.2), and looking ahead behind."""
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
        quick = [(k, quick_of(self.program, k)) for k in crossing]
        fast = [self._sided(each, u) for _, each in quick if each is not None]
        fast.sort(key=lambda each: (each.operator != 0, each.operator == 1))
        node[T.NODE_COMPARISONS : T.NODE_COMPARISONS + 2] = self._quick(fast, u, v)
        node[T.NODE_TESTS : T.NODE_TESTS + 2] = self._tests([k for k, each in quick if each is None])
        equal = [each for each in fast if each.operator == 0]
        node[T.NODE_HASHED] = len(equal)
        self._hash_children(left, right, equal)
        self.nodes.append(node)
        return len(self.nodes) - 1

    def _side_by_side(self, u: Sequence[str], v: Sequence[str]) -> bool:
        """Say whether nothing can stand between the left and the right of a match without gaps."""
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

    def _sided(self, quick: Quick, left: Sequence[str]) -> Quick:
        return quick if quick.left in left else quick.turned()

    def _quick(self, fast: Sequence[Quick], u: Sequence[str], v: Sequence[str]) -> list[int]:
        first = len(self.quick)
        for each in fast:
            self.quick.append(
                [
                    T.ROW_SIZE + u.index(each.left),
                    self.keys.place(each.store, each.left_column),
                    T.ROW_SIZE + v.index(each.right),
                    self.keys.place(each.store, each.right_column),
                    each.operator,
                    each.condition,
                ]
            )
        return [first, len(self.quick)]

    def _hash_children(self, left: int, right: int, equal: Sequence[Quick]) -> None:
        for side, specs in (
            (left, [(each.left, each.left_column, each.store) for each in equal]),
            (right, [(each.right, each.right_column, each.store) for each in equal]),
        ):
            first = len(self.key_rows)
            for name, column, store in specs:
                place = T.ROW_SIZE + self.columns[side].index(name)
                self.key_rows.append([place, self.keys.place(store, column)])
            self.nodes[side][T.NODE_KEY : T.NODE_KEY + 2] = [first, len(self.key_rows)]

    def _tests(self, conditions: Sequence[int]) -> list[int]:
        """Append conditions, those on single events and cheap ones first."""
        first = len(self.tests)
        rows = []
        for k in conditions:
            groups = any(self.variables[name].group for name in self.alternative.conditions[k].variables)
            rows.append([k, int(groups)])
        self.tests += sorted(rows, key=lambda row: (row[1], len(self.program.code[row[0]])))
        return [first, len(self.tests)]

    # --- operations -------------------------------------------------------------------

    def _pass_down(self, shape: Shape, name: str) -> None:
        """Make the way from a leaf to the right-most path transient; compare the leaf with the trigger."""
        while not isinstance(shape, str) and name in leaves(shape[1]):
            shape = shape[1]
        assert not isinstance(shape, str)
        assert self.last is not None
        leaf = self.nodes[self.leaf_of[name]]
        between = [
            k for k, each in enumerate(self.alternative.conditions) if each.variables == {name, self.last}
        ]
        quick = [(k, quick_of(self.program, k)) for k in between]
        fast = [self._sided(each, [name]) for _, each in quick if each is not None]
        leaf[T.NODE_PASSED : T.NODE_PASSED + 2] = self._quick(fast, [name], [self.last])
        slow = [k for k, each in quick if each is None]
        leaf[T.NODE_PASSED_TESTS : T.NODE_PASSED_TESTS + 2] = self._tests(slow)
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
            T.TREE_COMPARISONS: self.quick,
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
