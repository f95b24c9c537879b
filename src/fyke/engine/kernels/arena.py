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

import operator
from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, get_type_hints

import numpy as np
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
from numba.extending import NativeValue, models, register_model, typeof_impl, unbox
from numba.np.numpy_support import from_dtype

from fyke.engine.kernels.arrays import NUMBER, Array
from fyke.engine.kernels.jit import BOUNDSCHECK

# What a field is: the type of its values and the number of its dimensions.
Integers = Annotated[Array, np.int64, 1]
Floats = Annotated[Array, np.float64, 1]
Numbers = Annotated[Array, NUMBER, 1]
Bytes = Annotated[Array, np.uint8, 1]
IntegerRows = Annotated[Array, np.int64, 2]
FloatRows = Annotated[Array, np.float64, 2]
ByteRows = Annotated[Array, np.uint8, 2]

WORDS = 3  # of a field in a block: address, rows (or values), columns


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
        cls.fields = {**cls.fields, **{name: hints[name].__metadata__ for name in cls.__annotations__}}

    def __init__(self, **arrays: Any) -> None:
        if arrays.keys() != self.fields.keys():
            wrong = sorted(arrays.keys() ^ self.fields.keys())
            raise TypeError(f"{type(self).__name__}: {', '.join(wrong)} missing or unknown")
        words = [word for name, kind in self.fields.items() for word in _words(name, kind, arrays[name])]
        self._block = np.array(words, np.int64)
        self.address = self._block.ctypes.data
        self.__dict__.update(arrays)


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
    return array.ctypes.data, array.shape[0], array.shape[-1]


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


@typeof_impl.register(Arena)
def _typeof_arena(arena: Arena, context: Any) -> ArenaType:
    return ArenaType(type(arena))


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
        dtype, dimensions = kind.arena.fields[name]
        if dimensions == 0:
            return ArenasType(dtype)
        return (RowType if dimensions == 1 else RowsType)(from_dtype(np.dtype(dtype)))


@lower_getattr_generic(ArenaType)
def _read_field(context: Any, builder: Any, kind: Any, value: Any, name: str) -> Any:
    number = list(kind.arena.fields).index(name)
    field = context.typing_context.resolve_getattr(kind, name)
    words = [builder.load(builder.gep(value, [cgutils.intp_t(WORDS * number + k)])) for k in range(WORDS)]
    found = cgutils.create_struct_proxy(field)(context, builder)
    dtype = types.intp if isinstance(field, ArenasType) else field.dtype
    found.data = builder.inttoptr(words[0], context.get_value_type(types.CPointer(dtype)))
    found.size = words[1]
    if isinstance(field, RowsType):
        found.width = words[2]
    return found._getvalue()


# --- rows -----------------------------------------------------------------------------------------


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
    if BOUNDSCHECK:
        outside = builder.icmp_unsigned(">=", index, size)
        with builder.if_then(outside, likely=False):
            context.call_conv.return_user_exc(builder, IndexError, ("an index of an arena is out of bounds",))


def _struct(context: Any, builder: Any, kind: Any, value: Any = None) -> Any:
    return cgutils.create_struct_proxy(kind)(context, builder, value=value)


def _value_at(context: Any, builder: Any, kind: Any, rows: Any, index: Any) -> Any:
    """Return the address of a value of a row."""
    source = _struct(context, builder, kind, rows)
    _check(context, builder, index, source.size)
    return builder.gep(source.data, [index], inbounds=True)


def _pair_at(context: Any, builder: Any, kind: Any, rows: Any, index: Any) -> Any:
    """Return the address of a value of rows."""
    source = _struct(context, builder, kind, rows)
    row, column = (builder.extract_value(index, k) for k in range(2))
    _check(context, builder, row, source.size)
    _check(context, builder, column, source.width)
    begin = builder.gep(source.data, [builder.mul(row, source.width)])
    return builder.gep(begin, [column])


@lower_builtin(operator.getitem, RowType, types.intp)
def _get_value(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return builder.load(_value_at(context, builder, sig.args[0], *args))


@lower_builtin(operator.setitem, RowType, types.intp, types.Any)
def _set_value(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    builder.store(args[2], _value_at(context, builder, sig.args[0], args[0], args[1]))
    return context.get_dummy_value()


@lower_builtin(operator.getitem, RowsType, types.UniTuple)
def _get_of_pair(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return builder.load(_pair_at(context, builder, sig.args[0], *args))


@lower_builtin(operator.setitem, RowsType, types.UniTuple, types.Any)
def _set_of_pair(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    builder.store(args[2], _pair_at(context, builder, sig.args[0], args[0], args[1]))
    return context.get_dummy_value()


@lower_builtin(operator.getitem, RowsType, types.intp)
def _get_row(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    source = _struct(context, builder, sig.args[0], args[0])
    _check(context, builder, args[1], source.size)
    row = _struct(context, builder, sig.return_type)
    row.data = builder.gep(source.data, [builder.mul(args[1], source.width)])
    row.size = source.width
    return row._getvalue()


@lower_builtin(operator.getitem, ArenasType, types.intp)
def _get_arena(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    address = builder.load(_value_at(context, builder, sig.args[0], *args))
    return builder.inttoptr(address, cgutils.intp_t.as_pointer())


@lower_builtin(len, RowType)
@lower_builtin(len, RowsType)
@lower_builtin(len, ArenasType)
def _get_length(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return _struct(context, builder, sig.args[0], args[0]).size
