"""Operators of conditions compiled: literals and attributes, conversions, comparisons, arithmetic."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import NoReturn

import pyarrow as pa

from fyke.engine.conditions.columns import EXACT
from fyke.engine.conditions.values import (
    LARGEST,
    SAFE_DIGITS,
    SMALLEST,
    Bound,
    Code,
    ColumnUse,
    Exactness,
    Value,
    integer_bound,
    is_beyond,
    product_bound,
    scale_of,
    sum_bound,
)
from fyke.engine.kernels import layout as L
from fyke.errors import UnsupportedQueryError
from fyke.language.ast import (
    Between,
    Binary,
    Cast,
    Expression,
    In,
    Index,
    IsNull,
    Literal,
    Reference,
    Unary,
    map_references,
)
from fyke.language.unparse import unparse_expression
from fyke.logical.kinds import Kind
from fyke.logical.value_types import decimal_result, literal_type

SLOT = {
    Index.NONE: L.SLOT_CURRENT,
    Index.EACH: L.SLOT_CURRENT,
    Index.PREVIOUS: L.SLOT_PREVIOUS,
    Index.FIRST: L.SLOT_FIRST,
    Index.LAST: L.SLOT_LAST,
}
_COMPARISON = {"=": 0, "!=": 1, "<": 2, "<=": 3, ">": 4, ">=": 5}
_INTEGER_OPERATOR = {"+": L.ADD_I, "-": L.SUB_I, "*": L.MUL_I, "%": L.MOD_I}
_FLOAT_OPERATOR = {"+": L.ADD_F, "-": L.SUB_F, "*": L.MUL_F, "/": L.DIV_F, "%": L.MOD_F}
MOST_SCALE = 38
_WHOLE = (Kind.INTEGER, Kind.DECIMAL)
_MIRRORED = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
# A number that no integer reaches compares with all of them as the largest, or the smallest, does so.
_BELOW_ALL = {"=": "<", "!=": ">=", "<": "<", "<=": "<", ">": ">=", ">=": ">="}
_ABOVE_ALL = {"=": ">", "!=": "<=", "<": "<=", "<=": "<=", ">": ">", ">=": ">"}


@dataclass(slots=True)
class OperatorCompiler(ABC):
    """Compiles what operators stand between; :meth:`_compile` is that of the whole language.

    ``exact`` collects what decimals need of a batch to be exact, ``constants`` the floats and ``strings`` the
    texts that conditions name.
    """

    columns: Mapping[str, ColumnUse]
    variables: Mapping[str, int]
    tick: int  # nanoseconds in one unit of the integers that hold times
    functions: Mapping[str, int]
    text: str | None
    constants: list[float] = field(default_factory=list)
    strings: list[str] = field(default_factory=list)
    exact: list[Exactness] = field(default_factory=list)

    @abstractmethod
    def _compile(self, node: Expression) -> Value:
        """Return the code of an expression of any kind."""

    @abstractmethod
    def _numbered(self, node: Reference, use: ColumnUse) -> Value:
        """Return the code of an attribute of an element in the middle of a group."""

    def _refuse(self, node: Expression, message: str, remedy: str = "") -> NoReturn:
        raise UnsupportedQueryError(message, place=node.place, text=self.text, remedy=remedy)

    def _written(self, node: Expression) -> str:
        """Return an expression as the user wrote it, without the columns that stand for parts of it."""

        def written(reference: Reference) -> Expression:
            return map_references(
                self.columns[reference.path[0]].source,
                lambda own: replace(
                    own, variable=reference.variable, index=reference.index, offset=reference.offset
                ),
            )

        return unparse_expression(map_references(node, written))

    @staticmethod
    def _op(code: int, *operands: int) -> list[int]:
        return [code, *operands, *[0] * (L.INSTRUCTION_SIZE - 1 - len(operands))]

    def _literal(self, node: Literal) -> Value:
        value = node.value
        if value is None:
            return Value([self._op(L.NULL)], "i", Kind.NULL)
        if isinstance(value, bool):
            return Value([self._op(L.CONST_I, int(value))], "i", Kind.BOOLEAN)
        if isinstance(value, str):
            if value not in self.strings:
                self.strings.append(value)
            # The rank of a string is known only beside the data: the engine fills it in.
            return Value([self._op(L.CONST_I, 0, self.strings.index(value) + 1)], "i", Kind.STRING)
        if isinstance(value, float):
            return Value([self._op(L.CONST_F, self._constant(value))], "f", Kind.FLOAT, pa.float64())
        type_, exact = literal_type(node), Decimal(value)
        number = int(exact.scaleb(scale_of(type_), EXACT))
        kind = Kind.DECIMAL if pa.types.is_decimal(type_) else Kind.INTEGER
        code = [self._op(L.CONST_I, max(SMALLEST, min(number, LARGEST)))]
        return Value(code, "i", kind, type_, scale_of(type_), lambda _: abs(number), literal=exact)

    def _constant(self, value: float) -> int:
        self.constants.append(value)
        return len(self.constants) - 1

    def _reference(self, node: Reference) -> Value:
        use = self.columns[node.path[0]]
        slot = 4 * self.variables[node.variable] + SLOT[node.index]
        if use.store == "list":
            self._refuse(node, "a list can only be used in corr(...) across events")
        if node.offset:
            return self._numbered(node, use)
        load = L.LOAD_I if use.store == "i" else L.LOAD_F
        return self._load(use, lambda number: [self._op(load, number, slot)])

    @staticmethod
    def _load(use: ColumnUse, code: Callable[[int], Code]) -> Value:
        """Return the value that ``code`` loads from a column, given its number."""
        number = use.units if use.ranked else use.number
        bound: Bound | None = (lambda found: found.largest[number]) if use.kind in _WHOLE else None
        plain = Value(code(number), use.store, use.kind, use.type, use.scale, bound)
        return replace(plain, code=code(use.number), ranked=True, plain=plain) if use.ranked else plain

    # --- conversions ------------------------------------------------------------------

    def _to_float(self, value: Value) -> Code:
        if value.stack == "f":
            return value.code
        if value.literal is not None:
            return [self._op(L.CONST_F, self._constant(float(value.literal)))]
        if value.kind is Kind.DECIMAL:
            return [*value.code, self._op(L.SCALE_TO_FLOAT, self._constant(10.0**value.scale))]
        return [*value.code, self._op(L.TO_FLOAT)]

    def _scaled(self, value: Value, scale: int, node: Expression, *, compared: bool = False) -> Value:
        """Return a whole number or decimal with so many digits behind the point."""
        if value.kind is Kind.NULL or (value.kind is Kind.DECIMAL and value.scale == scale):
            return value
        factor = 10 ** (scale - value.scale)
        if factor > LARGEST:
            self._refuse_digits(node)
        code = [*value.code, self._op(L.SCALE_UP, factor, int(compared))] if factor > 1 else value.code
        bound = product_bound(value.bound, lambda _: factor)
        made = Value(code, "i", Kind.DECIMAL, value.type, scale, bound)
        return made if compared else self._exact(made, node)

    def _exact(self, value: Value, node: Expression) -> Value:
        """Note that a decimal must fit 64 bits, unless its type says so."""
        if value.bound is not None and not value.fits():
            self.exact.append(Exactness(value.bound, self._written(node)))
        return value

    def _refuse_digits(self, node: Expression) -> NoReturn:
        self._refuse(
            node,
            f"{self._written(node)} has more digits than there are in 64 bits, and decimals of several "
            "events are computed with exactly",
            "Compute with floats, as in CAST(a.x AS DOUBLE), or with fewer digits, as in "
            "CAST(a.x AS DECIMAL(18, 2)).",
        )

    def _aligned(self, values: list[Value], node: Expression, *, compared: bool = False) -> list[Value]:
        """Bring values onto one stack, and decimals to as many digits behind the point."""
        if any(value.stack == "f" for value in values):
            for value in values:
                self._check_unranked(value, node)
            return [Value(self._to_float(value), "f", Kind.FLOAT, pa.float64()) for value in values]
        if not any(value.kind is Kind.DECIMAL for value in values):
            return values
        ranked = [value.ranked for value in values if value.kind is not Kind.NULL]
        if any(ranked):
            if all(ranked):
                return values
            values = [self._plain(value, node) for value in values]
        scale = max(value.scale for value in values)
        return [self._scaled(value, scale, node, compared=compared) for value in values]

    def _plain(self, value: Value, node: Expression) -> Value:
        """Return a decimal that is ranked in units: its values must fit, whatever its type."""
        if not value.ranked:
            return value
        if value.plain is None:
            self._refuse_ranked(node)
        return self._exact(value.plain, node)

    def _check_unranked(self, value: Value, node: Expression) -> None:
        if value.ranked:
            self._refuse_ranked(node)

    def _refuse_ranked(self, node: Expression) -> NoReturn:
        self._refuse(
            node,
            f"{self._written(node)} makes a float of a decimal of more than {SAFE_DIGITS} digits of several "
            "events",
            "Make it of each of them, as in CAST(a.x AS DOUBLE), or give them fewer digits, as in "
            "CAST(a.x AS DECIMAL(18, 2)).",
        )

    # --- operators --------------------------------------------------------------------

    def _unary(self, node: Unary) -> Value:
        value = self._compile(node.operand)
        if node.operator == "NOT":
            return Value([*value.code, self._op(L.NOT)], "i", Kind.BOOLEAN)
        value = self._plain(value, node)
        code = [*value.code, self._op(L.NEG_I if value.stack == "i" else L.NEG_F)]
        return replace(value, code=code, literal=None)

    def _binary(self, node: Binary) -> Value:
        left, right = self._compile(node.left), self._compile(node.right)
        if node.operator in ("AND", "OR"):
            operation = L.AND if node.operator == "AND" else L.OR
            return Value([*left.code, *right.code, self._op(operation)], "i", Kind.BOOLEAN)
        if node.operator in _COMPARISON:
            return Value(self._comparison(node.operator, left, right, node), "i", Kind.BOOLEAN)
        if Kind.DURATION in (left.kind, right.kind) and node.operator in "*/":
            self._refuse(node, "a duration is multiplied or divided only within one event")
        return self._arithmetic(node.operator, left, right, node)

    def _comparison(self, operator: str, left: Value, right: Value, node: Expression) -> Code:
        if is_beyond(left):
            operator, left, right = _MIRRORED[operator], right, left
        if is_beyond(right) and left.stack == "i" and left.kind in _WHOLE and not left.ranked:
            assert right.literal is not None
            operator = (_ABOVE_ALL if right.literal > 0 else _BELOW_ALL)[operator]
            return [*left.code, *right.code, self._op(L.EQ_I + _COMPARISON[operator])]
        one, other = self._aligned([left, right], node, compared=True)
        number = _COMPARISON[operator]
        wanted = L.LOAD_I if one.stack == "i" else L.LOAD_F
        if len(one.code) == len(other.code) == 1 and one.code[0][0] == other.code[0][0] == wanted:
            fused = L.COMPARE_LOADS_I if one.stack == "i" else L.COMPARE_LOADS_F
            return [[fused, *one.code[0][1:3], *other.code[0][1:3], number]]
        return [*one.code, *other.code, self._op((L.EQ_I if one.stack == "i" else L.EQ_F) + number)]

    def _arithmetic(self, operator: str, left: Value, right: Value, node: Expression) -> Value:
        decimal = Kind.DECIMAL in (left.kind, right.kind) and "f" not in (left.stack, right.stack)
        if decimal:
            return self._decimal_arithmetic(operator, left, right, node)
        one, other = self._aligned([left, right], node)
        stack = one.stack
        if stack == "i" and operator == "/":
            codes, stack = [self._to_float(one), self._to_float(other)], "f"
        else:
            codes = [one.code, other.code]
        kind = Kind.FLOAT if stack == "f" else other.kind if one.kind is Kind.NULL else one.kind
        if Kind.DURATION in (left.kind, right.kind):
            kind = Kind.TIMESTAMP if {left.kind, right.kind} != {Kind.DURATION} else Kind.DURATION
        elif left.kind in (Kind.TIMESTAMP, Kind.DATE):
            kind = Kind.DURATION
        table = _INTEGER_OPERATOR if stack == "i" else _FLOAT_OPERATOR
        type_ = {Kind.INTEGER: pa.int64(), Kind.FLOAT: pa.float64()}.get(kind)
        bound = integer_bound(operator, left, right) if kind is Kind.INTEGER else None
        return Value([*codes[0], *codes[1], self._op(table[operator])], stack, kind, type_, bound=bound)

    def _decimal_arithmetic(self, operator: str, left: Value, right: Value, node: Expression) -> Value:
        """Return a sum, difference, product or remainder, exact in 64 bits."""
        if operator == "/":
            self._refuse(
                node,
                f"{self._written(node)} divides decimals of several events, which has no exact result",
                "Multiply, as in a.x > 2 * b.y for a.x / b.y > 2, or divide floats, as in "
                "CAST(a.x AS DOUBLE) / b.y.",
            )
        if Kind.NULL in (left.kind, right.kind):
            return Value([self._op(L.NULL)], "i", Kind.NULL)
        left, right = self._plain(left, node), self._plain(right, node)
        if operator != "*":
            left, right = self._aligned([left, right], node)
        scale = left.scale + right.scale if operator == "*" else left.scale
        assert left.type is not None
        assert right.type is not None
        type_ = decimal_result(operator, left.type, right.type)
        lost = scale_of(left.type) + scale_of(right.type) if operator == "*" else 0
        if scale > MOST_SCALE or lost > type_.scale:
            self._refuse_digits(node)
        bound = (
            product_bound(left.bound, right.bound) if operator == "*" else sum_bound(left.bound, right.bound)
        )
        code = [*left.code, *right.code, self._op(_INTEGER_OPERATOR[operator])]
        return self._exact(Value(code, "i", Kind.DECIMAL, type_, scale, bound), node)

    def _predicate(self, node: In | Between | IsNull) -> Value:
        operand = self._compile(node.operand)
        if isinstance(node, IsNull):
            code = [*operand.code, self._op(L.IS_NULL)]
        elif isinstance(node, Between):
            low = self._comparison(">=", operand, self._compile(node.low), node)
            high = self._comparison("<=", operand, self._compile(node.high), node)
            code = [*low, *high, self._op(L.AND)]
        else:
            code = [self._op(L.CONST_I, 0)]
            for option in node.options:
                code += [*self._comparison("=", operand, self._compile(option), node), self._op(L.OR)]
        if node.negated:
            code.append(self._op(L.NOT))
        return Value(code, "i", Kind.BOOLEAN)

    def _cast(self, node: Cast) -> Value:
        value = self._compile(node.operand)
        self._check_unranked(value, node)
        return Value(self._to_float(value), "f", Kind.FLOAT, pa.float64())
