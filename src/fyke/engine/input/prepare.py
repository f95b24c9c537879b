"""A table of events to a prepared batch: roles and derived columns, computed by Arrow."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fyke.engine.conditions.columns import Column
from fyke.engine.conditions.evaluate import evaluate
from fyke.engine.input.near_anchors import near_anchors
from fyke.engine.input.order import times
from fyke.engine.input.single_array import filled, one_array
from fyke.engine.input.texts import text_numbers
from fyke.engine.kernels.arrays import Array
from fyke.engine.kernels.input.type_names import list_players, look_up
from fyke.errors import InputError
from fyke.language.ast import Expression, Reference, walk
from fyke.logical.schema import EventSchema
from fyke.plan.anchors import Anchors
from fyke.plan.plan import ROLES, Plan
from fyke.plan.pushdown import Derived, physical

_PLAIN = {
    pa.string_view(): pa.string(),
    pa.binary_view(): pa.binary(),
    pa.float16(): pa.float32(),
    pa.date64(): pa.date32(),
}


def in_plain_types(table: pa.Table) -> pa.Table:
    """Return the table in types that all of Arrow's functions take; the values are the same.

    Those of an extension type are what it stores them as.

    Raises
    ------
    InputError
        If a column has a type, or has one in it, for which there is no such type.
    """
    fields = [_plain(field) for field in table.schema]
    for field in fields:
        if _is_odd(field.type):
            raise InputError(
                f"Fyke cannot take the column {field.name!r} of type {field.type}",
                remedy="Drop or cast it before matching.",
            )
    return table.cast(pa.schema(fields)) if fields != list(table.schema) else table


def _plain(field: pa.Field) -> pa.Field:
    kind = field.type
    if isinstance(kind, pa.BaseExtensionType):
        return _plain(field.with_type(kind.storage_type))
    if pa.types.is_struct(kind):
        return field.with_type(pa.struct([_plain(kind.field(i)) for i in range(kind.num_fields)]))
    if pa.types.is_list(kind):
        return field.with_type(pa.list_(_plain(kind.value_field)))
    if pa.types.is_large_list(kind):
        return field.with_type(pa.large_list(_plain(kind.value_field)))
    if pa.types.is_dictionary(kind):
        return field.with_type(pa.dictionary(kind.index_type, _PLAIN.get(kind.value_type, kind.value_type)))
    if pa.types.is_decimal(kind) and kind.precision <= 38:
        return field.with_type(pa.decimal128(kind.precision, kind.scale))
    return field.with_type(_PLAIN.get(kind, kind))


def _is_odd(kind: pa.DataType) -> bool:
    if pa.types.is_run_end_encoded(kind) or pa.types.is_union(kind) or pa.types.is_interval(kind):
        return True
    inner = (kind.field(i).type for i in range(kind.num_fields))
    return any(each in _PLAIN or _is_odd(each) for each in inner)


@dataclass(frozen=True, slots=True)
class Types:
    """Event types as numbers of the values in a dictionary; -1 is none.  ``given``: the same, of Arrow."""

    codes: Array
    dictionary: pa.Array
    given: pa.DictionaryArray | None = None

    def codes_of(self, name: str) -> list[int]:
        """Return the numbers of a type: a dictionary that was given may have it more than once."""
        values = self.dictionary.to_pylist()
        return [code for code, value in enumerate(values) if value is not None and str(value) == name]

    def array(self, rows: Array | None) -> pa.DictionaryArray:
        """Return the types of some rows, None for all, for Arrow."""
        if self.given is not None:
            return self.given if rows is None else self.given.take(pa.array(rows))
        codes = self.codes if rows is None else self.codes[rows]
        missing = codes < 0
        indices = pa.array(codes, mask=missing if bool(missing.any()) else None)
        return pa.DictionaryArray.from_arrays(indices, self.dictionary)


def _is_text(kind: pa.DataType) -> bool:
    """Say whether a column of types holds texts: only those are the same as numbers and their names."""
    return bool(pa.types.is_string(kind) or pa.types.is_dictionary(kind))


def derived_types(schema: EventSchema, made: Sequence[Derived]) -> dict[str, pa.DataType]:
    """Return the types of derived columns, learnt from a table without rows."""
    nothing = pa.schema(list(schema.columns.items())).empty_table()
    return {derived.name: _derive(nothing, derived.expression).type for derived in made}


def prepare(
    table: pa.Table, plan: Plan, *, whole_input: bool = False, anchors: Anchors | None = None
) -> pa.Table:
    """Return the prepared batch of a table: needed attributes, roles, derived columns.

    Rows that can play no role are left out where they do not matter ([S] 5.2.1), and so are rows
    that are in no partition.  Where times are equal every column has a say in the processing order,
    so all come along, unless this is the ``whole_input`` and no two times are equal.  Then rows too far
    from any event that a match must have, given its ``anchors``, are left out as well.
    """
    ends = times(table.column(plan.schema.end))
    distinct = whole_input and all_different(ends)
    players = find_players(table, ends, plan, distinct=distinct)
    if whole_input and anchors is not None:
        near = near_anchors(players.ends, players.roles, anchors)
        players = players if near is None else players.chosen(near)
    if whole_input and not distinct and players.relevant is not None:
        distinct = all_different(players.ends)
    return carry(players, plan, distinct=distinct, numbered=whole_input)


@dataclass(frozen=True, slots=True)
class Players:
    """The rows of a table that must reach the engine: their positions (None: all), roles and ends."""

    table: pa.Table
    types: Types | None
    relevant: Array | None
    roles: Array
    ends: Array

    def chosen(self, places: Array) -> Players:
        """Return some of these rows, in the order of ``places``."""
        relevant = places if self.relevant is None else self.relevant[places]
        return replace(self, relevant=relevant, roles=self.roles[places], ends=self.ends[places])

    def columns(self, names: Sequence[str]) -> pa.Table:
        """Return columns of these rows."""
        table = self.table.select(list(names))
        return table if self.relevant is None else table.take(pa.array(self.relevant))


def find_players(table: pa.Table, ends: Array, plan: Plan, *, distinct: bool) -> Players:
    """Return the rows that must reach the engine; ``distinct``: no two of the input have one end."""
    types = _encoded_types(table, plan, ordered=distinct)
    relevant, roles = _players(table, types, plan)
    return Players(table, types, relevant, roles, ends if relevant is None else ends[relevant])


def carry(players: Players, plan: Plan, *, distinct: bool, numbered: bool) -> pa.Table:
    """Return the prepared batch of these rows.

    If not all are ``distinct`` in time, the columns that order them come along.  ``numbered``: types may be
    numbers of names, which move faster than strings; the result turns them back.
    """
    schema, types, table, relevant = plan.schema, players.types, players.table, players.relevant
    carried = dict.fromkeys(plan.needed)
    if not distinct:
        carried |= dict.fromkeys(schema.order_columns())
    looked_at, as_number = mentioned(each.expression for each in plan.made), None
    texts = schema.type_column is not None and _is_text(table.schema.field(schema.type_column).type)
    if numbered and types is not None and texts and schema.type_column not in looked_at:
        as_number = schema.type_column
    if relevant is not None:
        used = dict.fromkeys(name for name in (*carried, *looked_at) if name != as_number)
        table = table.select(list(used)).take(pa.array(relevant))
    columns = {name: table.column(name) for name in carried if name != as_number}
    if types is not None and as_number in carried:
        columns = {name: columns.get(name) for name in carried}
        columns[as_number] = pa.chunked_array([types.array(relevant)])
    columns[ROLES] = pa.chunked_array([pa.array(players.roles)])
    for derived in plan.made:
        name = physical(derived)
        if name not in columns:
            columns[name] = pa.chunked_array([_derive(table, derived.expression)])
    return pa.table(columns)


def _players(table: pa.Table, types: Types | None, plan: Plan) -> tuple[Array | None, Array]:
    """Return the positions of the rows that must reach the engine, None if all must, and their roles."""
    by_name = types is not None and all(role.type and not role.conditions for role in plan.roles)
    split = any(table.column(name).null_count for name in plan.split)
    if not by_name or types is None or split or plan.every_row_counts:
        roles = _roles(table, types, plan)
        relevant = _relevant(table, roles, plan)
        return relevant, roles if relevant is None else roles[relevant]
    positions, roles = (np.empty(len(types.codes) + 1, np.int64) for _ in range(2))
    count = list_players(types.codes, _roles_by_type(types, plan)[0], positions, roles)
    return None if count == len(types.codes) else positions[:count], roles[:count]


def _relevant(table: pa.Table, roles: Array, plan: Plan) -> Array | None:
    """Return the positions of the rows that must reach the engine; None if all must."""
    keep = np.ones(len(roles), bool) if plan.every_row_counts else roles != 0
    for name in plan.keys:
        if table.column(name).null_count:
            keep &= table.column(name).is_valid().to_numpy()
    return None if keep.all() else np.flatnonzero(keep)


def all_different(ends: Array) -> bool:
    """Say whether no two times are equal."""
    if bool((ends[1:] > ends[:-1]).all()):
        return True
    ends = np.sort(ends)
    return bool((ends[1:] != ends[:-1]).all())


def mentioned(expressions: Iterable[Expression]) -> set[str]:
    """Return the attributes that expressions over one event look at."""
    nodes = (node for expression in expressions for node in walk(expression))
    return {node.path[0] for node in nodes if isinstance(node, Reference)}


def _derive(table: pa.Table, expression: Expression) -> pa.Array:
    value = evaluate(expression, lambda node: _column(table, node))
    return value if isinstance(value, pa.Array) else pa.repeat(value, table.num_rows)


def _column(table: pa.Table, node: Expression) -> Column | None:
    if not isinstance(node, Reference):
        return None
    array = one_array(table.column(node.path[0]))
    for name in node.path[1:]:
        array = pc.struct_field(array, name)
    return array


def _encoded_types(table: pa.Table, plan: Plan, *, ordered: bool) -> Types | None:
    """Return the event types as numbers; types that no one will look at may be null.

    The type of a row without a role matters only if such rows are not filtered out, and then only to bring
    rows of one time into order: not if times alone have ``ordered`` all.
    """
    type_column = plan.schema.type_column
    if type_column is None:
        return None
    column = one_array(table.column(type_column))
    if not isinstance(column, pa.DictionaryArray):
        column = column.cast(pa.string())
        names = list(dict.fromkeys(role.type for role in plan.roles if role.type is not None))
        typed = all(role.type is not None for role in plan.roles)
        if (not plan.every_row_counts or ordered) and typed:
            return Types(text_numbers(column, names), pa.array(names, pa.string()))
    return encode_types(column)


def encode_types(column: pa.Array) -> Types:
    """Return all event types of a column as numbers."""
    if not isinstance(column, pa.DictionaryArray):
        column = column.cast(pa.string()).dictionary_encode()
    indices = filled(column.indices.cast(pa.int32()), -1)
    return Types(indices.to_numpy(zero_copy_only=False), column.dictionary, column)


def _roles(table: pa.Table, types: Types | None, plan: Plan) -> Array:
    """Return, as bits, the roles each row can play."""
    by_type, everywhere = _roles_by_type(types, plan)
    roles = np.zeros(table.num_rows, np.int64)
    if types is not None:
        look_up(types.codes, by_type, roles)
    if everywhere:
        roles |= everywhere
    for role in plan.roles:
        if not role.conditions:
            continue
        holds = np.ones(table.num_rows, bool)
        if role.type is not None and types is not None:
            holds = np.zeros(table.num_rows, bool)
            for code in types.codes_of(role.type):
                holds |= types.codes == code
        holds &= all_hold(table, role.conditions)
        np.bitwise_or(roles, 1 << role.bit, out=roles, where=holds)
    return np.asarray(roles)


def all_hold(table: pa.Table, conditions: Sequence[Expression]) -> Array:
    """Say for which rows all of some conditions over one event hold."""
    holds = np.ones(table.num_rows, bool)
    for condition in conditions:
        truth = _derive(table, condition)
        holds &= pc.fill_null(truth.cast(pa.bool_()), False).to_numpy(zero_copy_only=False)
    return holds


def _roles_by_type(types: Types | None, plan: Plan) -> tuple[Array, int]:
    """Return, as bits, the roles that rows of a type can play whatever else they hold, and those of all."""
    by_type = np.zeros(1 if types is None else len(types.dictionary) + 1, np.int64)
    everywhere = 0
    for role in plan.roles:
        if role.conditions:
            continue
        if types is None or role.type is None:
            everywhere |= 1 << role.bit
        else:
            by_type[types.codes_of(role.type)] |= 1 << role.bit
    return by_type, everywhere
