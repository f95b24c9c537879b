"""How kernels are compiled: once per machine, into Numba's disk cache, one process at a time.

Cold compilation of the same cache by several processes has crashed, so :func:`compile_lock` guards
the first call of a process.  Set ``FYKE_JIT=0`` to run the kernels as plain Python (for coverage),
``FYKE_BOUNDSCHECK=1`` to check every index.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import hashlib
import os
import tempfile
from collections.abc import Callable, Iterator
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, TypeVar, cast

from numba.core.caching import IndexDataCacheFile
from numba.core.registry import CPUDispatcher

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows has no fcntl; there Spark runs one worker at a time
    fcntl = None  # type: ignore[assignment]

Function = TypeVar("Function", bound=Callable[..., Any])

ENABLED = os.environ.get("FYKE_JIT", "1") != "0"
BOUNDSCHECK = os.environ.get("FYKE_BOUNDSCHECK", "0") == "1"


_KERNELS = __name__.rpartition(".")[0]  # the package of all kernels


def _path_of(module: str) -> Traversable:
    """Return the source of a kernel, which may lie in an archive; there may be none of that name."""
    return resources.files(_KERNELS).joinpath(module.removeprefix(f"{_KERNELS}.").replace(".", "/") + ".py")


@functools.cache
def _imported(module: str) -> frozenset[str]:
    """Return the modules of kernels that a module imports."""
    found = set()
    for node in ast.walk(ast.parse(_path_of(module).read_bytes())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(_KERNELS):
            inner = [f"{node.module}.{alias.name}" for alias in node.names]
            found |= {name for name in (str(node.module), *inner) if _path_of(name).is_file()}
    return frozenset(found)


@functools.cache
def digest_of_sources(module: str) -> str:
    """Return a digest of the sources of a kernel: its own module, and all that it can have compiled in."""
    seen, waiting = {module}, [module]
    while waiting:
        new = _imported(waiting.pop()) - seen
        seen |= new
        waiting += new
    digest = hashlib.blake2b(digest_size=8)
    for name in sorted(seen):
        digest.update(name.encode() + b"\0" + _path_of(name).read_bytes())
    return digest.hexdigest()


class _Kernel(CPUDispatcher):
    """A compiled function that takes an arena for the kind that its annotations ask for."""

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Let all arenas of one kind, whatever they extend it by, share one compilation."""
        return super().get_call_template(
            tuple(map(self._narrowed, self.py_func.__code__.co_varnames, args)), kws
        )

    def _narrowed(self, name: str, kind: Any) -> Any:
        asked = self.py_func.__globals__.get(self.py_func.__annotations__.get(name, ""))
        return kind if asked is None else type(kind)(asked)


def _compiled(function: Function, **options: Any) -> Any:
    options |= {"nopython": True, "boundscheck": BOUNDSCHECK, "error_model": "numpy"}
    return _Kernel(function, targetoptions=options)


def jit(function: Function) -> Function:
    """Compile a function that only kernels call: it is compiled into each :func:`entry` that needs it."""
    return (
        cast(Function, _compiled(function, no_cpython_wrapper=True, no_cfunc_wrapper=True))
        if ENABLED
        else function
    )


def entry(function: Function) -> Function:
    """Compile a kernel that Python calls, on its first call; the result is cached on disk.

    Numba takes a cached kernel for current if its own file has not changed, though it has those of
    other files compiled into it.  Here the sources of all of them name the cache.
    """
    if not ENABLED:
        return function
    compiled = _compiled(function, no_cfunc_wrapper=True)
    if not BOUNDSCHECK:
        compiled.enable_caching()
        cache, sources = compiled._cache, digest_of_sources(function.__module__)
        base = f"{cache._impl.filename_base}-{sources}"
        cache._cache_file = IndexDataCacheFile(cache._cache_path, base, sources)
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
