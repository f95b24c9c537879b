"""How much memory the rows of a result will take, estimated from the events before the rows are made."""

from __future__ import annotations

import pyarrow as pa

from fyke.engine.found import Found
from fyke.engine.kernels.automaton.graphs import GRAPH_SIZE
from fyke.engine.limits import LimitReached
from fyke.plan.plan import Plan

_FIXED = 64  # of a match: identifier, start and end
_COLUMN = 24  # of a match: a computed column
_INDEX = 16  # of a binding, while its event is looked up
_LINKS = 64  # of a node: its predecessors, start and hash


def check_size(found: Found, plan: Plan) -> None:
    """Raise before rows are made of matches, if they take more memory than they may.

    Raises
    ------
    LimitReached
        At the row of the last match.
    """
    matches, rows = found.matches, found.rows
    # No value is larger than the whole table, so a few matches of a small one need no estimate.
    most = _FIXED + rows.num_columns * _COLUMN + rows.get_total_buffer_size()
    if len(matches.positions) * most < plan.limits.buffer_bytes:
        return
    if len(matches) and rows_bytes(found, plan) > plan.limits.buffer_bytes:
        raise LimitReached("buffer_bytes", int(matches.positions[-1]), "rows")


def rows_bytes(found: Found, plan: Plan) -> int:
    """Return about how much the rows of matches take, while they are made, and the matches beside them."""
    matches, widths = found.matches, _widths(found.rows)
    fixed = _FIXED + sum(widths.get(name, 8.0) for name in plan.partition)
    if plan.result.over_matches or plan.query.returns is not None:
        return int(len(matches) * (fixed + _COLUMN * len(plan.result.columns)))
    events = max(
        sum(widths.get(name, 8.0) for name in plan.schema.attributes(variable.type))
        for alternative in plan.alternatives
        for variable in alternative.variables
    )
    singles = sum(not variable.group for variable in plan.alternatives[0].variables)
    bound = max(len(matches.positions), singles * len(matches))
    return int(len(matches) * fixed + bound * (_INDEX + events))


def compressed_node_bytes(plan: Plan, rows: pa.Table) -> int:
    """Return about how much a node of a compressed result takes, from the search to its row."""
    widths = _widths(rows)
    columns = [
        min(8.0, widths.get(name, 8.0))
        for alternative in plan.alternatives
        for variable in alternative.variables
        for name in plan.schema.attributes(variable.type)
    ]
    return int(16 * GRAPH_SIZE + _LINKS + sum(columns))


def _widths(rows: pa.Table) -> dict[str, float]:
    """Return the mean size of a value of each column; text that is in a dictionary leaves it."""
    return {name: _width(rows.column(name)) for name in rows.schema.names}


def _width(column: pa.ChunkedArray) -> float:
    count = max(1, len(column))
    if not pa.types.is_dictionary(column.type):
        return float(column.nbytes) / count
    values = [chunk.dictionary for chunk in column.chunks if len(chunk.dictionary)]
    return max((float(each.nbytes) / len(each) for each in values), default=4.0)
