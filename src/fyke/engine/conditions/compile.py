"""Conditions to instructions of the kernels' stack machine, typed at compile time.

Values live on one of two stacks: integers (numbers, truth, ticks of time, ranks of strings, scaled
decimals) or floats.  Where an operator mixes them, a conversion is inserted after the operand.

Decimals of several events are computed with exactly or not at all: as whole numbers of their last digit, in
64 bits.  Where their types leave open whether these suffice, the largest values of a batch decide
(:class:`Exactness`), before it is searched.  Decimals of more digits than that are ranks: they are compared.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, timezone

import pyarrow as pa

from fyke.engine.conditions.compile_operators import MOST_SCALE, SLOT, OperatorCompiler
from fyke.engine.conditions.evaluate import parse_timestamp
from fyke.engine.conditions.user_functions import RAISED
from fyke.engine.conditions.values import LARGEST, Code, ColumnUse, Value, greatest_bound, total_bound
from fyke.engine.kernels import layout as L
from fyke.errors import TypeClashError
from fyke.language.ast import (
    Between,
    Binary,
    Call,
    Cast,
    Duration,
    Expression,
    In,
    Index,
    IsNull,
    Length,
    Literal,
    Reference,
    Timestamp,
    Unary,
)
from fyke.logical.check import is_aggregate
from fyke.logical.kinds import Kind
from fyke.logical.value_types import common_type

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_FLOAT_FUNCTION = {
    "sign": L.SIGN_F,
    "sqrt": L.SQRT,
    "exp": L.EXP,
    "ln": L.LN,
    "log10": L.LOG10,
    "log2": L.LOG2,
}
_CHOICE = {
    "least": (L.LEAST_I, L.LEAST_F),
    "greatest": (L.GREATEST_I, L.GREATEST_F),
    "coalesce": (L.COALESCE_I, L.COALESCE_F),
    "if": (L.IF_I, L.IF_F),
}


@dataclass(slots=True)
class Accumulator:
    """An aggregate that every run keeps up to date: its kind, its column, and its places in the run."""

    kind: int
    column: int
    typed: int
    offset: int = 0  # of an element by number
    slot: int = 0
    floats: int = 0

    @property
    def integers(self) -> int:
        """How many integers it has in a run."""
        return {L.ACC_SUM_I: 3, L.ACC_BACK: self.offset + 1}.get(self.kind, 1)

    @property
    def loaded(self) -> int:
        """The place of its value, or of its first integer."""
        return self.slot + (self.offset if self.kind == L.ACC_BACK else 0)

    @property
    def positions(self) -> range:
        """The places that hold positions of events, or something negative."""
        return range(self.slot, self.slot + (self.integers if self.kind >= L.ACC_MIN else 0))


@dataclass(slots=True)
class Compiler(OperatorCompiler):
    """Compiles the conditions of one alternative and collects what they share."""

    accumulators: dict[tuple[int, int, int, int, int], Accumulator] = field(default_factory=dict)
    depth: int = 1

    def condition(self, expression: Expression, reached: Iterable[tuple[str, int]] = ()) -> Code:
        """Return the instructions that leave the truth of a condition on the integer stack.

        It is also true as long as a group has fewer elements than ``reached`` asks for.
        """
        code = self._compile(expression).code
        for name, count in reached:
            few = [*self._length_up_to(name, count), self._op(L.CONST_I, count), self._op(L.LT_I)]
            code = [*code, *few, self._op(L.OR)]
        self.depth = max(self.depth, len(code) + 1)
        return code

    def _compile(self, node: Expression) -> Value:
        if isinstance(node, Literal):
            return self._literal(node)
        if isinstance(node, Duration):
            return Value([self._op(L.CONST_I, node.nanoseconds // self.tick)], "i", Kind.DURATION)
        if isinstance(node, Timestamp):
            micros = (parse_timestamp(node.text) - _EPOCH) // timedelta(microseconds=1)
            return Value([self._op(L.CONST_I, micros * 1000 // self.tick)], "i", Kind.TIMESTAMP)
        if isinstance(node, Reference):
            return self._reference(node)
        if isinstance(node, Length):
            code = [self._op(L.LENGTH, self.variables[node.variable])]
            return Value(code, "i", Kind.INTEGER, pa.int32(), bound=lambda _: 2**31)
        if isinstance(node, Unary):
            return self._unary(node)
        if isinstance(node, Binary):
            return self._binary(node)
        if isinstance(node, (In, Between, IsNull)):
            return self._predicate(node)
        if isinstance(node, Cast):
            return self._cast(node)
        if isinstance(node, Call) and is_aggregate(node):
            return self._aggregate(node)
        if isinstance(node, Call):
            return self._call(node)
        self._refuse(node, "LIKE compares an attribute of one event with a pattern")

    # --- functions --------------------------------------------------------------------

    def _call(self, node: Call) -> Value:
        name = node.function
        if name == "corr":
            return self._correlation(node)
        compiled = [self._compile(argument) for argument in node.arguments]
        if name in _CHOICE:
            return self._choice(node, compiled)
        if name == "nullif":
            value, other = compiled
            code = [*self._comparison("=", value, other, node), self._op(L.NULL), *value.code]
            choice = self._op(L.IF_I if value.stack == "i" else L.IF_F)
            return replace(value, code=[*code, choice], literal=None, plain=None)
        if name in ("mod", "abs"):
            compiled = [self._plain(value, node) for value in compiled]
        for value in compiled:
            self._check_unranked(value, node)
        if name in self.functions:
            code = [op for each in compiled for op in self._to_float(each)]
            call = self._op(L.CALL, list(self.functions).index(name), len(compiled))
            # Null where it raises, as whatever else has no value.
            raised = self._op(L.CONST_F, self._constant(RAISED))
            return Value([*code, call, raised, self._op(L.NULLIF_F)], "f", Kind.FLOAT, pa.float64())
        if name == "mod":
            return self._arithmetic("%", compiled[0], compiled[1], node)
        return self._number_function(node, compiled)

    def _number_function(self, node: Call, arguments: list[Value]) -> Value:
        name, value = node.function, arguments[0]
        if name in ("pow", "power"):
            code = [op for each in arguments for op in self._to_float(each)]
            return Value([*code, self._op(L.POW)], "f", Kind.FLOAT, pa.float64())
        if name == "abs":
            code = [*value.code, self._op(L.ABS_I if value.stack == "i" else L.ABS_F)]
            return replace(value, code=code, literal=None)
        if name in ("floor", "ceil"):
            if value.kind is Kind.INTEGER:
                return value
            if value.kind is Kind.DECIMAL:
                self._refuse(
                    node,
                    f"{name} takes whole numbers and floats across events, and "
                    f"{self._written(node.arguments[0])} is decimal",
                    f"Write {name}(CAST({self._written(node.arguments[0])} AS DOUBLE)).",
                )
            rounding = self._op(L.FLOOR if name == "floor" else L.CEIL)
            code = [*self._to_float(value), rounding]
            return Value(code, "i", Kind.INTEGER, pa.int64(), bound=lambda _: LARGEST)
        if name in _FLOAT_FUNCTION:
            code = [*self._to_float(value), self._op(_FLOAT_FUNCTION[name])]
            return Value(code, "f", Kind.FLOAT, pa.float64())
        self._refuse(node, f"{name} takes attributes of one event only; across events it is not available")

    def _choice(self, node: Call, compiled: list[Value]) -> Value:
        integer, floating = _CHOICE[node.function]
        tests = compiled[:1] if node.function == "if" else []
        values = compiled[len(tests) :]
        known = self._aligned([value for value in values if value.kind is not Kind.NULL], node)
        if not known:
            return values[0]
        aligned = iter(known)
        values = [value if value.kind is Kind.NULL else next(aligned) for value in values]
        like = known[0]
        operation = self._op(integer if like.stack == "i" else floating)
        if tests:
            code = [*tests[0].code, *values[0].code, *values[1].code, operation]
        else:
            code = values[0].code
            for value in values[1:]:
                code = [*code, *value.code, operation]
        kinds = [value.type for value in known if value.type is not None]
        type_ = common_type(kinds) if kinds else None
        return Value(code, like.stack, like.kind, type_, like.scale, greatest_bound(known), like.ranked)

    def _correlation(self, node: Call) -> Value:
        places: list[int] = []
        for argument in node.arguments:
            if not isinstance(argument, Reference) or self.columns[argument.path[0]].store != "list":
                raise TypeClashError(
                    "corr takes two attributes that are lists of numbers",
                    place=argument.place,
                    text=self.text,
                )
            use = self.columns[argument.path[0]]
            if argument.offset:
                self._refuse(argument, "corr takes the first and the last of a group, no other by number")
            places += [use.number, 4 * self.variables[argument.variable] + SLOT[argument.index]]
        return Value([[L.CORRELATION, *places, 0]], "f", Kind.FLOAT, pa.float64())

    # --- aggregates -------------------------------------------------------------------

    def _aggregate(self, node: Call) -> Value:
        reference = node.arguments[0]
        assert isinstance(reference, Reference)
        variable = self.variables[reference.variable]
        use = self.columns[reference.path[0]]
        whole = 1 if reference.index is Index.ALL else 0
        if use.store == "list":
            self._refuse(node, f"{node.function} does not take lists")
        if node.function in ("first", "last"):
            return self._end_of_range(node.function, variable, use, whole)
        typed = 0 if use.store == "i" else 1
        if node.function == "count":
            acc = self._accumulator(variable, L.ACC_COUNT, use.number, typed)
            code = [self._op(L.ACC_LOAD_I, id(acc), -1, whole)]
            return Value(code, "i", Kind.INTEGER, pa.int32(), bound=lambda _: 2**31)
        if node.function in ("min", "max"):
            acc = self._accumulator(
                variable, L.ACC_MIN if node.function == "min" else L.ACC_MAX, use.number, typed
            )
            load = L.ACC_ELEMENT_I if typed == 0 else L.ACC_ELEMENT_F
            return self._load(use, lambda number: [self._op(load, id(acc), number, whole)])
        if use.ranked:
            use = replace(use, number=use.units, ranked=False)
        return self._sum(node, variable, use, typed, whole)

    def _sum(self, node: Call, variable: int, use: ColumnUse, typed: int, whole: int) -> Value:
        function = node.function
        if function == "sum" and typed == 0:
            acc = self._accumulator(variable, L.ACC_SUM_I, use.number, typed)
            exact = use.kind is Kind.DECIMAL
            type_ = pa.decimal128(MOST_SCALE, use.type.scale) if exact else pa.int64()
            code = [self._op(L.ACC_LOAD_I, id(acc), 1, whole)]
            made = Value(code, "i", use.kind, type_, use.scale, total_bound(use.number, use.kind))
            return self._exact(made, node) if exact else made
        kind = L.ACC_MOMENTS if function == "stddev" else L.ACC_SUM_F
        acc = self._accumulator(variable, kind, use.number, typed)
        load = {"sum": L.ACC_LOAD_F, "avg": L.ACC_AVERAGE, "stddev": L.ACC_DEVIATION}[function]
        code = [self._op(load, id(acc), 1, whole)]
        if use.kind is Kind.DECIMAL:
            number = use.number
            self._exact(
                Value([], "i", use.kind, use.type, use.scale, lambda found: found.largest[number]), node
            )
            code += [self._op(L.CONST_F, self._constant(10.0**use.scale)), self._op(L.DIV_F)]
        return Value(code, "f", Kind.FLOAT, pa.float64())

    def _end_of_range(self, function: str, variable: int, use: ColumnUse, whole: int) -> Value:
        slot = L.SLOT_FIRST if function == "first" else L.SLOT_LAST if whole else L.SLOT_PREVIOUS
        load = L.LOAD_I if use.store == "i" else L.LOAD_F
        return self._load(use, lambda number: [self._op(load, number, 4 * variable + slot)])

    def _numbered(self, node: Reference, use: ColumnUse) -> Value:
        """Return an attribute of an element that is counted from the first, or back from the last.

        An accumulator knows it once it has been added.  The one that is being bound is not: if it is the
        element itself, then so is the last one.
        """
        typed = 0 if use.store == "i" else 1
        first = node.index is Index.FIRST
        variable = self.variables[node.variable]
        kind = L.ACC_ON if first else L.ACC_BACK
        acc = self._accumulator(variable, kind, use.number, typed, node.offset)
        load, place, choose = (
            (L.LOAD_I, L.ACC_ELEMENT_I, L.IF_I) if typed == 0 else (L.LOAD_F, L.ACC_ELEMENT_F, L.IF_F)
        )

        def code(number: int) -> Code:
            known = [self._op(place, id(acc), number, 1)]
            if not first:
                return known
            count = node.offset + 1
            here = [*self._length_up_to(node.variable, count), self._op(L.CONST_I, count), self._op(L.EQ_I)]
            last = self._op(load, number, 4 * variable + L.SLOT_LAST, L.KNOWN)
            return [*here, last, *known, self._op(choose)]

        return self._load(use, code)

    def _length_up_to(self, name: str, count: int) -> Code:
        """Return the code of a length; how far it exceeds ``count`` does not matter."""
        return [self._op(L.LENGTH, self.variables[name], count)]

    def _accumulator(self, variable: int, kind: int, column: int, typed: int, offset: int = 0) -> Accumulator:
        key = (variable, kind, column, typed, offset)
        return self.accumulators.setdefault(key, Accumulator(kind, column, typed, offset))

    def place_accumulators(self, first_integer: int) -> tuple[int, int]:
        """Give every accumulator its places in a run; return how many integers and floats they need."""
        integers, floats = first_integer, 0
        for acc in self.accumulators.values():
            acc.slot, acc.floats = integers, floats
            integers += acc.integers
            floats += {L.ACC_SUM_F: 1, L.ACC_MOMENTS: 2}.get(acc.kind, 0)
        return integers - first_integer, floats

    def resolve_accumulators(self, code: Code) -> None:
        """Put the places of accumulators into the instructions that load them."""
        by_id = {id(acc): acc for acc in self.accumulators.values()}
        for at, (operation, place, second, *rest) in enumerate(code):
            if not L.ACC_LOAD_I <= operation < L.LENGTH:
                continue
            acc = by_id[place]
            if operation == L.ACC_LOAD_I:
                places = [acc.slot, -1 if second < 0 else acc.slot + 1]
            elif operation in (L.ACC_ELEMENT_I, L.ACC_ELEMENT_F):
                places = [acc.loaded, second]
            else:
                places = [acc.floats, acc.slot]
            # A new row: IN and BETWEEN repeat the instructions of their operand.
            code[at] = [operation, *places, *rest]
