"""Values of rows, and of rows at a fixed distance from them, as Arrow columns over ordered rows."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fyke.engine.conditions.columns import Column
from fyke.engine.conditions.evaluate import evaluate
from fyke.engine.kernels.arrays import Array
from fyke.engine.row_patterns.order import OrderedRows
from fyke.language.ast import Call, Expression, Reference
from fyke.logical.row_patterns.analysed import Located, RowValue


class RowColumns:
    """Expressions over one row, each evaluated once for all rows of an order."""

    def __init__(self, ordered: OrderedRows) -> None:
        self.ordered = ordered
        self.rows = int(ordered.segments[-1])
        self._columns: dict[str, pa.Array] = {}
        self._values: dict[Expression, pa.Array] = {}

    def column(self, name: str) -> pa.Array:
        """Return a column of the input, in order."""
        if name not in self._columns:
            self._columns[name] = self.ordered.column(name)
        return self._columns[name]

    def value(self, expression: Expression) -> pa.Array:
        """Return the value of an expression over one row, for each row."""
        if expression not in self._values:
            self._values[expression] = self._spread(evaluate(expression, self._resolve))
        return self._values[expression]

    def truth(self, condition: RowValue) -> Array:
        """Return where a condition on the row and its neighbours is true, a byte a row."""

        def resolve(node: Expression) -> Column | None:
            if isinstance(node, Reference):
                return inputs[int(node.path[0][1:])]
            return None

        inputs = []
        for each in condition.inputs:
            assert isinstance(each, Located)
            inputs.append(self.shifted(self.value(each.value), each.physical))
        found = self._spread(evaluate(condition.expression, resolve))
        if pa.types.is_null(found.type):
            return np.zeros(self.rows, np.uint8)
        found = found.fill_null(False) if found.null_count else found
        return np.asarray(found.to_numpy(zero_copy_only=False)).view(np.uint8)

    def _spread(self, value: Column) -> pa.Array:
        return value if isinstance(value, pa.Array) else pa.repeat(value, self.rows)

    def _resolve(self, node: Expression) -> Column | None:
        if not isinstance(node, Reference):
            assert isinstance(node, Call)
            return None
        found = self.column(node.path[0])
        for step in node.path[1:]:
            found = pc.struct_field(found, step)
        return found

    def shifted(self, values: pa.Array, by: int) -> pa.Array:
        """Return the values ``by`` rows on in the partition (negative: back), null where there is none."""
        if by == 0:
            return values
        far, segments = min(abs(by), self.rows), self.ordered.segments
        gone = pa.nulls(far, values.type)
        kept = values.slice(0, self.rows - far) if by < 0 else values.slice(far)
        moved = pa.concat_arrays([gone, kept] if by < 0 else [kept, gone])
        if len(segments) <= 2:
            return moved
        missing = np.zeros(self.rows, bool)
        lengths = np.diff(segments)
        for k in range(min(far, int(lengths.max(initial=0)))):
            long = lengths > k
            missing[segments[:-1][long] + k if by < 0 else segments[1:][long] - 1 - k] = True
        return _without(moved, missing)


def _without(values: pa.Array, missing: Array) -> pa.Array:
    """Return values with null where they are ``missing``."""
    if pa.types.is_primitive(values.type) and not pa.types.is_boolean(values.type) and values.offset == 0:
        if values.null_count:
            missing = missing | values.is_null().to_numpy(zero_copy_only=False)
        valid = pa.py_buffer(np.packbits(~missing, bitorder="little"))
        return pa.Array.from_buffers(values.type, len(values), [valid, values.buffers()[1]])
    places = np.arange(len(values))
    return values.take(pa.array(places, mask=missing))
