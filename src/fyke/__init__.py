"""Fyke: complex event processing for Apache Spark, in Python.

>>> import fyke
>>> matches = fyke.match(
...     events,
...     '''
...     PATTERN SEQ(Shelf a, ~Register b, Exit c)
...     WHERE skip_till_next_match(a, b, c) { [tag_id] }
...     WITHIN 12 hours
...     ''',
...     time="ts",
...     type="kind",
... )  # doctest: +SKIP
"""

from __future__ import annotations

from fyke import reference
from fyke.api import (
    Matcher,
    enumerate_matches,
    explain,
    flush,
    late,
    match,
    match_batches,
    matcher,
    rejected,
    statistics,
)
from fyke.call.metrics import Metrics
from fyke.call.null_comparisons import NullComparisonWarning
from fyke.call.program import Program, program
from fyke.call.warn_user import (
    MissingTypeWarning,
    RejectedRowsWarning,
    SlowStreamWarning,
    TiedEventsWarning,
)
from fyke.engine.warm_up import warm_up
from fyke.errors import FykeError
from fyke.language import builder as pattern
from fyke.language.query import Query
from fyke.language.relational import RelationalQuery
from fyke.language.text import parse
from fyke.limits import Limits
from fyke.plan.statistics import Statistics
from fyke.spark.session import prefer_own_interpreter
from fyke.spark.stream.progress import progress, watch
from fyke.techniques import Techniques

prefer_own_interpreter()

__all__ = [
    "FykeError",
    "Limits",
    "Matcher",
    "Metrics",
    "MissingTypeWarning",
    "NullComparisonWarning",
    "Program",
    "Query",
    "RejectedRowsWarning",
    "RelationalQuery",
    "SlowStreamWarning",
    "Statistics",
    "Techniques",
    "TiedEventsWarning",
    "enumerate_matches",
    "explain",
    "flush",
    "late",
    "match",
    "match_batches",
    "matcher",
    "parse",
    "pattern",
    "program",
    "progress",
    "reference",
    "rejected",
    "statistics",
    "warm_up",
    "watch",
]
__version__ = "0.1.0"
