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

from fyke.api import match
from fyke.errors import FykeError
from fyke.language import builder as pattern
from fyke.language.query import Query
from fyke.language.sase import parse
from fyke.limits import Limits

__all__ = ["FykeError", "Limits", "Query", "match", "parse", "pattern"]
__version__ = "0.1.0"
