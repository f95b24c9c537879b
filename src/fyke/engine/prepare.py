"""A table of events to a prepared batch: roles and derived columns, computed by Arrow."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fyke.engine.evaluate import Column, evaluate
from fyke.engine.kernels.arrays import Array
from fyke.engine.order import times
from fyke.language.ast import Expression, Reference, Strategy, walk
from fyke.plan.plan import ROLES, every_row_counts
from fyke.plan.pushdown import Pushed, physical


def derived_types(pushed: Pushed) -> dict[str, pa.DataType]:
    """Return the types of the derived columns, learnt from a table without rows."""
    columns: Mapping[str, pa.DataType] = pushed.analysed.schema.columns
    nothing = pa.table({name: pa.array([], kind) for name, kind in columns.items()})
    return {derived.name: _derive(nothing, derived.expression).type for derived in pushed.made}


def prepare(table: pa.Table, pushed: Pushed, *, whole_input: bool = False) -> pa.Table:
    """Return the prepared batch of a table: needed attributes, roles, derived columns.

    Rows that can play no role are left out where they do not matter ([S] 5.2.1), and so are rows
    that are in no partition.  Where times are equal every column has a say in the processing order,
    so all come along, unless this is the ``whole_input`` and no two times are equal.
    """
    roles = _roles(table, pushed)
    schema = pushed.analysed.schema
    ends = times(table.column(schema.end))
    relevant = _relevant(table, roles, pushed)
    distinct = whole_input and _all_different(ends if relevant is None else ends[relevant])
    carried = dict.fromkeys(pushed.needed)
    if not distinct:
        carried |= dict.fromkeys(schema.order_columns())
    if relevant is not None:
        used = dict.fromkeys((*carried, *_mentioned(pushed)))
        table, roles = table.select(list(used)).take(pa.array(relevant)), roles[relevant]
    columns = {name: table.column(name) for name in carried}
    columns[ROLES] = pa.chunked_array([pa.array(roles)])
    for derived in pushed.made:
        name = physical(derived)
        if name not in columns:
            columns[name] = pa.chunked_array([_derive(table, derived.expression)])
    return pa.table(columns)


def _relevant(table: pa.Table, roles: Array, pushed: Pushed) -> Array | None:
    """Return the positions of the rows that must reach the engine; None if all must."""
    keep = np.ones(len(roles), bool) if every_row_counts(pushed) else roles != 0
    if pushed.analysed.form.strategy is not Strategy.STRICT:
        for name in pushed.split:
            if table.column(name).null_count:
                keep &= table.column(name).is_valid().to_numpy()
    return None if keep.all() else np.flatnonzero(keep)


def _all_different(ends: Array) -> bool:
    if len(ends) > 1 and not bool((ends[1:] > ends[:-1]).all()):
        ends = np.sort(ends)
    return bool((ends[1:] != ends[:-1]).all())


def _mentioned(pushed: Pushed) -> set[str]:
    nodes = (node for derived in pushed.made for node in walk(derived.expression))
    return {node.path[0] for node in nodes if isinstance(node, Reference)}


def _derive(table: pa.Table, expression: Expression) -> pa.Array:
    value = evaluate(expression, lambda node: _column(table, node))
    return value if isinstance(value, pa.Array) else pa.repeat(value, table.num_rows)


def _column(table: pa.Table, node: Expression) -> Column | None:
    if not isinstance(node, Reference):
        return None
    array = table.column(node.path[0]).combine_chunks()
    for name in node.path[1:]:
        array = pc.struct_field(array, name)
    return array


def _roles(table: pa.Table, pushed: Pushed) -> Array:
    """Return, as bits, the roles each row can play."""
    roles = np.zeros(table.num_rows, np.int64)
    type_column = pushed.analysed.schema.type_column
    codes: dict[str, int] = {}
    if type_column is not None:
        column = table.column(type_column).combine_chunks()
        encoded = (
            column if isinstance(column, pa.DictionaryArray) else column.cast(pa.string()).dictionary_encode()
        )
        numbers = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        codes = {str(value): code for code, value in enumerate(encoded.dictionary.to_pylist())}
    plain = [role for role in pushed.roles if not role.conditions]
    if type_column is not None and plain:
        # One row of bits per type, and one for rows of any other.
        by_type = np.zeros(len(codes) + 1, np.int64)
        for role in plain:
            by_type[slice(None) if role.type is None else codes.get(role.type, -1)] |= 1 << role.bit
        by_type[-1] = sum(1 << role.bit for role in plain if role.type is None)
        roles = by_type[numbers]
    for role in pushed.roles:
        if type_column is not None and not role.conditions:
            continue
        holds = np.ones(table.num_rows, bool)
        if role.type is not None and type_column is not None:
            holds = numbers == codes.get(role.type, -2)
        for condition in role.conditions:
            truth = _derive(table, condition)
            holds = holds & pc.fill_null(truth.cast(pa.bool_()), False).to_numpy(zero_copy_only=False)
        roles |= holds.astype(np.int64) << role.bit
    return roles
