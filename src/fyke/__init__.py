"""Fyke: complex event processing for Apache Spark, in Python.

>>> import fyke
>>> readings = [
...     {"minute": 0, "kind": "Shelf", "tag": "razor"},
...     {"minute": 1, "kind": "Shelf", "tag": "whisky"},
...     {"minute": 8, "kind": "Register", "tag": "whisky"},
...     {"minute": 13, "kind": "Exit", "tag": "whisky"},
...     {"minute": 17, "kind": "Exit", "tag": "razor"},
... ]
>>> stolen = fyke.match(
...     readings,
...     "PATTERN SEQ(Shelf a, ~Register b, Exit c) WHERE { [tag] } WITHIN 720",
...     time="minute",
...     type="kind",
... )
>>> stolen["tag"].to_pylist()
['razor']
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
from fyke.call.rule_results import RuleResults
from fyke.call.rules import Rules, rules
from fyke.call.sql import register, sql
from fyke.call.warn_user import (
    MissingTypeWarning,
    NoMatchWarning,
    RejectedRowsWarning,
    SlowStreamWarning,
    TiedEventsWarning,
)
from fyke.diagnosis.report import WhyNot
from fyke.diagnosis.why_not import why_not
from fyke.engine.warm_up import warm_up
from fyke.errors import FykeError
from fyke.language import builder as pattern
from fyke.language.query import Query
from fyke.language.relational import RelationalQuery
from fyke.language.row_patterns import RowPatternQuery
from fyke.language.text import parse
from fyke.limits import Limits
from fyke.pictures.draw import draw, timeline
from fyke.pictures.interactive import TimelinePage
from fyke.pictures.picture import Picture
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
    "NoMatchWarning",
    "NullComparisonWarning",
    "Picture",
    "Program",
    "Query",
    "RejectedRowsWarning",
    "RelationalQuery",
    "RowPatternQuery",
    "RuleResults",
    "Rules",
    "SlowStreamWarning",
    "Statistics",
    "Techniques",
    "TiedEventsWarning",
    "TimelinePage",
    "WhyNot",
    "draw",
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
    "register",
    "rejected",
    "rules",
    "sql",
    "statistics",
    "timeline",
    "warm_up",
    "watch",
    "why_not",
]
__version__ = "0.1.0"
