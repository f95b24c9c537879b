"""A clause on the rows of a table: ordered, searched, and put out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from fyke.engine.counters import Counters
from fyke.engine.limits import LimitReached, describe_partition
from fyke.engine.measure.clock import Clock
from fyke.engine.meter import Meter
from fyke.engine.row_patterns.matches import RowMatches
from fyke.engine.row_patterns.neighbours import RowColumns
from fyke.engine.row_patterns.order import OrderedRows, order_rows
from fyke.engine.row_patterns.output import result_rows
from fyke.engine.row_patterns.search import SkipsNowhere, search_of
from fyke.errors import FykeError, SkipError
from fyke.language.row_patterns import Rows, unparse_row_pattern
from fyke.plan.row_patterns.plan import RowPlan


def match_rows(
    plan: RowPlan, table: pa.Table, clock: Clock | None = None, *, sorted_rows: bool = False
) -> tuple[pa.Table, Counters]:
    """Return the result of a clause on a table, and what it took.

    With ``sorted_rows`` partitions stand together and each is in order.

    Raises
    ------
    LimitError, SkipError
    """
    clock = clock or Clock()
    analysed = plan.analysed
    ordered = order_rows(table, analysed.partition, analysed.order, sorted_rows=sorted_rows)
    clock.lap("order")
    meter = Meter(plan.limits, table.num_rows)
    try:
        columns = RowColumns(ordered)
        matches = distinct(search_of(plan, columns, meter).matches(), plan)
        clock.lap("search")
        meter.hold("matches", 24 * len(matches), 0, "rows")
        result = result_rows(plan, ordered, matches)
    except LimitReached as reached:
        raise _exceeded(plan, ordered, reached) from None
    except SkipsNowhere as nowhere:
        raise _skips(plan, ordered, nowhere) from None
    clock.lap("rows")
    return result, _counters(table, matches)


def distinct(matches: RowMatches, plan: RowPlan) -> RowMatches:
    """Return matches with those of the same rows and labels once, if all ways to match were asked for."""
    if plan.analysed.rows is not Rows.MATCHES or len(matches) == 0:
        return matches
    assert matches.states is not None
    labels = np.array(plan.automaton.labels, np.uint16)[matches.states]
    offsets = matches.offsets
    seen: dict[tuple[int, bytes], int] = {}
    for number, (begin, first, last) in enumerate(
        zip(matches.begins, offsets[:-1], offsets[1:], strict=True)
    ):
        seen.setdefault((int(begin), labels[first:last].tobytes()), number)
    kept = np.array(list(seen.values()))
    rows = np.repeat(np.isin(np.arange(len(matches)), kept), matches.lengths)
    return replace(matches, begins=matches.begins[kept], ends=matches.ends[kept], states=matches.states[rows])


def _counters(table: pa.Table, matches: RowMatches) -> Counters:
    return Counters(
        events_read=table.num_rows,
        bindings_tried=matches.steps,
        condition_evaluations=matches.evaluations,
        matches=len(matches),
    )


def _partition(plan: RowPlan, ordered: OrderedRows, row: int) -> str:
    names = plan.analysed.partition
    rows = pa.table({name: ordered.field((name,), pa.array([row])) for name in names})
    return describe_partition(rows, names, 0)


def _exceeded(plan: RowPlan, ordered: OrderedRows, reached: LimitReached) -> FykeError:
    where = _partition(plan, ordered, reached.row) if ordered.segments[-1] else "the whole input"
    pattern = unparse_row_pattern(plan.analysed.pattern)
    what = "the rows of the matches" if reached.part in ("matches", "rows") else "the search"
    remedy = "Add WITHIN or conditions"
    if not plan.analysed.partition:
        remedy += ", or PARTITION BY"
    remedy = f"{remedy}. Or raise the limit: limits=fyke.Limits({reached.limit}=...)."
    return plan.limits.exceeded(reached.limit, f"in {where} by {what} of ({pattern})", remedy, reached.value)


def _skips(plan: RowPlan, ordered: OrderedRows, nowhere: SkipsNowhere) -> SkipError:
    skip = plan.analysed.query.skip
    written = f"{skip.to.value} {skip.variable}"
    make = SkipError.stays if nowhere.stays else SkipError.missing
    return make(written, f"of {_partition(plan, ordered, nowhere.row)}")
