"""Runs an engine over all rows of a table; returns the result and the counts."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from fyke.engine.counters import Counters
from fyke.engine.engine import Engine
from fyke.engine.found import Found
from fyke.engine.limits import limits_by_partition
from fyke.engine.measure.clock import Clock
from fyke.engine.output.builders import builder_of
from fyke.engine.output.rows import ResultBuilder
from fyke.engine.output.size import check_size
from fyke.plan.counting import Counting

_TALLIES = 1 << 16  # with more rows of tallies than this, merging them pays


def read_table(
    engine: Engine, rows: pa.Table, clock: Clock | None = None, look: Callable[[Found], None] | None = None
) -> tuple[pa.Table, Counters]:
    """Return the result for the prepared rows of a table; ``look`` is called with what the engine finds."""
    clock = clock or Clock()
    look = look or (lambda found: None)
    builder, counting = builder_of(engine.plan), engine.plan.counting
    if isinstance(builder, ResultBuilder) and isinstance(counting, Counting) and counting.chunks:
        return _tally_chunks(engine, builder, rows, clock, look)
    _, found = engine.advance(engine.start(rows.schema), rows, None, clock=clock)
    with limits_by_partition(found.rows, engine.plan):
        check_size(found, engine.plan)
    # A format that builds other rows has its own way to do so.
    rows_of = builder.all_rows if type(builder) is ResultBuilder else builder.rows
    result = builder.finish(rows_of(found))
    clock.lap("rows")
    look(found)
    return result, found.counters


def _tally_chunks(
    engine: Engine, builder: ResultBuilder, rows: pa.Table, clock: Clock, look: Callable[[Found], None]
) -> tuple[pa.Table, Counters]:
    """Tally and drop the matches of each chunk when it is found, so that memory does not grow with them."""
    counters, tallies = Counters(), [builder.schema.empty_table()]
    waiting, merged = 0, 0
    for found in engine.advance_in_chunks(engine.start(rows.schema), rows, None, clock=clock):
        look(found)
        clock.restart()
        counters.merge(found.counters)
        tallies.append(builder.rows(found))
        waiting += tallies[-1].num_rows
        if waiting > max(_TALLIES, merged):
            tallies = [builder.merge(tallies)]
            waiting, merged = 0, tallies[0].num_rows
        clock.lap("rows")
    result = builder.finish(pa.concat_tables(tallies))
    clock.lap("rows")
    return result, counters
