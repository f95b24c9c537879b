"""Values of rows, and of rows at a fixed distance from them, as Arrow columns over ordered rows."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fyke.engine.conditions.columns import Column
from fyke.engine.conditions.evaluate import evaluate
from fyke.engine.kernels.arrays import Array
from fyke.engine.row_patterns.compared import compared
from fyke.engine.row_patterns.order import OrderedRows
from fyke.language.ast import Binary, Call, Duration, Expression, Literal, Reference, Timestamp, Unary
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
        alone = self._of_row(condition)
        if alone is not None:
            return alone
        offsets = [each.physical for each in condition.inputs if isinstance(each, Located)]
        before, behind = max(0, -min(offsets, default=0)), max(0, max(offsets, default=0))
        if before + behind >= self.rows or not (before + behind) or not _needs_all(condition.expression):
            values = [self.shifted(each, by) for each, by in self._inputs(condition)]
            return true_bytes(self._spread(_of_inputs(condition, values)))
        # Rows whose neighbours are missing are left out, and what is compared is not copied.
        count = self.rows - before - behind
        values = [each.slice(before + by, count) for each, by in self._inputs(condition)]
        truth = np.zeros(self.rows, np.uint8)
        found = compared(condition.expression, lambda node: values[int(node.path[0][1:])])
        truth[before : before + count] = true_bytes(_of_inputs(condition, values)) if found is None else found
        begins, ends = self.ordered.segments[:-1], self.ordered.segments[1:]
        for k in range(before):
            truth[begins[begins + k < ends] + k] = 0
        for k in range(behind):
            truth[ends[ends - 1 - k >= begins] - 1 - k] = 0
        return truth

    def _of_row(self, condition: RowValue) -> Array | None:
        """Return where a condition is true that is a comparison of numbers of the row itself."""
        each = condition.inputs[0] if len(condition.inputs) == 1 else None
        if not isinstance(each, Located) or each.physical or not isinstance(condition.expression, Reference):
            return None
        return compared(each.value, self._resolve)

    def _inputs(self, condition: RowValue) -> list[tuple[pa.Array, int]]:
        """Return the values that a condition looks at, and how far on."""
        located = [each for each in condition.inputs if isinstance(each, Located)]
        return [(self.value(each.value), each.physical) for each in located]

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


def _of_inputs(condition: RowValue, values: list[pa.Array]) -> Column:
    def resolve(node: Expression) -> Column | None:
        return values[int(node.path[0][1:])] if isinstance(node, Reference) else None

    return evaluate(condition.expression, resolve)


def _needs_all(node: Expression) -> bool:
    """Say whether a condition is true only where none of its inputs is null."""
    if isinstance(node, Binary):
        return node.operator != "OR" and _needs_all(node.left) and _needs_all(node.right)
    if isinstance(node, Unary):
        return node.operator == "-" and _needs_all(node.operand)
    return isinstance(node, (Reference, Literal, Duration, Timestamp))


def true_bytes(found: pa.Array) -> Array:
    """Return where a column is true, a byte a row."""
    if pa.types.is_null(found.type):
        return np.zeros(len(found), np.uint8)
    valid, bits = (None if each is None else np.frombuffer(each, np.uint8) for each in found.buffers())
    assert bits is not None
    first, last = found.offset // 8, -(-(found.offset + len(found)) // 8)
    bits = bits[first:last]
    if valid is not None:
        bits = bits & valid[first:last]
    begin = found.offset % 8
    return np.unpackbits(bits, bitorder="little")[begin : begin + len(found)]


def _without(values: pa.Array, missing: Array) -> pa.Array:
    """Return values with null where they are ``missing``."""
    if pa.types.is_primitive(values.type) and not pa.types.is_boolean(values.type) and values.offset == 0:
        if values.null_count:
            missing = missing | values.is_null().to_numpy(zero_copy_only=False)
        valid = pa.py_buffer(np.packbits(~missing, bitorder="little"))
        return pa.Array.from_buffers(values.type, len(values), [valid, values.buffers()[1]])
    places = np.arange(len(values))
    return values.take(pa.array(places, mask=missing))
