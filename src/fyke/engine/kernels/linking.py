"""How the functions of a kernel become one: each is translated once, and all are optimised together.

Numba makes a library of machine code of every function, with all functions it calls compiled in, so that
what is called from many places, or from deep down, is optimised and translated anew on every level.  Here
a function that only kernels call stays as it is translated from Python; the library of an entry takes in
all that it reaches, once, and only that is optimised.
"""

from __future__ import annotations

import operator
from typing import Any, ClassVar

from llvmlite import binding as llvm
from numba.core import cgutils, compiler, types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler_machinery import PassManager
from numba.core.typed_passes import (
    IRLegalization,
    NativeLowering,
    NoPythonBackend,
    NopythonTypeInference,
    PreLowerStripPhis,
)
from numba.core.untyped_passes import (
    DeadBranchPrune,
    FixupArgs,
    IRProcessing,
    ReconstructSSA,
    TranslateByteCode,
)
from numba.extending import models, register_model


class _Nowhere:
    """The code generator of a library that is never executed by itself: it has no environment to fill."""

    def __init__(self, codegen: Any) -> None:
        self._codegen = codegen

    def __getattr__(self, name: str) -> Any:
        return getattr(self._codegen, name)

    def set_env(self, env_name: str, env: Any) -> None:
        """Leave it out."""


class _Library(JITCodeLibrary):
    """A library that takes over what the libraries it is linked with are linked with."""

    def add_linking_library(self, library: Any) -> None:
        """Link a library, and what it needs."""
        super().add_linking_library(library)
        if isinstance(library, _Library):
            self._linking_libraries.extend(library._linking_libraries)

    def add_ir_module(self, ir_module: Any) -> None:
        """Take in a module as it is."""
        self._raise_if_finalized()
        module = llvm.parse_assembly(cgutils.normalize_ir_text(str(ir_module)))
        module.name, module.data_layout = ir_module.name, self._codegen._data_layout
        self._final_module.link_in(module)

    def _optimize_final_module(self) -> None:
        self._optimize_functions(self._final_module)
        super()._optimize_final_module()


class PartLibrary(_Library):
    """The library of a function that only kernels call: it is never optimised, nor executed."""

    @property
    def codegen(self) -> Any:
        """The code generator, without its engine."""
        return _Nowhere(self._codegen)

    def finalize(self) -> None:
        """Take nothing in any more."""
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Return null: Python cannot call it."""
        return 0


class _Known(types.Function):
    """A function of Numba's own that remembers its signatures."""

    def __init__(self, function: Any) -> None:
        super().__init__(function.templates)
        self._signatures: dict[Any, Any] = {}

    def get_call_type(self, context: Any, args: Any, kws: Any) -> Any:
        """Return the signature of a call."""
        if kws:
            return super().get_call_type(context, args, kws)
        if self.typing_key in _OPERATORS:
            args = tuple(map(types.unliteral, args))
        if args not in self._signatures:
            self._signatures[args] = super().get_call_type(context, args, kws)
        return self._signatures[args]


register_model(_Known)(models.OpaqueModel)


class _Types:
    """Numba's typing context, which remembers what it has found out.

    To type ``a + b`` or ``w.field`` Numba asks a few dozen templates in turn, each time anew.
    """

    _functions: ClassVar[dict[Any, _Known]] = {}
    _attributes: ClassVar[dict[Any, Any]] = {}

    def __init__(self, context: Any) -> None:
        self._context = context

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)

    def resolve_value_type(self, value: Any) -> Any:
        """Return the type of a constant; a function of Numba's own is one that remembers."""
        kind = self._context.resolve_value_type(value)
        if type(kind) is not types.Function:
            return kind
        if kind not in self._functions:
            self._functions[kind] = _Known(kind)
        return self._functions[kind]

    def resolve_function_type(self, function: Any, args: Any, kws: Any) -> Any:
        """Return the signature of a call."""
        if isinstance(function, _Known):
            return function.get_call_type(self._context, args, kws)
        return self._context.resolve_function_type(function, args, kws)

    def resolve_setitem(self, target: Any, index: Any, value: Any) -> Any:
        """Return the signature of an assignment to an element."""
        return self.resolve_value_type(operator.setitem).get_call_type(
            self._context, (target, index, value), {}
        )

    def resolve_getattr(self, kind: Any, name: str) -> Any:
        """Return the type of an attribute: a field of an arena, a number in a layout, a function of numpy."""
        if (kind, name) not in self._attributes:
            found = self._context.resolve_getattr(kind, name)
            if type(found) is types.Function:
                found = self._functions.setdefault(found, _Known(found))
            self._attributes[kind, name] = found
        return self._attributes[kind, name]


_OPERATORS = {getattr(operator, name) for name in operator.__all__} - {operator.getitem}
_PASSES = (
    TranslateByteCode,
    FixupArgs,
    IRProcessing,
    DeadBranchPrune,
    ReconstructSSA,
    NopythonTypeInference,
    PreLowerStripPhis,
    IRLegalization,
    NativeLowering,
    NoPythonBackend,
)


class _Compiler(compiler.CompilerBase):
    """Numba's compiler with a library of our own, and only the passes that kernels need.

    They have no closures, no array expressions, no ``with`` and no ``raise`` to be rewritten.
    """

    _library: type[_Library]

    def define_pipelines(self) -> Any:
        """Return what a function goes through."""
        passes = PassManager("kernel")
        for each in _PASSES:
            passes.add_pass(each, each.__name__)
        passes.finalize()
        return [passes]

    def compile_extra(self, func: Any) -> Any:
        """Compile a function."""
        library = self._library(self.state.targetctx.codegen(), func.__qualname__)
        library.enable_object_caching()
        self.state.library = library
        self.state.typingctx = self.state.targetctx.typing_context = _Types(self.state.typingctx)
        return super().compile_extra(func)


class PartCompiler(_Compiler):
    """The compiler of functions that only kernels call."""

    _library = PartLibrary


class EntryCompiler(_Compiler):
    """The compiler of functions that Python calls."""

    _library = _Library
