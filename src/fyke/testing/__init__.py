"""Test your patterns and MATCH_RECOGNIZE clauses as streams, in one process and without Spark.

Examples
--------
>>> from fyke.testing import replay, assert_matches
>>> seen = replay("PATTERN SEQ(a x, b y) WITHIN 9", "a@0 | b@3 | crash | b@12")
>>> assert_matches(seen, ["x@0 y@3"])
"""

from __future__ import annotations

from fyke.testing.expect import assert_matches, assert_same_as_batch, match_texts
from fyke.testing.replay import Replay, replay
from fyke.testing.timeline import Timeline, parse_timeline

__all__ = [
    "Replay",
    "Timeline",
    "assert_matches",
    "assert_same_as_batch",
    "match_texts",
    "parse_timeline",
    "replay",
]
