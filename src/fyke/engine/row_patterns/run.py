"""A clause on the rows of a table: ordered, searched, and put out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from fyke.engine.counters import Counters
from fyke.engine.limits import LimitReached, describe_partition
from fyke.engine.measure.clock import Clock
from fyke.engine.meter import Budget
from fyke.engine.row_patterns.find import Finder
from fyke.engine.row_patterns.matches import RowMatches, all_of
from fyke.engine.row_patterns.order import OrderedRows, order_rows
from fyke.engine.row_patterns.output import Group, result_rows
from fyke.engine.row_patterns.search import SkipsNowhere
from fyke.engine.row_patterns.stretches import Stretch, are_many, cut_rows
from fyke.engine.threads import Team
from fyke.errors import FykeError, SkipError
from fyke.language.row_patterns import (
    Permutation,
    Quantified,
    RowPattern,
    Rows,
    Variable,
    row_pattern_parts,
    unparse_row_pattern,
)
from fyke.plan.row_patterns.cut import how_to_cut
from fyke.plan.row_patterns.plan import RowPlan


def match_rows(
    plan: RowPlan,
    table: pa.Table,
    clock: Clock | None = None,
    *,
    sorted_rows: bool = False,
    threads: int = 1,
) -> tuple[pa.Table, Counters]:
    """Return the result of a clause on a table, and what it took.

    With ``sorted_rows`` partitions stand together and each is in order.  The result is the same for any
    number of ``threads``.

    Raises
    ------
    LimitError, SkipError
    """
    clock = clock or Clock()
    analysed = plan.analysed
    budget = Budget(plan.limits, table.num_rows)
    team = Team(threads if are_many(table.num_rows) else 1, budget.stop)
    ordered = order_rows(table, analysed.partition, analysed.order, sorted_rows=sorted_rows, team=team)
    clock.lap("order")
    stretches = cut_rows(plan, how_to_cut(plan), ordered)
    try:
        found = Finder(plan, ordered, budget, team).matches(stretches)
        clock.lap("search")
        groups = grouped_matches(plan, stretches, found)
        held = sum(24 * len(each.matches) for each in groups)
        if budget.hold("matches", held) > plan.limits.buffer_bytes:
            raise LimitReached("buffer_bytes", 0, "rows")
        rows = list(team.each(lambda group: result_rows(plan, ordered, group), groups))
    except LimitReached as reached:
        raise exceeded_by(plan, ordered, reached) from None
    except SkipsNowhere as nowhere:
        raise skips_nowhere(plan, ordered, nowhere) from None
    result = rows[0] if len(rows) == 1 else pa.concat_tables(rows)
    clock.lap("rows")
    return result, _counters(table, groups)


def grouped_matches(plan: RowPlan, stretches: list[Stretch], found: list[RowMatches]) -> list[Group]:
    """Return the matches by the rows whose result is made at once, with the numbers they go on from."""
    groups: list[Group] = []
    apart = plan.analysed.rows is not Rows.WITH_UNMATCHED  # whether a row is in no match is known in the end
    for stretch, matches in zip(stretches, found, strict=True):
        matches = distinct(matches, plan)
        if stretch.joins and not apart:
            last = groups.pop()
            groups.append(Group(all_of([last.matches, matches]), last.first, stretch.last, last.before))
            continue
        before = groups[-1].before + int(groups[-1].matches.numbered.sum()) if stretch.joins else 0
        groups.append(Group(matches, stretch.first, stretch.last, before))
    return groups


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
    return replace(
        matches,
        begins=matches.begins[kept],
        ends=matches.ends[kept],
        states=matches.states[rows],
        expired=None if matches.expired is None else matches.expired[kept],
    )


def _counters(table: pa.Table, groups: list[Group]) -> Counters:
    return Counters(
        events_read=table.num_rows,
        bindings_tried=sum(each.matches.steps for each in groups),
        condition_evaluations=sum(each.matches.evaluations for each in groups),
        matches=sum(int(each.matches.numbered.sum()) for each in groups),
    )


def _partition(plan: RowPlan, ordered: OrderedRows, row: int) -> str:
    names = plan.analysed.partition
    rows = pa.table({name: ordered.field((name,), pa.array([row])) for name in names})
    return describe_partition(rows, names, 0)


def _part_with(pattern: RowPattern, variable: str) -> str:
    """Return the innermost part with a variable that repeats or permutes, or the variable itself.

    >>> from fyke.language.row_pattern_text import parse
    >>> query = parse("MATCH_RECOGNIZE (PATTERN (A (B+ | C)* D) DEFINE A AS x > 1)")
    >>> _part_with(query.pattern, "B"), _part_with(query.pattern, "C"), _part_with(query.pattern, "D")
    ('B+', '(B+ | C)*', 'D')
    """
    named = Variable(variable)
    parts = [part for part in row_pattern_parts(pattern) if named in row_pattern_parts(part)]
    if sum(part == named for part in parts) > 1:
        return variable  # in which of its places it was is not known
    inner = [part for part in parts if isinstance(part, (Quantified, Permutation))]
    return unparse_row_pattern(inner[-1]) if inner else variable


def exceeded_by(plan: RowPlan, ordered: OrderedRows, reached: LimitReached) -> FykeError:
    """Return the error for a limit that a search has reached."""
    where = _partition(plan, ordered, reached.row) if ordered.segments[-1] else "the whole input"
    pattern = unparse_row_pattern(plan.analysed.pattern)
    what = "the rows of the matches" if reached.part in ("matches", "rows") else "the search"
    at = ""
    if reached.variable is not None and reached.variable in plan.analysed.variables:  # no end of a partition
        at = f", at {_part_with(plan.analysed.pattern, reached.variable)}"
    remedy = "Add WITHIN or conditions"
    if not plan.analysed.partition:
        remedy += ", or PARTITION BY"
    remedy = f"{remedy}. Or raise the limit: limits=fyke.Limits({reached.limit}=...)."
    return plan.limits.exceeded(
        reached.limit, f"in {where} by {what} of ({pattern}){at}", remedy, reached.value
    )


def skips_nowhere(plan: RowPlan, ordered: OrderedRows, nowhere: SkipsNowhere) -> SkipError:
    """Return the error for a match that cannot be skipped from."""
    skip = plan.analysed.query.skip
    written = f"{skip.to.value} {skip.variable}"
    make = SkipError.stays if nowhere.stays else SkipError.missing
    return make(written, f"of {_partition(plan, ordered, nowhere.row)}")
