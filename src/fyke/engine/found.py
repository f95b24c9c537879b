"""What one call of ``advance`` finds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import pyarrow as pa

from fyke.engine.counters import Counters
from fyke.engine.kernels.arrays import Array
from fyke.engine.matchset import MatchSet
from fyke.engine.output.graphs import GraphSet


@dataclass(frozen=True, slots=True)
class Found:
    """Matches and the rows that their positions refer to; or ``graphs``, or only a ``tally``.

    ``decided`` says, by the text of a condition, how often it was decided and how often it held.
    """

    matches: MatchSet
    rows: pa.Table
    events: Array
    counters: Counters
    graphs: GraphSet | None = None
    tally: pa.Table | None = None
    decided: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    def in_pieces(self, most: int) -> Iterator[Found]:
        """Yield the same in pieces of so many matches at most, so that few rows are made at once."""
        if self.tally is not None or self.graphs is not None or len(self.matches) <= most:
            yield self
            return
        for first in range(0, len(self.matches), most):
            yield replace(self, matches=self.matches.between(first, min(first + most, len(self.matches))))
