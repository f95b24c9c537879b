"""Kinds of values, and the functions conditions may use on them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

import pyarrow as pa

from fyke.language.rules import COUNT_DISTINCT


class Kind(Enum):
    """What the language knows of a type: enough to say which operators make sense."""

    BOOLEAN = "boolean"
    INTEGER = "integer"
    FLOAT = "float"
    DECIMAL = "decimal"
    STRING = "string"
    TIMESTAMP = "timestamp"
    DATE = "date"
    DURATION = "duration"
    LIST = "list"
    BINARY = "binary"
    STRUCT = "struct"
    EVENT = "event"
    NULL = "null"
    OTHER = "other"


NUMERIC = frozenset({Kind.INTEGER, Kind.FLOAT, Kind.DECIMAL})
TEMPORAL = frozenset({Kind.TIMESTAMP, Kind.DATE})

_TESTS: tuple[tuple[Callable[[pa.DataType], bool], Kind], ...] = (
    (pa.types.is_null, Kind.NULL),
    (pa.types.is_boolean, Kind.BOOLEAN),
    (pa.types.is_integer, Kind.INTEGER),
    (pa.types.is_floating, Kind.FLOAT),
    (lambda arrow: pa.types.is_decimal(arrow) and arrow.precision <= 38, Kind.DECIMAL),
    (pa.types.is_string, Kind.STRING),
    (pa.types.is_large_string, Kind.STRING),
    (pa.types.is_string_view, Kind.STRING),
    (pa.types.is_timestamp, Kind.TIMESTAMP),
    (pa.types.is_date, Kind.DATE),
    (pa.types.is_duration, Kind.DURATION),
    (pa.types.is_binary, Kind.BINARY),
    (pa.types.is_large_binary, Kind.BINARY),
    (pa.types.is_fixed_size_binary, Kind.BINARY),
    (pa.types.is_list, Kind.LIST),
    (pa.types.is_large_list, Kind.LIST),
    (pa.types.is_fixed_size_list, Kind.LIST),
    (pa.types.is_struct, Kind.STRUCT),
)


def kind_of(arrow: pa.DataType) -> Kind:
    """Return the kind of an Arrow type; a dictionary has the kind of its values."""
    if pa.types.is_dictionary(arrow):
        return kind_of(arrow.value_type)
    return next((kind for test, kind in _TESTS if test(arrow)), Kind.OTHER)


def comparable(left: Kind, right: Kind) -> bool:
    """Say whether two kinds can be compared; NULL compares with everything (and is never true)."""
    if Kind.NULL in (left, right):
        return True
    if left in NUMERIC and right in NUMERIC:
        return True
    if left in TEMPORAL and right in TEMPORAL:
        return True
    return left is right and left not in (Kind.LIST, Kind.STRUCT, Kind.EVENT, Kind.OTHER)


@dataclass(frozen=True, slots=True)
class Function:
    """A built-in scalar function.

    ``arguments`` are the admitted kinds by position (the last repeats for the rest), between
    ``least`` and ``most`` of them.  ``result`` is a kind, or None for "as the arguments".
    ``across`` says that it may take attributes of several events: the engine's kernel has it.
    """

    arguments: tuple[frozenset[Kind], ...]
    least: int
    most: int | None
    result: Kind | None
    across: bool = False


_ANYTHING = frozenset(Kind) - {Kind.EVENT, Kind.OTHER}
_NUMBER = NUMERIC | {Kind.NULL}
_WHOLE = frozenset({Kind.INTEGER, Kind.NULL})
_ORDERED = NUMERIC | TEMPORAL | {Kind.STRING, Kind.DURATION, Kind.BOOLEAN, Kind.NULL}
_TEXT = frozenset({Kind.STRING, Kind.NULL})
_TRUTH = frozenset({Kind.BOOLEAN, Kind.NULL})
_TIME = TEMPORAL | {Kind.NULL}
_VECTOR = frozenset({Kind.LIST, Kind.NULL})


def _numeric(result: Kind | None, *, most: int = 1, least: int = 1) -> Function:
    return Function((_NUMBER,), least, most, result, across=True)


def _text(result: Kind, *others: frozenset[Kind], least: int | None = None) -> Function:
    kinds = (_TEXT, *others)
    return Function(kinds, least or len(kinds), len(kinds), result)


FUNCTIONS: dict[str, Function] = {
    "abs": _numeric(None),
    "sign": _numeric(Kind.FLOAT),
    "sqrt": _numeric(Kind.FLOAT),
    "exp": _numeric(Kind.FLOAT),
    "ln": _numeric(Kind.FLOAT),
    "log10": _numeric(Kind.FLOAT),
    "log2": _numeric(Kind.FLOAT),
    "pow": _numeric(Kind.FLOAT, least=2, most=2),
    "power": _numeric(Kind.FLOAT, least=2, most=2),
    "floor": _numeric(Kind.INTEGER),
    "ceil": _numeric(Kind.INTEGER),
    "round": Function((_NUMBER, frozenset({Kind.INTEGER})), 1, 2, None),
    "mod": _numeric(None, least=2, most=2),
    "least": Function((_ORDERED,), 2, None, None, across=True),
    "greatest": Function((_ORDERED,), 2, None, None, across=True),
    "coalesce": Function((_ANYTHING,), 1, None, None, across=True),
    "nullif": Function((_ANYTHING,), 2, 2, None, across=True),
    "if": Function((_TRUTH, _ANYTHING), 3, 3, None, across=True),
    "upper": _text(Kind.STRING),
    "lower": _text(Kind.STRING),
    "trim": _text(Kind.STRING),
    "length": _text(Kind.INTEGER),
    "substring": _text(Kind.STRING, _WHOLE, _WHOLE, least=2),
    "concat": Function((_TEXT,), 1, None, Kind.STRING),
    "startswith": _text(Kind.BOOLEAN, _TEXT),
    "endswith": _text(Kind.BOOLEAN, _TEXT),
    "contains": _text(Kind.BOOLEAN, _TEXT),
    "rlike": _text(Kind.BOOLEAN, frozenset({Kind.STRING})),
    "year": Function((_TIME,), 1, 1, Kind.INTEGER),
    "month": Function((_TIME,), 1, 1, Kind.INTEGER),
    "day": Function((_TIME,), 1, 1, Kind.INTEGER),
    "hour": Function((_TIME,), 1, 1, Kind.INTEGER),
    "minute": Function((_TIME,), 1, 1, Kind.INTEGER),
    "second": Function((_TIME,), 1, 1, Kind.INTEGER),
    "corr": Function((_VECTOR,), 2, 2, Kind.FLOAT, across=True),
    "size": Function((_VECTOR,), 1, 1, Kind.INTEGER),
    "element_at": Function((_VECTOR, _WHOLE), 2, 2, None),
}

ABOUT_NULLS = frozenset({"coalesce", "nullif", "if", "least", "greatest"})
"""Functions that may have a value although an argument has none."""

_SIMPLE = NUMERIC | {Kind.BOOLEAN, Kind.STRING, Kind.NULL}
CASTS: dict[Kind, frozenset[Kind]] = {
    Kind.BOOLEAN: _SIMPLE,
    Kind.INTEGER: _SIMPLE,
    Kind.FLOAT: _SIMPLE,
    Kind.DECIMAL: _SIMPLE,
    Kind.STRING: (_SIMPLE - {Kind.FLOAT}) | {Kind.DATE},
    Kind.DATE: TEMPORAL | {Kind.NULL},
    Kind.TIMESTAMP: TEMPORAL | {Kind.NULL},
}
"""The kinds that CAST takes, by the kind it makes.

A float has many texts, and a text can be a time in many ways: of these each engine has its own.
"""

COLLECT, MEDIAN = "collect", "median"
OF_RESULTS = frozenset({COLLECT, COUNT_DISTINCT, MEDIAN})
"""Aggregates that no run can keep up to date, event by event: they are for results only."""

AGGREGATES = frozenset({"avg", "sum", "min", "max", "count", "stddev", "first", "last"}) | OF_RESULTS
