"""User functions to compiled ones that the kernels call by address."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

import numba
from numba import types
from numba.core.errors import NumbaError

from fyke.engine.kernels.conditions.user_functions import MAX_ARGUMENTS
from fyke.errors import OptionError, shown

__all__ = ["MAX_ARGUMENTS", "RAISED", "calling", "compile_external"]


# What a compiled function returns where it raises: no function does so by chance.
RAISED = float.fromhex("-0x1.f7a3c59d2b681p-917")
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")  # Numba writes its errors for a terminal


@functools.lru_cache(maxsize=64)  # checked when it is given, then run, often with every batch of a stream
def compile_external(name: str, function: Callable[..., float], arity: int) -> Any:
    """Compile a Python function of ``arity`` numbers; keep the result alive while it is used.

    The compiled one takes six, and returns :data:`RAISED` where the function raises.

    Raises
    ------
    OptionError
        If Numba cannot compile it.
    """
    try:
        inner = numba.njit(function)
    except TypeError as error:  # a callable object, or a function of C
        raise OptionError(
            f"function {name!r} cannot be compiled: {shown(function)} is no function of Python",
            remedy=f"Wrap it, as in functions={{{name!r}: lambda x: f(x)}}.",
        ) from error
    body = _guarded(inner, arity)
    try:
        inner.compile((types.float64,) * arity)
        (signature,) = inner.nopython_signatures
        if not isinstance(signature.return_type, (types.Number, types.Boolean)):
            raise OptionError(
                f"function {name!r} returns no number",
                remedy="It must return a number for some arguments; where it raises, it is null.",
            )
        return numba.cfunc(types.float64(*[types.float64] * MAX_ARGUMENTS))(body)
    except NumbaError as error:
        lines = [line.strip() for line in _COLOURS.sub("", str(error)).splitlines()]
        reason = next((line for line in lines if line and not line.startswith("Failed in")), "")
        raise OptionError(
            f"function {name!r} cannot be compiled: {reason}",
            remedy="It must take and return numbers, and use only what Numba knows: arithmetic, math, numpy.",
        ) from error


def _guarded(inner: Any, arity: int) -> Callable[..., float]:
    """Return a function of six numbers of which ``inner`` takes the first ones."""
    raised = RAISED

    # Numba compiles no call with a tuple of arguments whose length it does not see.
    def one(a: float, b: float, c: float, d: float, e: float, f: float) -> float:
        try:
            return float(inner(a))
        except Exception:
            return raised

    def two(a: float, b: float, c: float, d: float, e: float, f: float) -> float:
        try:
            return float(inner(a, b))
        except Exception:
            return raised

    def three(a: float, b: float, c: float, d: float, e: float, f: float) -> float:
        try:
            return float(inner(a, b, c))
        except Exception:
            return raised

    def four(a: float, b: float, c: float, d: float, e: float, f: float) -> float:
        try:
            return float(inner(a, b, c, d))
        except Exception:
            return raised

    def five(a: float, b: float, c: float, d: float, e: float, f: float) -> float:
        try:
            return float(inner(a, b, c, d, e))
        except Exception:
            return raised

    def six(a: float, b: float, c: float, d: float, e: float, f: float) -> float:
        try:
            return float(inner(a, b, c, d, e, f))
        except Exception:
            return raised

    return (one, two, three, four, five, six)[arity - 1]


def calling(name: str, function: Callable[..., float], arity: int) -> Callable[..., float | None]:
    """Return a user function as conditions have it: compiled, and null for null or where it raises."""
    compiled = compile_external(name, function, arity)
    missing = [0.0] * (MAX_ARGUMENTS - arity)

    def call(*values: float | None) -> float | None:
        if None in values:
            return None
        result = float(compiled.ctypes(*values, *missing))
        return None if result == RAISED else result

    return call
