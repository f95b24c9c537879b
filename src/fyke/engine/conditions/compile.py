"""Conditions to instructions of the kernels' stack machine, typed at compile time.

Values live on one of two stacks: integers (numbers, truth, ticks of time, ranks of strings, scaled
decimals) or floats.  Where an operator mixes them, a conversion is inserted after the operand.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NoReturn

from fyke.engine.conditions.evaluate import parse_timestamp
from fyke.engine.conditions.user_functions import RAISED
from fyke.engine.kernels import layout as L
from fyke.errors import TypeClashError, UnsupportedQueryError
from fyke.language.ast import (
    Between,
    Binary,
    Call,
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

Code = list[list[int]]

_SLOT = {
    Index.NONE: L.SLOT_CURRENT,
    Index.EACH: L.SLOT_CURRENT,
    Index.PREVIOUS: L.SLOT_PREVIOUS,
    Index.FIRST: L.SLOT_FIRST,
    Index.LAST: L.SLOT_LAST,
}
_COMPARISON = {"=": 0, "!=": 1, "<": 2, "<=": 3, ">": 4, ">=": 5}
_INTEGER_OPERATOR = {"+": L.ADD_I, "-": L.SUB_I, "*": L.MUL_I, "%": L.MOD_I}
_FLOAT_OPERATOR = {"+": L.ADD_F, "-": L.SUB_F, "*": L.MUL_F, "/": L.DIV_F, "%": L.MOD_F}
_FLOAT_FUNCTION = {
    "sign": L.SIGN_F,
    "sqrt": L.SQRT,
    "exp": L.EXP,
    "ln": L.LN,
    "log10": L.LOG10,
    "log2": L.LOG2,
}
_CHOICE = {"least": (L.LEAST_I, L.LEAST_F), "greatest": (L.GREATEST_I, L.GREATEST_F)}
_CHOICE |= {
    "coalesce": (L.COALESCE_I, L.COALESCE_F),
    "nullif": (L.NULLIF_I, L.NULLIF_F),
    "if": (L.IF_I, L.IF_F),
}


@dataclass(frozen=True, slots=True)
class ColumnUse:
    """Where the kernel finds a derived column: ``store`` is "i", "f" or "list"; decimals have a ``scale``."""

    store: str
    number: int
    kind: Kind
    scale: int | None = None


@dataclass(slots=True)
class Accumulator:
    """An aggregate that every run keeps up to date: its kind, its column, and its places in the run."""

    kind: int
    column: int
    typed: int
    slot: int = 0
    floats: int = 0


@dataclass(slots=True)
class Compiler:
    """Compiles the conditions of one alternative and collects what they share."""

    columns: Mapping[str, ColumnUse]
    variables: Mapping[str, int]
    tick: int  # nanoseconds in one unit of the integers that hold times
    scale: int  # digits behind the point of the integers that hold decimals
    functions: Mapping[str, int]
    text: str | None
    constants: list[float] = field(default_factory=list)
    strings: list[str] = field(default_factory=list)
    accumulators: dict[tuple[int, int, int, int], Accumulator] = field(default_factory=dict)
    depth: int = 1

    def condition(self, expression: Expression) -> Code:
        """Return the instructions that leave the truth of a condition on the integer stack."""
        code, _, _ = self._compile(expression)
        self.depth = max(self.depth, len(code) + 1)
        return code

    # Every _compile method returns (code, stack "i" or "f", kind).

    def _compile(self, node: Expression) -> tuple[Code, str, Kind]:
        if isinstance(node, Literal):
            return self._literal(node)
        if isinstance(node, Duration):
            return [self._op(L.CONST_I, node.nanoseconds // self.tick)], "i", Kind.DURATION
        if isinstance(node, Timestamp):
            seconds = parse_timestamp(node.text).timestamp()
            return [self._op(L.CONST_I, round(seconds * 1_000_000) * 1000 // self.tick)], "i", Kind.TIMESTAMP
        if isinstance(node, Reference):
            return self._reference(node)
        if isinstance(node, Length):
            return [self._op(L.LENGTH, self.variables[node.variable])], "i", Kind.INTEGER
        if isinstance(node, Unary):
            return self._unary(node)
        if isinstance(node, Binary):
            return self._binary(node)
        if isinstance(node, (In, Between, IsNull)):
            return self._predicate(node)
        if isinstance(node, Call) and is_aggregate(node):
            return self._aggregate(node)
        if isinstance(node, Call):
            return self._call(node)
        self._refuse(node, "LIKE compares an attribute of one event with a pattern")

    def _refuse(self, node: Expression, message: str) -> NoReturn:
        raise UnsupportedQueryError(message, place=node.place, text=self.text)

    @staticmethod
    def _op(code: int, *operands: int) -> list[int]:
        return [code, *operands, *[0] * (L.INSTRUCTION_SIZE - 1 - len(operands))]

    def _literal(self, node: Literal) -> tuple[Code, str, Kind]:
        value = node.value
        if value is None:
            return [self._op(L.NULL)], "i", Kind.NULL
        if isinstance(value, bool):
            return [self._op(L.CONST_I, int(value))], "i", Kind.BOOLEAN
        if isinstance(value, int) and -(2**63) <= value < 2**63:
            return [self._op(L.CONST_I, value)], "i", Kind.INTEGER
        if isinstance(value, str):
            if value not in self.strings:
                self.strings.append(value)
            # The rank of a string is known only beside the data: the engine fills it in.
            return [self._op(L.CONST_I, 0, self.strings.index(value) + 1)], "i", Kind.STRING
        return [self._op(L.CONST_F, self._constant(float(value)))], "f", Kind.FLOAT

    def _constant(self, value: float) -> int:
        self.constants.append(value)
        return len(self.constants) - 1

    def _reference(self, node: Reference) -> tuple[Code, str, Kind]:
        use = self.columns[node.path[0]]
        slot = 4 * self.variables[node.variable] + _SLOT[node.index]
        if use.store == "list":
            self._refuse(node, "a list can only be used in corr(...) across events")
        return [self._op(L.LOAD_I if use.store == "i" else L.LOAD_F, use.number, slot)], use.store, use.kind

    # --- conversions ------------------------------------------------------------------

    def _to_float(self, code: Code, stack: str, kind: Kind) -> Code:
        if stack == "f":
            return code
        if kind is Kind.DECIMAL:
            return [*code, self._op(L.SCALE_TO_FLOAT, self._constant(10.0**self.scale))]
        return [*code, self._op(L.TO_FLOAT)]

    def _to_decimal(self, code: Code, kind: Kind, *, compared: bool = False) -> Code:
        return (
            code
            if kind in (Kind.DECIMAL, Kind.NULL)
            else [*code, self._op(L.SCALE_UP, 10**self.scale, int(compared))]
        )

    def _unify(
        self, left: tuple[Code, str, Kind], right: tuple[Code, str, Kind], *, compared: bool = False
    ) -> tuple[Code, Code, str, Kind]:
        """Bring two operands onto one stack."""
        (a, a_stack, a_kind), (b, b_stack, b_kind) = left, right
        if "f" in (a_stack, b_stack):
            return self._to_float(a, a_stack, a_kind), self._to_float(b, b_stack, b_kind), "f", Kind.FLOAT
        if Kind.DECIMAL in (a_kind, b_kind):
            return (
                self._to_decimal(a, a_kind, compared=compared),
                self._to_decimal(b, b_kind, compared=compared),
                "i",
                Kind.DECIMAL,
            )
        return a, b, "i", b_kind if a_kind is Kind.NULL else a_kind

    # --- operators --------------------------------------------------------------------

    def _unary(self, node: Unary) -> tuple[Code, str, Kind]:
        code, stack, kind = self._compile(node.operand)
        if node.operator == "NOT":
            return [*code, self._op(L.NOT)], "i", Kind.BOOLEAN
        return [*code, self._op(L.NEG_I if stack == "i" else L.NEG_F)], stack, kind

    def _binary(self, node: Binary) -> tuple[Code, str, Kind]:
        left, right = self._compile(node.left), self._compile(node.right)
        if node.operator in ("AND", "OR"):
            operation = L.AND if node.operator == "AND" else L.OR
            return [*left[0], *right[0], self._op(operation)], "i", Kind.BOOLEAN
        if node.operator in _COMPARISON:
            return self._comparison(node.operator, left, right), "i", Kind.BOOLEAN
        if Kind.DURATION in (left[2], right[2]) and node.operator in "*/":
            self._refuse(node, "a duration is multiplied or divided only within one event")
        return self._arithmetic(node.operator, left, right)

    def _comparison(self, operator: str, left: tuple[Code, str, Kind], right: tuple[Code, str, Kind]) -> Code:
        a, b, stack, _ = self._unify(left, right, compared=True)
        number = _COMPARISON[operator]
        wanted = L.LOAD_I if stack == "i" else L.LOAD_F
        if len(a) == len(b) == 1 and a[0][0] == b[0][0] == wanted:
            fused = L.COMPARE_LOADS_I if stack == "i" else L.COMPARE_LOADS_F
            return [[fused, a[0][1], a[0][2], b[0][1], b[0][2], number]]
        return [*a, *b, self._op((L.EQ_I if stack == "i" else L.EQ_F) + number)]

    def _arithmetic(
        self, operator: str, left: tuple[Code, str, Kind], right: tuple[Code, str, Kind]
    ) -> tuple[Code, str, Kind]:
        a, b, stack, kind = self._unify(left, right)
        if stack == "i" and (operator == "/" or (kind is Kind.DECIMAL and operator in "*%")):
            a, b, stack, kind = self._to_float(a, "i", kind), self._to_float(b, "i", kind), "f", Kind.FLOAT
        table = _INTEGER_OPERATOR if stack == "i" else _FLOAT_OPERATOR
        if Kind.DURATION in (left[2], right[2]):
            kind = Kind.TIMESTAMP if {left[2], right[2]} != {Kind.DURATION} else Kind.DURATION
        elif left[2] in (Kind.TIMESTAMP, Kind.DATE):
            kind = Kind.DURATION
        return [*a, *b, self._op(table[operator])], stack, kind

    def _predicate(self, node: In | Between | IsNull) -> tuple[Code, str, Kind]:
        operand = self._compile(node.operand)
        if isinstance(node, IsNull):
            code = [*operand[0], self._op(L.IS_NULL)]
        elif isinstance(node, Between):
            low = self._comparison(">=", operand, self._compile(node.low))
            high = self._comparison("<=", operand, self._compile(node.high))
            code = [*low, *high, self._op(L.AND)]
        else:
            code = [self._op(L.CONST_I, 0)]
            for option in node.options:
                code += [*self._comparison("=", operand, self._compile(option)), self._op(L.OR)]
        if node.negated:
            code.append(self._op(L.NOT))
        return code, "i", Kind.BOOLEAN

    # --- functions --------------------------------------------------------------------

    def _call(self, node: Call) -> tuple[Code, str, Kind]:
        name = node.function
        if name == "corr":
            return self._correlation(node)
        compiled = [self._compile(argument) for argument in node.arguments]
        if name in self.functions:
            code = [op for each in compiled for op in self._to_float(*each)]
            number = list(self.functions).index(name)
            call = self._op(L.CALL, number, len(compiled))
            # Null where it raises, as whatever else has no value.
            raised = self._op(L.CONST_F, self._constant(RAISED))
            return [*code, call, raised, self._op(L.NULLIF_F)], "f", Kind.FLOAT
        if name in _CHOICE:
            return self._choice(node, compiled)
        if name == "mod":
            return self._arithmetic("%", *compiled)
        if name in ("pow", "power"):
            code = [op for each in compiled for op in self._to_float(*each)]
            return [*code, self._op(L.POW)], "f", Kind.FLOAT
        code, stack, kind = compiled[0]
        if name == "abs" and stack == "i":
            return [*code, self._op(L.ABS_I)], stack, kind
        if name == "abs":
            return [*code, self._op(L.ABS_F)], stack, kind
        if name in ("floor", "ceil"):
            if stack == "i" and kind is Kind.INTEGER:
                return code, stack, kind
            rounding = self._op(L.FLOOR if name == "floor" else L.CEIL)
            return [*self._to_float(code, stack, kind), rounding], "i", Kind.INTEGER
        if name in _FLOAT_FUNCTION:
            return [*self._to_float(code, stack, kind), self._op(_FLOAT_FUNCTION[name])], "f", Kind.FLOAT
        self._refuse(node, f"{name} takes attributes of one event only; across events it is not available")

    def _choice(self, node: Call, compiled: list[tuple[Code, str, Kind]]) -> tuple[Code, str, Kind]:
        integer, floating = _CHOICE[node.function]
        tests = compiled[:1] if node.function == "if" else []
        values = compiled[len(tests) :]
        while len({(stack, kind is Kind.DECIMAL) for _, stack, kind in values if kind is not Kind.NULL}) > 1:
            values = self._converted(values)
        stack = next((stack for _, stack, kind in values if kind is not Kind.NULL), "i")
        kind = next((kind for _, _, kind in values if kind is not Kind.NULL), Kind.NULL)
        operation = self._op(integer if stack == "i" else floating)
        if tests:
            return [*tests[0][0], *values[0][0], *values[1][0], operation], stack, kind
        code = values[0][0]
        for value in values[1:]:
            code = [*code, *value[0], operation]
        return code, stack, kind

    def _converted(self, values: list[tuple[Code, str, Kind]]) -> list[tuple[Code, str, Kind]]:
        if any(stack == "f" for _, stack, _ in values):
            return [(self._to_float(*value), "f", Kind.FLOAT) for value in values]
        return [(self._to_decimal(code, kind), "i", Kind.DECIMAL) for code, _, kind in values]

    def _correlation(self, node: Call) -> tuple[Code, str, Kind]:
        places: list[int] = []
        for argument in node.arguments:
            if not isinstance(argument, Reference) or self.columns[argument.path[0]].store != "list":
                raise TypeClashError(
                    "corr takes two attributes that are lists of numbers",
                    place=argument.place,
                    text=self.text,
                )
            use = self.columns[argument.path[0]]
            places += [use.number, 4 * self.variables[argument.variable] + _SLOT[argument.index]]
        return [[L.CORRELATION, *places, 0]], "f", Kind.FLOAT

    # --- aggregates -------------------------------------------------------------------

    def _aggregate(self, node: Call) -> tuple[Code, str, Kind]:
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
            return [self._op(L.ACC_LOAD_I, id(acc), -1, whole)], "i", Kind.INTEGER
        if node.function in ("min", "max"):
            acc = self._accumulator(
                variable, L.ACC_MIN if node.function == "min" else L.ACC_MAX, use.number, typed
            )
            load = L.ACC_ELEMENT_I if typed == 0 else L.ACC_ELEMENT_F
            return [self._op(load, id(acc), use.number, whole)], use.store, use.kind
        return self._sum(node.function, variable, use, typed, whole)

    def _sum(
        self, function: str, variable: int, use: ColumnUse, typed: int, whole: int
    ) -> tuple[Code, str, Kind]:
        if function == "sum" and typed == 0:
            acc = self._accumulator(variable, L.ACC_SUM_I, use.number, typed)
            return [self._op(L.ACC_LOAD_I, id(acc), 1, whole)], "i", use.kind
        kind = L.ACC_MOMENTS if function == "stddev" else L.ACC_SUM_F
        acc = self._accumulator(variable, kind, use.number, typed)
        load = {"sum": L.ACC_LOAD_F, "avg": L.ACC_AVERAGE, "stddev": L.ACC_DEVIATION}[function]
        code = [self._op(load, id(acc), 1, whole)]
        if use.kind is Kind.DECIMAL:
            code += [self._op(L.CONST_F, self._constant(10.0**self.scale)), self._op(L.DIV_F)]
        return code, "f", Kind.FLOAT

    def _end_of_range(
        self, function: str, variable: int, use: ColumnUse, whole: int
    ) -> tuple[Code, str, Kind]:
        slot = L.SLOT_FIRST if function == "first" else L.SLOT_LAST if whole else L.SLOT_PREVIOUS
        return (
            [self._op(L.LOAD_I if use.store == "i" else L.LOAD_F, use.number, 4 * variable + slot)],
            use.store,
            use.kind,
        )

    def _accumulator(self, variable: int, kind: int, column: int, typed: int) -> Accumulator:
        key = (variable, kind, column, typed)
        return self.accumulators.setdefault(key, Accumulator(kind, column, typed))

    def place_accumulators(self, first_integer: int) -> tuple[int, int]:
        """Give every accumulator its places in a run; return how many integers and floats they need."""
        integers, floats = first_integer, 0
        for acc in self.accumulators.values():
            acc.slot, acc.floats = integers, floats
            integers += 3 if acc.kind == L.ACC_SUM_I else 1
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
                places = [acc.slot, second]
            else:
                places = [acc.floats, acc.slot]
            # A new row: IN and BETWEEN repeat the instructions of their operand.
            code[at] = [operation, *places, *rest]
