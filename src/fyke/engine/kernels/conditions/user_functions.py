"""Calls of user functions by address, so that no kernel is compiled anew for them.

A user function of up to six numbers is compiled into a C function of exactly six doubles
(:func:`address_of`); the kernel calls it through its address.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from fyke.engine.kernels.jit import jit
from fyke.engine.kernels.modes import ENABLED

MAX_ARGUMENTS = 6
_C_SIGNATURE = ctypes.CFUNCTYPE(ctypes.c_double, *[ctypes.c_double] * MAX_ARGUMENTS)


def _by_address(typing_context: Any, address: Any, a: Any, b: Any, c: Any, d: Any, e: Any, f: Any) -> Any:
    """Call the C function at an address with six doubles."""
    signature = types.float64(types.int64, *[types.float64] * MAX_ARGUMENTS)

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        double = ir.DoubleType()
        kind = ir.FunctionType(double, [double] * MAX_ARGUMENTS)
        return builder.call(builder.inttoptr(values[0], kind.as_pointer()), values[1:])

    return signature, generate


def _by_ctypes(address: int, *values: float) -> float:
    return float(_C_SIGNATURE(int(address))(*values))


_invoke: Callable[..., Any] = intrinsic(_by_address) if ENABLED else _by_ctypes


@jit
def call_external(address, count, stack, first):
    """Call the function at ``address`` with ``count`` numbers of the stack."""
    a = stack[first]
    b = stack[first + 1] if count > 1 else 0.0
    c = stack[first + 2] if count > 2 else 0.0
    d = stack[first + 3] if count > 3 else 0.0
    e = stack[first + 4] if count > 4 else 0.0
    f = stack[first + 5] if count > 5 else 0.0
    return _invoke(address, a, b, c, d, e, f)
