"""User functions to compiled ones that the kernels call by address."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
from numba import types
from numba.core.errors import NumbaError

from fyke.engine.kernels.conditions.user_functions import MAX_ARGUMENTS
from fyke.errors import OptionError, shown

__all__ = ["MAX_ARGUMENTS", "compile_external"]


def compile_external(name: str, function: Callable[..., float], arity: int) -> Any:
    """Compile a Python function of ``arity`` numbers; keep the result alive while it is used.

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
    bodies: dict[int, Callable[..., float]] = {
        1: lambda a, b, c, d, e, f: float(inner(a)),
        2: lambda a, b, c, d, e, f: float(inner(a, b)),
        3: lambda a, b, c, d, e, f: float(inner(a, b, c)),
        4: lambda a, b, c, d, e, f: float(inner(a, b, c, d)),
        5: lambda a, b, c, d, e, f: float(inner(a, b, c, d, e)),
        6: lambda a, b, c, d, e, f: float(inner(a, b, c, d, e, f)),
    }
    try:
        return numba.cfunc(types.float64(*[types.float64] * MAX_ARGUMENTS))(bodies[arity])
    except NumbaError as error:
        lines = [line.strip() for line in str(error).splitlines()]
        reason = next((line for line in lines if line and not line.startswith("Failed in")), "")
        raise OptionError(
            f"function {name!r} cannot be compiled: {reason}",
            remedy="It must take and return numbers, and use only what Numba knows: arithmetic, math, numpy.",
        ) from error
