"""Which builder makes the rows of each output format.  :mod:`fyke.plan.outputs` lists the formats."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import pyarrow as pa

from fyke.engine.found import Found
from fyke.engine.output.compressed import CompressedBuilder
from fyke.engine.output.rows import ResultBuilder
from fyke.plan.plan import Plan


class RowBuilder(Protocol):
    """Builds the rows of a result for one plan, on tables and on the workers of Spark."""

    @property
    def schema(self) -> pa.Schema:
        """The schema of :meth:`rows`."""

    def __init__(self, plan: Plan) -> None: ...

    def rows(self, found: Found) -> pa.Table:
        """Return the rows of what one call has found, in ``schema``."""

    def finish(self, rows: pa.Table) -> pa.Table:
        """Return the result, given the rows of all calls."""


BUILDERS: Mapping[str, type[RowBuilder]] = {
    "all": ResultBuilder,
    "non_overlap": ResultBuilder,
    "compressed": CompressedBuilder,
}


def builder_of(plan: Plan) -> RowBuilder:
    """Return the builder for the output format of a plan."""
    return BUILDERS[plan.output](plan)
