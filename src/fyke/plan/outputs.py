"""The output formats: what each makes of the selected matches.

One table, read by the planner, by the engines and by the inputs.  What builds the rows of a format is in
``engine/output/builders.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class OutputFormat:
    """What an output format does with the matches that the strategy has selected.

    Attributes
    ----------
    independent
        Whether each match is reported whatever other matches there are.  Only then can matches be
        tallied without being listed, leave in chunks, and be found in any order.
    apart
        Whether matches that overlap within a partition exclude one another.
    shared
        Whether the matches of a row share one graph.
    returns
        Whether RETURN has a place in it.
    """

    independent: bool = False
    apart: bool = False
    shared: bool = False
    returns: bool = True


OUTPUTS: Mapping[str, OutputFormat] = {
    "all": OutputFormat(independent=True),
    "non_overlap": OutputFormat(apart=True),
    "compressed": OutputFormat(shared=True, returns=False),
}
