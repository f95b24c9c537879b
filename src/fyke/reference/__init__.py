"""The naive twin of every engine: SEMANTICS executed literally, small and slow, the judge in every test.

>>> import pyarrow as pa
>>> events = pa.table({"kind": ["A", "B", "B"], "t": [1, 2, 3]})
>>> match(events, "PATTERN SEQ(A a, B b) WITHIN 10 RETURN a.t, b.t", time="t", type="kind").num_rows
1
"""

from __future__ import annotations

from fyke.reference.compressed import enumerate_matches
from fyke.reference.expression import Occurrence, evaluate
from fyke.reference.matches import Match, before, matches, non_overlap, return_value
from fyke.reference.table import match

__all__ = [
    "Match",
    "Occurrence",
    "before",
    "enumerate_matches",
    "evaluate",
    "match",
    "matches",
    "non_overlap",
    "return_value",
]
