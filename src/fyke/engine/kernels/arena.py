"""All arrays of a kernel call behind one pointer.

Numba passes arrays by value, ten machine words each, and counts references to them: with two dozen
arrays that costs several times the work of the inner loops.  So kernels get an *arena*, one pointer to
a block of addresses and sizes; ``w.events[row, position]`` reads through it.  Without the compiler an arena
is an object with arrays.

To Numba a field is a *row* of values or *rows* of equal width: an address with sizes, without a reference
count.  Types and code stand here directly, not as overloads, each of which Numba would compile as a
function.  With checked bounds an index outside of a field is an IndexError; none counts from the end.

Each engine declares an arena of its own.  It begins with the fields of the class it extends, so that a
kernel of the shared rooms, which asks for that class, takes every engine's arena for one and is compiled
once.
"""

from __future__ import annotations

import ctypes
import operator
from collections.abc import Sequence
from typing import Any, ClassVar, get_type_hints

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.imputils import lower_builtin, lower_cast, lower_getattr_generic
from numba.core.typeconv.castgraph import Conversion
from numba.core.typing.templates import (
    AbstractTemplate,
    AttributeTemplate,
    infer_getattr,
    infer_global,
    signature,
)
from numba.extending import NativeValue, models, register_model, unbox
from numba.np.numpy_support import from_dtype

from fyke.engine.kernels.arrays import Array
from fyke.engine.kernels.modes import BOUNDSCHECK

_BYTE = ctypes.c_char
DATA, SIZE, WIDTH, WORDS = 0, 1, 2, 3  # of a field in a block: where it is, its rows or values, its columns


class Arena:
    """The arrays of a kernel call, by the names of its fields; it keeps them alive, and every field is given.

    ``address`` is that of the block that compiled kernels read: three words a field, in the order in which
    the fields are declared.
    """

    fields: ClassVar[dict[str, tuple[Any, int]]] = {}  # type and dimensions; (kind of arena, 0) for arenas
    address: int

    def __init_subclass__(cls) -> None:
        """Collect the fields, those of the class it extends first."""
        hints = get_type_hints(cls, include_extras=True)
        own = {name: hints[name].__metadata__ for name in cls.__annotations__}
        cls.fields = {**cls.fields, **own}

    def __init__(self, **arrays: Any) -> None:
        if arrays.keys() != self.fields.keys():
            wrong = sorted(arrays.keys() ^ self.fields.keys())
            raise TypeError(f"{type(self).__name__}: {', '.join(wrong)} missing or unknown")
        words = [word for name, kind in self.fields.items() for word in _words(name, kind, arrays[name])]
        self._block = np.array(words, np.int64)
        self.address = self._block.ctypes.data
        self.__dict__.update(arrays)

    def update(self, **arrays: Any) -> None:
        """Put other arrays in the place of some: between two calls of a kernel, which goes on with them."""
        for name, array in arrays.items():
            if self.__dict__[name] is not array:
                place = WORDS * list(self.fields).index(name)
                self._block[place : place + WORDS] = _words(name, self.fields[name], array)
                self.__dict__[name] = array


class Arenas(tuple[Arena, ...]):
    """Several arenas as one field of another."""

    addresses: Array

    def __new__(cls, arenas: Sequence[Arena]) -> Arenas:
        """Collect their addresses."""
        made = super().__new__(cls, arenas)
        made.addresses = np.array([each.address for each in arenas], np.int64)
        return made


def _words(name: str, kind: tuple[Any, int], array: Any) -> tuple[int, int, int]:
    """Return where an array is, and how many rows and columns it has."""
    if isinstance(array, Arenas):
        array = array.addresses
    else:
        assert (array.dtype, array.ndim) == kind, name
    assert array.flags.c_contiguous, name
    return _address(array), array.shape[0], array.shape[-1]


def _address(array: Any) -> int:
    """Return where an array begins; ``array.ctypes.data`` takes twice as long, fifty times a call."""
    if array.size and array.flags.writeable:
        return ctypes.addressof(_BYTE.from_buffer(array))
    return int(array.ctypes.data)


# --- arenas as Numba types ----------------------------------------------------------------------


class ArenaType(types.Type):
    """An arena of one kind."""

    def __init__(self, arena: type[Arena]) -> None:
        self.arena = arena
        super().__init__(name=arena.__name__)

    def can_convert_to(self, typing_context: Any, other: Any) -> Any:
        """Take an arena for one of the kind it extends."""
        if isinstance(other, ArenaType) and issubclass(self.arena, other.arena):
            return Conversion.safe
        return None


class ArenasType(types.Type):
    """Several arenas of one kind."""

    def __init__(self, arena: type[Arena]) -> None:
        self.arena = arena
        super().__init__(name=f"Arenas({arena.__name__})")


class RowType(types.Type):
    """Values side by side in memory."""

    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype
        super().__init__(name=f"Row({dtype})")


class RowsType(types.Type):
    """Rows of equal width in memory."""

    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype
        super().__init__(name=f"Rows({dtype})")


def type_of(dtype: Any, dimensions: int) -> Any:
    """Return the type of an array, or of arenas, as it is declared."""
    if dimensions == 0:
        return ArenasType(dtype)
    return (RowType if dimensions == 1 else RowsType)(from_dtype(dtype))


@register_model(ArenaType)
class _ArenaModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, cgutils.intp_t.as_pointer())


@register_model(ArenasType)
class _ArenasModel(models.StructModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, [("data", types.CPointer(types.intp)), ("size", types.intp)])


@register_model(RowType)
class _RowModel(models.StructModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, [("data", types.CPointer(kind.dtype)), ("size", types.intp)])


@register_model(RowsType)
class _RowsModel(models.StructModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        members = [("data", types.CPointer(kind.dtype)), ("size", types.intp), ("width", types.intp)]
        super().__init__(manager, kind, members)


# --- arenas ---------------------------------------------------------------------------------------


@unbox(ArenaType)
def _unbox_arena(kind: Any, obj: Any, c: Any) -> NativeValue:
    address = c.pyapi.object_getattr_string(obj, "address")
    pointer = c.builder.inttoptr(c.pyapi.long_as_ulonglong(address), cgutils.intp_t.as_pointer())
    c.pyapi.decref(address)
    return NativeValue(pointer, is_error=cgutils.is_not_null(c.builder, c.pyapi.err_occurred()))


@lower_cast(ArenaType, ArenaType)
def _take_for(context: Any, builder: Any, source: Any, target: Any, value: Any) -> Any:
    return value


@infer_getattr
class _Fields(AttributeTemplate):
    key = ArenaType

    def generic_resolve(self, kind: Any, name: str) -> Any:  # type: ignore[override]
        if name not in kind.arena.fields:
            return None
        return type_of(*kind.arena.fields[name])


@lower_getattr_generic(ArenaType)
def _read_field(context: Any, builder: Any, kind: Any, value: Any, name: str) -> Any:
    number = WORDS * list(kind.arena.fields).index(name)
    field = context.typing_context.resolve_getattr(kind, name)
    found = context.get_value_type(field)
    words = [_constant(builder, value, number + k) for k in range(len(found.elements))]
    words[0] = builder.inttoptr(words[0], found.elements[0])
    return _structure(builder, found, words)


def _constant(builder: Any, block: Any, number: int) -> Any:
    """Load a word of a block, which nothing writes to while a kernel runs: one load serves a whole loop."""
    word = builder.load(builder.gep(block, [cgutils.intp_t(number)]))
    word.set_metadata("invariant.load", builder.module.add_metadata([]))
    return word


def _structure(builder: Any, kind: Any, values: Sequence[Any]) -> Any:
    made = kind(ir.Undefined)
    for place, value in enumerate(values):
        made = builder.insert_value(made, value, place)
    return made


# --- rows -----------------------------------------------------------------------------------------


@unbox(RowType)
@unbox(RowsType)
def _unbox_rows(kind: Any, obj: Any, c: Any) -> NativeValue:
    """Take an array of Python's for rows; the caller has looked at its type, and keeps it alive."""
    array = types.Array(kind.dtype, 1 if isinstance(kind, RowType) else 2, "C")
    source = c.context.make_array(array)(c.context, c.builder)
    failed = c.pyapi.numba_array_adaptor(obj, c.builder.bitcast(source._getpointer(), c.pyapi.voidptr))
    shape = cgutils.unpack_tuple(c.builder, source.shape, array.ndim)
    made = _structure(c.builder, c.context.get_value_type(kind), [source.data, *shape])
    return NativeValue(made, is_error=cgutils.is_not_null(c.builder, failed))


def _is_pair(index: Any) -> bool:
    return isinstance(index, types.BaseTuple) and len(index) == 2


_PAIR = types.UniTuple(types.intp, 2)


@infer_global(operator.getitem)
class _GetItem(AbstractTemplate):
    def generic(self, args: Any, kws: Any) -> Any:
        rows, index = args
        if isinstance(rows, ArenasType):
            return signature(ArenaType(rows.arena), rows, types.intp)
        if isinstance(rows, RowType):
            return signature(rows.dtype, rows, types.intp)
        if isinstance(rows, RowsType):
            if _is_pair(index):
                return signature(rows.dtype, rows, _PAIR)
            return signature(RowType(rows.dtype), rows, types.intp)
        return None


@infer_global(operator.setitem)
class _SetItem(AbstractTemplate):
    def generic(self, args: Any, kws: Any) -> Any:
        rows, index, _ = args
        if isinstance(rows, RowType):
            return signature(types.none, rows, types.intp, rows.dtype)
        if isinstance(rows, RowsType) and _is_pair(index):
            return signature(types.none, rows, _PAIR, rows.dtype)
        return None


@infer_global(len)
class _Len(AbstractTemplate):
    def generic(self, args: Any, kws: Any) -> Any:
        if len(args) == 1 and isinstance(args[0], (RowType, RowsType, ArenasType)):
            return signature(types.intp, *args)
        return None


def _check(context: Any, builder: Any, index: Any, size: Any) -> None:
    with builder.if_then(builder.icmp_unsigned(">=", index, size), likely=False):
        context.call_conv.return_user_exc(builder, IndexError, ("an index of an array is out of bounds",))


def _value_at(context: Any, builder: Any, row: Any, index: Any) -> Any:
    """Return the address of a value of a row."""
    if BOUNDSCHECK:
        _check(context, builder, index, builder.extract_value(row, SIZE))
    return builder.gep(builder.extract_value(row, DATA), [index])


def _row_at(context: Any, builder: Any, rows: Any, index: Any) -> Any:
    """Return the address of a row."""
    if BOUNDSCHECK:
        _check(context, builder, index, builder.extract_value(rows, SIZE))
    begin = builder.mul(index, builder.extract_value(rows, WIDTH))
    return builder.gep(builder.extract_value(rows, DATA), [begin])


def _pair_at(context: Any, builder: Any, rows: Any, index: Any) -> Any:
    """Return the address of a value of rows."""
    row, column = (builder.extract_value(index, k) for k in range(2))
    if BOUNDSCHECK:
        _check(context, builder, column, builder.extract_value(rows, WIDTH))
    return builder.gep(_row_at(context, builder, rows, row), [column])


@lower_builtin(operator.getitem, RowType, types.intp)
def _get_value(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return context.unpack_value(builder, sig.args[0].dtype, _value_at(context, builder, *args))


@lower_builtin(operator.setitem, RowType, types.intp, types.Any)
def _set_value(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    context.pack_value(builder, sig.args[2], args[2], _value_at(context, builder, args[0], args[1]))
    return context.get_dummy_value()


@lower_builtin(operator.getitem, RowsType, types.UniTuple)
def _get_of_pair(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return context.unpack_value(builder, sig.args[0].dtype, _pair_at(context, builder, *args))


@lower_builtin(operator.setitem, RowsType, types.UniTuple, types.Any)
def _set_of_pair(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    context.pack_value(builder, sig.args[2], args[2], _pair_at(context, builder, args[0], args[1]))
    return context.get_dummy_value()


@lower_builtin(operator.getitem, RowsType, types.intp)
def _get_row(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    values = _row_at(context, builder, *args), builder.extract_value(args[0], WIDTH)
    return _structure(builder, context.get_value_type(sig.return_type), values)


@lower_builtin(operator.getitem, ArenasType, types.intp)
def _get_arena(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return builder.inttoptr(builder.load(_value_at(context, builder, *args)), cgutils.intp_t.as_pointer())


@lower_builtin(len, RowType)
@lower_builtin(len, RowsType)
@lower_builtin(len, ArenasType)
def _get_length(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return builder.extract_value(args[0], SIZE)
