"""Conditions over other rows of a match to instructions for the kernels, with the rows they look at.

A *set* is some labels whose rows are counted, listed or added up; a *position* leads to one row.  Both are
variables to the compiler of conditions, sets first: an attribute is loaded at a position, and an aggregate
is the accumulator of a set.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from fyke.engine.conditions.compile import Compiler
from fyke.engine.conditions.values import Code, check_exact
from fyke.engine.input.encode import encode_columns, tick_of, uses_of
from fyke.engine.kernels import layout as L
from fyke.engine.kernels.arrays import Array, Data
from fyke.engine.kernels.row_patterns import layout as R
from fyke.engine.row_patterns.neighbours import RowColumns
from fyke.errors import UnsupportedQueryError
from fyke.language.ast import Call, Expression, Index, Length, Reference, map_children, map_references
from fyke.logical.row_patterns.analysed import Aggregated, From, Input, Located, RowValue, asks_for_label
from fyke.logical.value_types import plain_type, type_of
from fyke.plan.row_patterns.automaton import END, Automaton
from fyke.plan.row_patterns.plan import RowPlan

LABEL = "label"
_FROM = {From.CURRENT: R.FROM_CURRENT, From.FIRST: R.FROM_FIRST, From.LAST: R.FROM_LAST}
REMEMBERED = 64  # numbers by which a failed way is remembered at most


@dataclass(frozen=True, slots=True)
class Position:
    """Where a value is loaded: ``logical`` rows from the first or last of a set (-1: of all rows)."""

    start: From
    among: int
    logical: int
    physical: int

    @property
    def row(self) -> list[int]:
        """The position as the kernel reads it."""
        return [_FROM[self.start], self.among, self.logical, self.physical]


class AcrossProgram:
    """The conditions of a plan that are decided while a match is searched, compiled.

    ``numbers`` has the number of the condition of each label that has one.
    """

    def __init__(self, plan: RowPlan) -> None:
        self.plan = plan
        self.sets: list[frozenset[str]] = []
        self.positions: list[Position] = []
        self.columns: dict[str, tuple[Expression, int, pa.DataType]] = {}
        self.numbers: dict[int, int] = {}
        found = [
            (k, each.across) for k, each in enumerate(plan.conditions) if each is not None and each.across
        ]
        expressions: list[Expression] = []
        self.asked: list[list[int]] = []
        for label, condition in found:
            assert condition is not None
            self.numbers[label] = len(expressions)
            self.asked.append([])
            expressions.append(self._resolved(condition))
        types = {name: kind for name, (_, _, kind) in self.columns.items()}
        self.tick = tick_of(expressions, types)
        sources = {name: source for name, (source, _, _) in self.columns.items()}
        self.uses = uses_of(types, sources, plan.analysed.query.text)
        variables = {f"s{k}": k for k in range(len(self.sets))}
        variables |= {f"p{k}": len(self.sets) + k for k in range(len(self.positions))}
        self.compiler = Compiler(self.uses, variables, self.tick, {}, plan.analysed.query.text)
        self.code: list[Code] = [self.compiler.condition(each) for each in expressions]
        self.integers, self.floats = self.compiler.place_accumulators(0)
        for code in self.code:
            self.compiler.resolve_accumulators(code)

    # --- inputs -----------------------------------------------------------------------------------

    def _resolved(self, condition: RowValue) -> Expression:
        """Return a condition over positions and sets."""

        def resolve(reference: Reference) -> Expression:
            return self._input(condition.inputs[int(reference.path[0][1:])])

        return map_references(condition.expression, resolve)

    def _input(self, each: Input) -> Expression:
        if isinstance(each, Aggregated):
            return self._aggregate(each)
        if not asks_for_label(each.value):
            at = self._position(each, 0)
            return Reference(at, (self._column(each.value, each.physical, each.type),))
        at = self._position(each, each.physical)
        return self._labelled(each.value, at)

    def _labelled(self, node: Expression, at: str) -> Expression:
        """Return an expression over one row, which asks for its label, at a position."""
        if isinstance(node, Call) and node.function == "classifier":
            self.columns.setdefault(LABEL, (node, 0, pa.string()))
            return Reference(at, (LABEL,))
        if isinstance(node, Reference):
            kind = self._type_at(node)
            assert kind is not None
            return Reference(at, (self._column(node, 0, kind),))
        return map_children(node, lambda child: self._labelled(child, at))

    def _aggregate(self, each: Aggregated) -> Expression:
        labels = frozenset(self.plan.analysed.variables) if each.labels is None else each.labels
        name = f"s{self._set(labels)}"
        if each.value is None:
            return Length(name)
        if each.function in ("median", "array_agg") or asks_for_label(each.value):
            raise UnsupportedQueryError(
                f"{each.function} of values that are found while a match is searched is not available"
                if not asks_for_label(each.value)
                else f"{each.function} of labels is not available in DEFINE",
                place=each.value.place,
                text=self.plan.analysed.query.text,
                remedy="In DEFINE there are count, sum, avg, min, max and stddev, of columns.",
            )
        kind = type_of(each.value, self._type_at)
        assert kind is not None
        return Call(each.function, (Reference(name, (self._column(each.value, 0, kind),), Index.ALL),))

    def _type_at(self, node: Expression) -> pa.DataType | None:
        """Return the type of a column, or of a field of a struct."""
        if not isinstance(node, Reference):
            return None
        kind = self.plan.analysed.columns[node.path[0]]
        for step in node.path[1:]:
            kind = kind.field(step).type
        return kind

    def _set(self, labels: frozenset[str]) -> int:
        if labels not in self.sets:
            self.sets.append(labels)
        return self.sets.index(labels)

    def _position(self, each: Located, physical: int) -> str:
        among = -1 if each.labels is None else self._set(each.labels)
        made = Position(each.start, among, each.logical, physical)
        if made not in self.positions:
            self.positions.append(made)
        number = self.positions.index(made)
        if number not in self.asked[-1]:
            self.asked[-1].append(number)
        return f"p{number}"

    def _column(self, value: Expression, physical: int, kind: pa.DataType) -> str:
        for name, (known, by, _) in self.columns.items():
            if (known, by) == (value, physical):
                return name
        name = f"c{len(self.columns)}"
        self.columns[name] = value, physical, plain_type(kind)
        return name

    # --- arrays -----------------------------------------------------------------------------------

    def data(self, columns: RowColumns) -> tuple[Data, dict[str, int]]:
        """Return the columns that conditions load from, with a row of nulls at the end; string ranks."""
        literals = [*self.compiler.strings, *(self.plan.analysed.variables if LABEL in self.columns else ())]
        arrays = {}
        for name, (value, physical, kind) in self.columns.items():
            if name == LABEL:
                arrays[name] = pa.nulls(columns.rows + 1, kind)
                continue
            array = columns.shifted(columns.value(value), physical).cast(kind)
            arrays[name] = pa.concat_arrays([array, pa.nulls(1, kind)])
        events = np.zeros((L.EVENT_SIZE, 1), np.int64)
        data, ranks = encode_columns(arrays, self.uses, self.tick, events, literals, columns.rows + 1)
        check_exact(self.compiler.exact, data.cols_i)
        return data, ranks

    def pack(self, ranks: dict[str, int]) -> tuple[Array, Array]:
        """Lay the conditions out as one array of integers and their float constants."""
        strings = self.compiler.strings
        code = [
            [L.CONST_I, ranks[strings[op[2] - 1]], 0, 0, 0, 0] if op[0] == L.CONST_I and op[2] > 0 else op
            for each in self.code
            for op in each
        ]
        firsts = np.concatenate(([0], np.cumsum([len(each) for each in self.code])))
        conditions = [[int(a), int(b), 0, 0] for a, b in itertools.pairwise(firsts)]
        tables = [
            (L.HEAD_VARIABLE_TABLE, self._variable_rows()),
            (L.HEAD_CONDITION_TABLE, conditions),
            (L.HEAD_ACCUMULATOR_TABLE, self._accumulator_rows()),
            (L.HEAD_CODE, code),
        ]
        head, body = [0] * L.HEAD_SIZE, list[int]()
        for place, rows in tables:
            head[place] = L.HEAD_SIZE + len(body)
            body += [number for row in rows for number in row]
        return np.array([*head, *body, 0], np.int64), np.array(self.compiler.constants or [0.0])

    def _variable_rows(self) -> list[list[int]]:
        owners = [key[0] for key in self.compiler.accumulators]
        rows = []
        for v in range(len(self.sets) + len(self.positions)):
            row = [0] * L.VAR_SIZE
            first = sum(owner < v for owner in owners)
            row[L.VAR_ACCUMULATORS], row[L.VAR_ACCUMULATORS_END] = first, first + owners.count(v)
            rows.append(row)
        return rows

    def _accumulator_rows(self) -> list[list[int]]:
        ordered = sorted(self.compiler.accumulators.items(), key=lambda item: item[0][0])
        return [[acc.kind, acc.column, acc.typed, acc.slot, acc.floats, acc.offset] for _, acc in ordered]

    # --- what a failed way is remembered by -----------------------------------------------------------

    def keys(self) -> tuple[Array, Array]:
        """Return what a way that has come to each state is remembered by, and where these lists begin."""
        automaton, found = self.plan.automaton, []
        offsets = [0]
        for labels in _labels_ahead(automaton):
            keys = self._key([self.numbers[label] for label in sorted(labels) if label in self.numbers])
            found += keys
            offsets.append(offsets[-1] + len(keys))
        return np.array(found or [[0, 0, 0]], np.int64), np.array(offsets, np.int64)

    def _key(self, conditions: Sequence[int]) -> list[list[int]]:
        keys: dict[tuple[int, int], int] = {}
        if self.plan.analysed.window is not None:
            keys[R.KEY_START, -1] = 0
        for number in conditions:
            for each in (self.positions[p] for p in self.asked[number]):
                kind, count = self._seen(each)
                if kind >= 0:
                    keys[kind, each.among] = max(keys.get((kind, each.among), 0), count)
            for op in self.code[number]:
                self._key_of_aggregate(op, keys)
        width = sum(count if kind in (R.KEY_FIRSTS, R.KEY_LASTS) else 1 for (kind, _), count in keys.items())
        if width > REMEMBERED or (LABEL in self.columns and conditions):
            return [[R.NEVER_KEPT, 0, 0]]
        return [[kind, among if kind < R.KEY_INTEGER else 0, count] for (kind, among), count in keys.items()]

    def _seen(self, position: Position) -> tuple[int, int]:
        """Return what of the rows so far a position can still lead to: a kind of key, and how many."""
        if position.start is From.CURRENT:
            return -1, 0
        if position.among < 0:
            return (R.KEY_START, 0) if position.start is From.FIRST else (R.KEY_SINCE, position.logical)
        kind = R.KEY_FIRSTS if position.start is From.FIRST else R.KEY_LASTS
        return kind, position.logical + 1

    def _key_of_aggregate(self, op: list[int], keys: dict[tuple[int, int], int]) -> None:
        if op[0] == L.LENGTH:
            keys[R.KEY_ROWS, op[1]] = 0
        elif L.ACC_LOAD_I <= op[0] < L.LENGTH:
            for acc in self.compiler.accumulators.values():
                for slot in range(acc.slot, acc.slot + acc.integers):
                    keys[R.KEY_INTEGER, slot] = slot
                for slot in range(
                    acc.floats, acc.floats + {L.ACC_SUM_F: 1, L.ACC_MOMENTS: 2}.get(acc.kind, 0)
                ):
                    keys[R.KEY_FLOAT, slot] = slot


def _labels_ahead(automaton: Automaton) -> list[set[int]]:
    """Return the labels of the rows that may follow each state."""
    ahead: list[set[int]] = [set() for _ in automaton.labels]
    changed = True
    while changed:
        changed = False
        for state in range(len(ahead) - 1, -1, -1):
            before = len(ahead[state])
            for to in automaton.moves[state]:
                if to != END:
                    ahead[state] |= ahead[to] | {automaton.labels[to]}
            changed |= len(ahead[state]) > before
    return ahead
