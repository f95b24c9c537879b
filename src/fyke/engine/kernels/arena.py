"""All arrays of a kernel call behind one pointer.

Numba passes arrays by value, ten machine words each, and counts references to them: with two dozen
arrays that costs several times the work of the inner loops.  So kernels get a *world*, one pointer to
a block of addresses and sizes; ``w.events[row, position]`` reads through it.  The types below make
that syntax mean the same as on NumPy arrays, so that without the compiler, and with bounds checks, a
world is simply a tuple of arrays (:class:`World`).
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, models, overload, overload_attribute, register_model
from numba.np.numpy_support import from_dtype

from fyke.engine.kernels.arrays import NUMBER
from fyke.engine.kernels.jit import BOUNDSCHECK, ENABLED, jit

Array = np.ndarray[Any, Any]
POINTERS = ENABLED and not BOUNDSCHECK


class World(NamedTuple):
    """The arrays of a kernel call.

    Events are read only: ``events`` has the rows of ``layout.EVENT_*``; ``cols_i`` and ``cols_f`` a row
    per derived column, with ``valid_*`` beside them; list columns are offsets in ``lists`` into
    ``values``; ``addresses`` are those of user functions.  Runs are a row of integers and a row of
    floats each; ``nodes`` (``layout.NODE_*``) are their bindings; ``loaded`` came with the state,
    ``saved`` go into it.  Matches are noted in ``heads`` and leave through ``out_positions``,
    ``out_variables`` and ``offsets``.  What follows ``limits`` is scratch: the stack of a condition, the
    elements of one substitution, the path of one match, the runs ``seen`` by hash, the events ``ahead``.
    From ``plan`` on it is what the lazy engines need, from ``tree`` on what join trees need.  Tallies
    follow, then the stack of a lazy search for an absence: bound and ``added`` events, ``frames``, and its
    ``budget`` of rows; ``fits`` are places of candidates for the last variable of a lazy search.
    """

    program: Array
    constants: Array
    events: Array
    cols_i: Array
    cols_f: Array
    valid_i: Array
    valid_f: Array
    lists: Array
    values: Array
    addresses: Array
    runs_i: Array
    runs_f: Array
    nodes: Array
    loaded_i: Array
    loaded_f: Array
    saved_i: Array
    saved_f: Array
    out_positions: Array
    out_variables: Array
    offsets: Array
    segments: Array
    cursor: Array
    limits: Array
    slots: Array
    lengths: Array
    stack_i: Array
    stack_f: Array
    nulls: Array
    elements: Array
    bounds: Array
    fill: Array
    places: Array
    before_i: Array
    before_f: Array
    after_i: Array
    after_f: Array
    kept_slots: Array
    kept_lengths: Array
    heads: Array
    path: Array
    branches: Array
    seen: Array
    ahead: Array
    plan: Array
    candidates: Array
    ranks: Array
    keys: Array
    entries: Array
    index_heads: Array
    reach: Array
    levels: Array
    intervals: Array
    chosen: Array
    prefix: Array
    kept_i: Array
    kept_f: Array
    out_alternative: Array
    counts: Array
    tree: Array
    buffers: Array
    rows: Array
    buckets: Array
    observed: Array
    subset_i: Array
    subset_f: Array
    values_i: Array
    values_f: Array
    values_ok: Array
    tally_i: Array
    tally_f: Array
    added: Array
    frames: Array
    budget: Array
    fits: Array


_FLOATS = {
    "constants", "cols_f", "values", "runs_f", "loaded_f", "saved_f", "stack_f", "before_f", "after_f",
    "kept_f", "subset_f", "values_f", "tally_f",
}  # fmt: skip
_NUMBERS = {"out_variables", "out_alternative"}
_BYTES = {"valid_i", "valid_f", "nulls", "values_ok"}
_FLAT = {
    "program", "constants", "values", "addresses", "offsets", "cursor", "limits", "slots", "lengths",
    "stack_i", "stack_f", "nulls", "elements", "bounds", "fill", "places", "before_i", "before_f", "after_i",
    "after_f", "kept_slots", "kept_lengths", "heads", "path", "branches", "seen", "ahead", "plan",
    "candidates", "keys", "entries", "chosen", "prefix", "out_positions", "out_variables",
    "out_alternative", "counts", "tree", "rows", "buckets", "budget",
    "fits",
}  # fmt: skip


def _dtype(name: str) -> Any:
    if name in _FLOATS:
        return np.float64
    return np.uint8 if name in _BYTES else NUMBER if name in _NUMBERS else np.int64


def _nothing(name: str) -> Array:
    return np.zeros(1 if name in _FLAT else (1, 1), _dtype(name))


def _address(name: str, array: Array) -> tuple[int, int, int]:
    """Return where an array is, and how many rows and columns it has."""
    assert array.flags.c_contiguous, name
    assert array.dtype == _dtype(name), name
    return array.ctypes.data, array.shape[0], array.shape[-1]


# What a kernel does not use: arrays of no meaning, the same ones for all calls.
_NOTHING = {name: _nothing(name) for name in World._fields}
_NOWHERE = np.array([_address(name, array) for name, array in _NOTHING.items()], np.int64)


def make_world(*first: Array, **others: Array) -> World:
    """Return a world of the ``first`` fields and ``others``; the rest has no meaning."""
    given = dict(zip(World._fields, first, strict=False))
    return World(**{**_NOTHING, **given, **others})


def pack_world(world: World) -> Any:
    """Return what kernels are called with: the block of addresses, or the arrays themselves."""
    if not POINTERS:
        return world
    block = _NOWHERE.copy()
    for row, (name, array) in enumerate(zip(World._fields, world, strict=True)):
        if array is not _NOTHING[name]:
            block[row] = _address(name, array)
    return block


def pack_worlds(packed: Sequence[Any]) -> Any:
    """Return several packed worlds as one argument of a kernel, which enters the k-th of them."""
    return np.stack(packed) if POINTERS else tuple(packed)


class WorldType(types.Type):
    """The Numba type of a world: a pointer to its block."""

    def __init__(self) -> None:
        super().__init__(name="World")


class RowType(types.Type):
    """A run of values in memory, without a reference count."""

    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype
        super().__init__(name=f"Row({dtype})")


class RowsType(types.Type):
    """Rows of equal width in memory, without a reference count."""

    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype
        super().__init__(name=f"Rows({dtype})")


@register_model(WorldType)
class _WorldModel(models.OpaqueModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind)
        self._be_type = cgutils.intp_t.as_pointer()

    def get_value_type(self) -> Any:
        return self._be_type

    def get_data_type(self) -> Any:
        return self._be_type

    def get_argument_type(self) -> Any:
        return self._be_type


@register_model(RowType)
class _RowModel(models.StructModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, [("data", types.CPointer(kind.dtype)), ("size", types.intp)])


@register_model(RowsType)
class _RowsModel(models.StructModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        members = [("data", types.CPointer(kind.dtype)), ("size", types.intp), ("width", types.intp)]
        super().__init__(manager, kind, members)


_WORLD = WorldType()


def _enter(typing_context: Any, block: Any) -> Any:
    """Take the address of a block as a world."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return context.make_array(signature.args[0])(context, builder, value=values[0]).data

    return _WORLD(block), generate


def _light(typing_context: Any, array: Any) -> Any:
    """Return a one-dimensional array as a row without a reference count; the caller keeps it alive."""
    kind = RowType(array.dtype)

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        source = context.make_array(signature.args[0])(context, builder, value=values[0])
        row = cgutils.create_struct_proxy(kind)(context, builder)
        row.data, row.size = source.data, source.nitems
        return row._getvalue()

    return kind(array), generate


def _itself(thing: Any) -> Any:
    return thing


enter: Any = intrinsic(_enter) if POINTERS else _itself
light: Any = intrinsic(_light) if POINTERS else _itself
if ENABLED and BOUNDSCHECK:
    enter = light = jit(_itself)


def _reader(number: int, kind: Any) -> Any:
    """Make the intrinsic that reads field ``number`` of a world as a row or as rows."""

    @intrinsic
    def read(typing_context: Any, world: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            words = [builder.load(builder.gep(values[0], [cgutils.intp_t(3 * number + k)])) for k in range(3)]
            found = cgutils.create_struct_proxy(kind)(context, builder)
            found.data = builder.inttoptr(words[0], context.get_value_type(types.CPointer(kind.dtype)))
            found.size = words[1]
            if isinstance(kind, RowsType):
                found.width = words[2]
            return found._getvalue()

        return kind(world), generate

    return read


def _define_field(number: int, name: str) -> None:
    dtype = from_dtype(np.dtype(_dtype(name)))
    read = _reader(number, RowType(dtype) if name in _FLAT else RowsType(dtype))

    @overload_attribute(WorldType, name)
    def attribute(world):
        return lambda world: read(world)


for _number, _name in enumerate(World._fields):
    _define_field(_number, _name)


@intrinsic
def _element(typing_context: Any, row: Any, index: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        source = cgutils.create_struct_proxy(signature.args[0])(context, builder, value=values[0])
        return builder.load(builder.gep(source.data, [values[1]]))

    return row.dtype(row, types.intp), generate


@intrinsic
def _set_element(typing_context: Any, row: Any, index: Any, value: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        target = cgutils.create_struct_proxy(signature.args[0])(context, builder, value=values[0])
        builder.store(values[2], builder.gep(target.data, [values[1]]))
        return context.get_dummy_value()

    return types.void(row, types.intp, row.dtype), generate


@intrinsic
def _row(typing_context: Any, rows: Any, index: Any) -> Any:
    kind = RowType(rows.dtype)

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        source = cgutils.create_struct_proxy(signature.args[0])(context, builder, value=values[0])
        row = cgutils.create_struct_proxy(kind)(context, builder)
        row.data = builder.gep(source.data, [builder.mul(values[1], source.width)])
        row.size = source.width
        return row._getvalue()

    return kind(rows, types.intp), generate


@intrinsic
def _size(typing_context: Any, rows: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return cgutils.create_struct_proxy(signature.args[0])(context, builder, value=values[0]).size

    return types.intp(rows), generate


@overload(operator.getitem)
def _get_item(rows, index):
    if isinstance(rows, RowType):
        return lambda rows, index: _element(rows, index)
    if isinstance(rows, RowsType) and isinstance(index, types.BaseTuple):
        return lambda rows, index: _element(_row(rows, index[0]), index[1])
    if isinstance(rows, RowsType):
        return lambda rows, index: _row(rows, index)
    return None


@overload(operator.setitem)
def _set_item(rows, index, value):
    if isinstance(rows, RowType):
        return lambda rows, index, value: _set_element(rows, index, value)
    if isinstance(rows, RowsType) and isinstance(index, types.BaseTuple):
        return lambda rows, index, value: _set_element(_row(rows, index[0]), index[1], value)
    return None


@overload(len)
def _length(rows):
    if isinstance(rows, (RowType, RowsType)):
        return lambda rows: _size(rows)
    return None
