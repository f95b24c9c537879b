"""The event types in a table, against those that a query names."""

from __future__ import annotations

import pyarrow as pa

from fyke.engine.input.single_array import one_array
from fyke.plan.missing_types import missing_types, named_types
from fyke.plan.plan import Plan


def missing_in_table(plan: Plan, table: pa.Table, played: int = 0) -> dict[str, str]:
    """Return the types that a query names and no row of a table has, each with what may be meant.

    A table without rows misses none.  ``played`` are roles, as bits, that some row is known to play: if all
    types play theirs, the table need not be searched.
    """
    named, column = named_types(plan), plan.schema.type_column
    if not named or column is None or table.num_rows == 0:
        return {}
    if played:
        named = {name: named[name] for name in named if not _plays(plan, name, played)}
    return missing_types(named, types_in(table.column(column))) if named else {}


def _plays(plan: Plan, name: str, played: int) -> bool:
    return any(role.type == name and played >> role.bit & 1 for role in plan.roles)


def types_in(column: pa.ChunkedArray) -> list[str]:
    """Return the event types in a column, as texts."""
    values = one_array(column)
    if isinstance(values, pa.DictionaryArray):
        values = values.dictionary.take(values.indices.unique())
    return [str(name) for name in values.unique().cast(pa.string()).to_pylist() if name is not None]
