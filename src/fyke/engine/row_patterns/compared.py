"""Comparisons of plain numbers as bytes, in one pass: most conditions are one, and Arrow takes several."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from fyke.engine.conditions.columns import Column
from fyke.engine.kernels.arrays import Array
from fyke.language.ast import Binary, Expression, Literal, Reference
from fyke.logical.check_operators import COMPARISONS
from fyke.logical.value_types import literal_type

_MIRRORED = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_KINDS = (pa.int64(), pa.float64())


def compared(node: Expression, resolve: Callable[[Reference], Column | None]) -> Array | None:
    """Return where comparisons that AND joins are true, a byte a row; None if Arrow must evaluate them.

    They are of columns without nulls, of one type, with each other or with a number.  NaN is equal to itself
    and greater than everything else.
    """
    if not isinstance(node, Binary):
        return None
    if node.operator == "AND":
        left = compared(node.left, resolve)
        right = None if left is None else compared(node.right, resolve)
        return None if left is None or right is None else left & right
    if node.operator not in COMPARISONS:
        return None
    symbol, one, other = node.operator, node.left, node.right
    if isinstance(one, Literal):
        symbol, one, other = _MIRRORED[symbol], other, one
    values = _numbers(one, resolve)
    if values is None:
        return None
    if isinstance(other, Literal):
        return _with_number(symbol, values, other)
    others = _numbers(other, resolve)
    if others is None or others.dtype != values.dtype:
        return None
    return (_with_floats if values.dtype == np.float64 else _plain)(symbol, values, others)


def _numbers(node: Expression, resolve: Callable[[Reference], Column | None]) -> Array | None:
    column = resolve(node) if isinstance(node, Reference) else None
    if not isinstance(column, pa.Array) or column.type not in _KINDS or column.null_count:
        return None
    values: Array = column.to_numpy()
    return values


def _with_number(symbol: str, values: Array, literal: Literal) -> Array | None:
    kind = literal_type(literal)
    if kind not in _KINDS or (values.dtype == np.int64 and kind != pa.int64()):
        return None
    number = values.dtype.type(literal.value)
    if values.dtype == np.int64:
        return _plain(symbol, values, number)
    if math.isnan(number) or (isinstance(literal.value, int) and int(number) != literal.value):
        return None
    if symbol in (">", ">="):  # NaN is greater
        return _plain("<=" if symbol == ">" else "<", values, number) ^ np.uint8(1)
    return _plain(symbol, values, number)


def _with_floats(symbol: str, left: Array, right: Array) -> Array:
    if symbol in (">", ">="):
        symbol, left, right = _MIRRORED[symbol], right, left
    if symbol == "<":
        return (_plain(">=", left, right) ^ np.uint8(1)) & _plain("=", left, left)
    if symbol == "<=":
        return _plain("<=", left, right) | _plain("!=", right, right)
    odd = _plain("!=", left, left) & _plain("!=", right, right)
    equal = _plain("=", left, right) | odd
    return equal if symbol == "=" else equal ^ np.uint8(1)


def _plain(symbol: str, left: Array, right: Array | np.number[Any]) -> Array:
    return np.asarray(_COMPARE[symbol](left, right)).view(np.uint8)


_COMPARE = {
    "=": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}
