"""How kernels are compiled: once per machine, into Numba's disk cache, one process at a time.

Cold compilation of the same cache by several processes has crashed, so :func:`compile_lock` guards
the first call of a process.  Set ``FYKE_JIT=0`` to run the kernels as plain Python (for coverage),
``FYKE_BOUNDSCHECK=1`` to check every index.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba.core import cgutils
from numba.extending import intrinsic

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows has no fcntl; there Spark runs one worker at a time
    fcntl = None  # type: ignore[assignment]

Function = TypeVar("Function", bound=Callable[..., Any])

ENABLED = os.environ.get("FYKE_JIT", "1") != "0"
BOUNDSCHECK = os.environ.get("FYKE_BOUNDSCHECK", "0") == "1"


def jit(function: Function) -> Function:
    """Compile a kernel on its first call; the result is cached on disk."""
    if not ENABLED:
        return function
    compiled: Function = numba.njit(
        function, cache=not BOUNDSCHECK, boundscheck=BOUNDSCHECK, error_model="numpy"
    )
    return compiled


@contextlib.contextmanager
def compile_lock() -> Iterator[None]:
    """Let one process at a time on this machine compile or load kernels."""
    if fcntl is None or not ENABLED:
        yield
        return
    path = Path(tempfile.gettempdir()) / f"fyke-compile-{os.getuid()}.lock"
    with path.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(handle, fcntl.LOCK_UN)


def _borrowed(typing_context: Any, array: Any) -> Any:
    """Return an array without its reference count.

    Numba counts references to every array it takes out of a bundle, atomically; in the inner loops
    that is most of the time.  A kernel's entry borrows its arrays: the caller keeps them alive.
    """

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        borrowed = context.make_array(signature.args[0])(context, builder, value=values[0])
        borrowed.meminfo = cgutils.get_null_value(borrowed.meminfo.type)
        borrowed.parent = cgutils.get_null_value(borrowed.parent.type)
        return borrowed._getvalue()

    return array(array), generate


def _itself(array: Any) -> Any:
    return array


borrow: Any = intrinsic(_borrowed) if ENABLED else _itself
