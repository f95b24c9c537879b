"""How kernels are compiled: once per machine, into Numba's disk cache, one process at a time.

Cold compilation of the same cache by several processes has crashed, so :func:`compile_lock` guards
the first call of a process.  Set ``FYKE_JIT=0`` to run the kernels as plain Python (for coverage),
``FYKE_BOUNDSCHECK=1`` to check every index.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Callable, Iterator
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba.core.caching import IndexDataCacheFile

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows has no fcntl; there Spark runs one worker at a time
    fcntl = None  # type: ignore[assignment]

Function = TypeVar("Function", bound=Callable[..., Any])

ENABLED = os.environ.get("FYKE_JIT", "1") != "0"
BOUNDSCHECK = os.environ.get("FYKE_BOUNDSCHECK", "0") == "1"


def _digest_of_sources() -> str:
    digest = hashlib.blake2b(digest_size=8)
    kernels = resources.files("fyke.engine.kernels")
    for path in sorted(kernels.iterdir(), key=lambda path: path.name):
        if path.name.endswith(".py"):
            digest.update(path.read_bytes())
    return digest.hexdigest()


SOURCES = _digest_of_sources()


def jit(function: Function) -> Function:
    """Compile a kernel on its first call; the result is cached on disk.

    Numba takes a cached kernel for current if its own file has not changed, though it has those of
    other files compiled into it.  Here the sources of all kernels name the cache.
    """
    if not ENABLED:
        return function
    compiled: Any = numba.njit(function, cache=not BOUNDSCHECK, boundscheck=BOUNDSCHECK, error_model="numpy")
    if not BOUNDSCHECK:
        cache = compiled._cache
        base = f"{cache._impl.filename_base}-{SOURCES}"
        cache._cache_file = IndexDataCacheFile(cache._cache_path, base, SOURCES)
    return cast(Function, compiled)


@contextlib.contextmanager
def compile_lock() -> Iterator[None]:
    """Let one process at a time on this machine compile or load kernels."""
    if fcntl is None or not ENABLED or BOUNDSCHECK:  # with checked bounds nothing is cached
        yield
        return
    path = Path(tempfile.gettempdir()) / f"fyke-compile-{os.getuid()}.lock"
    with path.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(handle, fcntl.LOCK_UN)
