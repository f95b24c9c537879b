"""Tallies: what a search has counted, partition by partition, as rows that add up to the result."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from fyke.engine.kernels.arrays import Array
from fyke.plan.counting import Counting
from fyke.plan.plan import Plan


class Tally:
    """Makes rows of counts: the partition attributes and one column per aggregate over matches."""

    def __init__(self, plan: Plan) -> None:
        assert isinstance(plan.counting, Counting)
        self.counting = plan.counting
        self.partition = plan.pushed.analysed.form.partition
        self.counts: Array = np.zeros(0, np.int64)

    def rows(self, table: pa.Table, segments: Array) -> pa.Table:
        """Return one row per stretch of rows that has matches."""
        some = np.flatnonzero(self.counts)
        heads = pa.array(segments[some, 0])
        columns = {name: table.column(name).take(heads) for name in self.partition}
        for each in self.counting.aggregates:
            columns[each.column] = pa.chunked_array([pa.array(self.counts[some])])
        return pa.table(columns)
