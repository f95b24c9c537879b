"""A table that many plans read: what they look at alike is looked at once.

What a plan costs then grows with the rows it looks at, not with all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from fyke.engine.counters import Counters
from fyke.engine.cut import LEAST_ROWS, CutTable, Piece, cut_table
from fyke.engine.input.order import times
from fyke.engine.input.shared_players import SharedPlayers
from fyke.engine.kept_engines import engine_for
from fyke.engine.measure.clock import Clock
from fyke.engine.meter import Budget
from fyke.engine.output.builders import builder_of
from fyke.engine.read_table import TableReader
from fyke.engine.threads import Team
from fyke.errors import FykeError
from fyke.logical.schema import EventSchema
from fyke.plan.anchors import find_anchors
from fyke.plan.plan import Plan

MANY_ROWS = 1 << 14  # a plan that looks at fewer rows is mostly Python, which no other thread speeds up

Ran = tuple[pa.Table, Counters, Clock]


class SharedTable:
    """Events with a time, in the order of their times, for plans over the same schema."""

    def __init__(self, table: pa.Table, schema: EventSchema, plans: Sequence[Plan]) -> None:
        ends = times(table.column(schema.end))
        if not bool((ends[1:] >= ends[:-1]).all()):
            order = np.argsort(ends, kind="stable")
            table, ends = table.take(pa.array(order)), ends[order]
        self.table = table.combine_chunks()
        self.players = SharedPlayers(self.table, schema, ends, plans)
        self._budgets: list[Budget] = []

    def run_all(self, plans: Sequence[Plan], threads: int) -> Iterator[Ran | FykeError]:
        """Yield what :meth:`run` returns or raises for each plan, in order.

        Plans that are not cut into pieces for threads are run side by side, if they look at many rows.
        """

        def ran(plan: Plan, threads: int = 1) -> Ran | FykeError:
            try:
                return self.run(plan, threads)
            except FykeError as error:
                return error

        rows = [self.looked_at(plan) if threads > 1 else 0 for plan in plans]
        beside = [MANY_ROWS <= count < LEAST_ROWS for count in rows]
        others = Team(threads, self._stop).each(
            ran, [plan for plan, is_beside in zip(plans, beside, strict=True) if is_beside]
        )
        for plan, is_beside in zip(plans, beside, strict=True):
            yield next(others) if is_beside else ran(plan, threads)

    def looked_at(self, plan: Plan) -> int:
        """Return about how many rows a plan looks at."""
        return self.players.looked_at(plan)

    def _stop(self) -> None:
        for budget in self._budgets:
            budget.stop()

    def run(self, plan: Plan, threads: int = 1) -> Ran:
        """Return the result of a plan, what it has counted, and the time it took.

        Raises
        ------
        FykeError
        """
        clock = Clock()
        budget = Budget(plan.limits, self.table.num_rows)
        self._budgets.append(budget)
        team = Team(threads, budget.stop)
        prepared = self.players.prepare(plan, LEAST_ROWS)
        if prepared is None:
            cut, left_out = cut_table(self.table, plan, find_anchors(plan), team), 0
        else:
            left_out = prepared.relevant - prepared.rows.num_rows
            cut = CutTable([Piece((prepared.rows,))], prepared.relevant, 0)
        budget.rows = cut.relevant
        clock.lap("prepare")
        with engine_for(plan) as engine:
            if prepared is not None and prepared.rows.num_rows == 0:
                builder = builder_of(plan)
                result, counters = builder.finish(builder.schema.empty_table()), Counters()
                clock.lap("rows")
            else:
                result, counters = TableReader(plan, cut, budget, team, engine).result(clock)
        counters.events_read += left_out
        counters.events_filtered = self.table.num_rows - cut.relevant
        return result, counters, clock
