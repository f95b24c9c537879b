"""Which conditions hold in each row, as the bits of one byte: its symbol."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

import numpy as np
import pyarrow as pa

from fyke.engine.input.single_array import one_array
from fyke.engine.input.texts import text_numbers
from fyke.engine.kernels.arrays import Array
from fyke.engine.row_patterns.neighbours import RowColumns
from fyke.engine.row_patterns.order import OrderedRows
from fyke.engine.threads import Team
from fyke.language.ast import Binary, Expression, In, Literal, Reference, walk
from fyke.logical.row_patterns.analysed import Located, RowValue

_ROWS = 1 << 18  # rows that a thread looks at at once


def of_one_row(condition: RowValue) -> bool:
    """Say whether a condition looks at no neighbour: then rows need not be in order."""
    return all(isinstance(each, Located) and each.physical == 0 for each in condition.inputs)


def symbols_of_rows(table: pa.Table, conditions: Mapping[RowValue, int], team: Team) -> Array:
    """Return the bits of conditions that look at one row, for each row of a table in its own order."""
    symbols = np.empty(table.num_rows, np.uint8)

    def write(first: int) -> None:
        rows = table.slice(first, _ROWS)
        symbols[first : first + rows.num_rows] = row_symbols(rows, conditions)

    for _ in team.each(write, range(0, table.num_rows, _ROWS)):
        pass
    return symbols


def row_symbols(table: pa.Table, conditions: Mapping[RowValue, int]) -> Array:
    """Return the bits of conditions that look at one row, for each row of a table."""
    symbols = np.zeros(table.num_rows, np.uint8)
    texts: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    columns = RowColumns(OrderedRows(table, None, np.array([0, table.num_rows])))
    for condition, bit in conditions.items():
        name, wanted = _texts_asked_for(condition, table)
        if name:
            for text in wanted:
                texts[name][text] |= 1 << bit
            continue
        by = _dictionary_column(condition, table)
        holds = columns.truth(condition) if by is None else _by_value(condition, by, table)
        symbols |= holds << np.uint8(bit) if bit else holds
    for name, bits in texts.items():
        table_of_bits = np.array([*bits.values(), 0], np.uint8)
        symbols |= table_of_bits[text_numbers(one_array(table.column(name)), list(bits))]
    return symbols


def _texts_asked_for(condition: RowValue, table: pa.Table) -> tuple[str, Iterable[str]]:
    """Return a column of strings and some texts, if a condition asks whether it is one of them."""
    node = _of_row(condition)
    options: tuple[Expression, ...] = ()
    if isinstance(node, Binary) and node.operator == "=":
        left, options = node.left, (node.right,)
        if isinstance(left, Literal):
            left, options = node.right, (left,)
    elif isinstance(node, In) and not node.negated:
        left, options = node.operand, tuple(node.options)
    else:
        return "", ()
    texts = [each.value for each in options if isinstance(each, Literal) and isinstance(each.value, str)]
    if len(texts) < len(options) or not isinstance(left, Reference) or len(left.path) > 1:
        return "", ()
    return (left.path[0], texts) if table.schema.field(left.path[0]).type == pa.string() else ("", ())


def _of_row(condition: RowValue) -> Expression | None:
    """Return the expression over one row that is all there is to a condition."""
    alone = len(condition.inputs) == 1 and isinstance(condition.expression, Reference)
    return condition.inputs[0].value if alone else None


def _dictionary_column(condition: RowValue, table: pa.Table) -> str | None:
    """Return the column whose few values decide a condition, if there is one."""
    nodes = [node for each in condition.inputs if each.value is not None for node in walk(each.value)]
    names = {node.path[0] for node in nodes if isinstance(node, Reference)}
    (name,) = names if len(names) == 1 else (None,)
    return name if name is not None and pa.types.is_dictionary(table.schema.field(name).type) else None


def _by_value(condition: RowValue, name: str, table: pa.Table) -> Array:
    """Return where a condition holds that is decided by the values of a dictionary, each looked at once."""
    column = one_array(table.column(name))
    values = pa.concat_arrays([column.dictionary, pa.nulls(1, column.dictionary.type)])
    few = OrderedRows(pa.table({name: values}), None, np.array([0, len(values)]))
    numbers = column.indices.fill_null(len(values) - 1) if column.indices.null_count else column.indices
    holds: Array = RowColumns(few).truth(condition)[numbers.to_numpy(zero_copy_only=False)]
    return holds
