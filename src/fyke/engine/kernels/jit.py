"""How kernels are compiled: on their first call, once per machine.

Python calls an :func:`entry`; what only kernels call is :func:`jit` and is compiled into each entry that
needs it (:mod:`fyke.engine.kernels.linking`).  Entries are kept on disk (:mod:`fyke.engine.kernels.cache`).
Set ``FYKE_JIT=0`` to run the kernels as plain Python (for coverage), ``FYKE_BOUNDSCHECK=1`` to check every
index.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import inspect
import threading
from collections.abc import Callable
from importlib import resources
from time import perf_counter
from typing import TYPE_CHECKING, Any, TypeVar, cast, get_type_hints

from numba import types
from numba.core.registry import CPUDispatcher

from fyke.engine.kernels.ahead import compile_the_others
from fyke.engine.kernels.arena import ArenaType, type_of
from fyke.engine.kernels.cache import KernelCache, compile_lock, say_once
from fyke.engine.kernels.linking import EntryCompiler, PartCompiler
from fyke.engine.kernels.modes import BOUNDSCHECK, ENABLED

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable  # Python 3.10 has it elsewhere

Function = TypeVar("Function", bound=Callable[..., Any])

_WAIT = "Fyke compiles its kernels for this machine, which takes some seconds and is kept for the next time."
_BACKGROUND = " Those of other queries are compiled in the background"
_NO_BACKGROUND = " Queries of other kinds may need more of them"
_AHEAD = "; fyke.warm_up() compiles all of them ahead."
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
    digest = hashlib.blake2b(f"bounds {BOUNDSCHECK}".encode(), digest_size=16)
    for name in sorted(seen):
        digest.update(name.encode() + b"\0" + _path_of(name).read_bytes())
    return digest.hexdigest()


class _Part(CPUDispatcher):
    """A compiled function; an arena is to it of the kind that its annotations ask for."""

    def __init__(self, function: Any, compiler: Any, **options: Any) -> None:
        options |= {"nopython": True, "boundscheck": BOUNDSCHECK, "error_model": "numpy", "_nrt": False}
        options["nogil"] = True  # kernels know arrays alone, and threads run them side by side
        super().__init__(
            function, targetoptions={**options, "no_cfunc_wrapper": True}, pipeline_class=compiler
        )

    def __call__(self, *arguments: Any) -> Any:
        """Refuse to be called: there is no machine code for Python."""
        raise TypeError(f"{self.py_func.__name__} is called by kernels only")

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Compile once for all arenas that extend one kind, and for all numbers that are constants."""
        names = self.py_func.__code__.co_varnames
        return super().get_call_template(tuple(map(self._narrowed, names, args)), kws)

    def _narrowed(self, name: str, kind: Any) -> Any:
        asked = self.py_func.__globals__.get(self.py_func.__annotations__.get(name, ""))
        return types.unliteral(kind) if asked is None else type(kind)(asked)


def jit(function: Function) -> Function:
    """Compile a function that only kernels call: it is compiled into each :func:`entry` that needs it."""
    return cast(Function, _Part(function, PartCompiler, no_cpython_wrapper=True)) if ENABLED else function


class Entry:
    """A kernel that Python calls, compiled or loaded on the first call.

    Its annotations say for which types: arenas, arrays (:mod:`fyke.engine.kernels.kinds`), ``bool``,
    otherwise integers.
    """

    def __init__(self, function: Any) -> None:
        functools.update_wrapper(self, function)
        module = function.__module__
        self.name = f"{module.removeprefix(f'{_KERNELS}.')}.{function.__name__}"
        self._kernel = cast(Any, _Part(function, EntryCompiler))
        self._kernel._cache = KernelCache(self.name, functools.partial(digest_of_sources, module))
        self._code: Any = None
        hints = get_type_hints(function, include_extras=True)
        self._kinds: list[Any] = [hints.get(name) for name in inspect.signature(function).parameters]
        self._arrays = [(k, *each.__metadata__) for k, each in enumerate(self._kinds) if _is_array(each)]

    def __call__(self, *arguments: Any) -> Any:
        """Call it; an array of another type would be taken for what it is not."""
        for place, dtype, dimensions in self._arrays:
            array = arguments[place]
            if array.dtype != dtype or array.ndim != dimensions or not array.flags.c_contiguous:
                raise TypeError(f"{self.name}: argument {place} is not contiguous {dtype} of {dimensions}")
        if self._code is None:
            self.compile()
        return self._code(*arguments)

    @property
    def compiled(self) -> bool:
        """Whether this process has it."""
        return self._code is not None

    def is_on_disk(self) -> bool:
        """Say whether it has been compiled on this machine before."""
        return bool(self._kernel._cache.is_there(self._signature(), self._kernel.targetctx))

    def _signature(self) -> tuple[Any, ...]:
        return tuple(map(_type_of, self._kinds))

    def compile(self, *, announced: bool = False, background: bool = False) -> None:
        """Load or compile it; the first to be compiled is announced.

        A process that compiles the same kernel is waited for.  In the ``background`` this process keeps no
        lock while it compiles: it may have the lowest priority, and no other should wait for it.
        """
        begin = perf_counter()
        kernel, signature = self._kernel, self._signature()
        if self.is_on_disk():
            kernel.compile(signature)
        else:
            if not announced:
                say_once(_WAIT + (_BACKGROUND if compile_the_others() else _NO_BACKGROUND) + _AHEAD)
            with compile_lock(self.name):  # another process may have compiled it until then
                if not background:
                    kernel.compile(signature)
            if background:
                kernel.compile(signature)
        self._code = kernel.overloads[signature].entry_point
        spent = perf_counter() - begin
        _own.seconds = seconds_compiling() + spent
        _all[0] += spent


def _is_array(kind: Any) -> bool:
    return hasattr(kind, "__metadata__")


def _type_of(kind: Any) -> Any:
    """Return Numba's type for an annotation."""
    if _is_array(kind):
        return type_of(*kind.__metadata__)
    if kind is None:
        return types.int64
    return types.boolean if kind is bool else ArenaType(kind)


ENTRIES: list[Entry] = []
_own, _all = threading.local(), [0.0]


def seconds_compiling() -> float:
    """Return how long this thread has loaded or compiled kernels so far."""
    return cast(float, getattr(_own, "seconds", 0.0))


def seconds_of_all_threads() -> float:
    """Return how long the threads of this process have loaded or compiled kernels so far."""
    return _all[0]


def entry(function: Function) -> Function:
    """Compile a kernel that Python calls; see :class:`Entry`."""
    if not ENABLED:
        return function
    ENTRIES.append(Entry(function))
    return cast(Function, ENTRIES[-1])
