"""What a call of ``match`` has done: exact counts of rows and work, and, apart from them, clocks."""

from __future__ import annotations

from dataclasses import asdict

from fyke.engine.clock import Clock
from fyke.engine.state import Counters
from fyke.spark.observe import Observed


class RejectedRowsWarning(UserWarning):
    """Rows without a time were left out, and no :class:`Metrics` was given to count them."""


class Metrics:
    """Filled by ``fyke.match(..., metrics=metrics)``.

    On a table it is filled when the call returns.  On a DataFrame it is filled by the first action on
    the result, and :meth:`get` waits for that.

    >>> metrics = Metrics()
    >>> metrics.get()
    {}
    """

    def __init__(self) -> None:
        self._values: dict[str, int | float] = {}
        self._observed: Observed | None = None

    def get(self) -> dict[str, int | float]:
        """Return the counts by name, then the seconds of each phase, whose names begin with ``seconds_``.

        Counts are exact and the same in every run; seconds are not.  On a DataFrame a count adds up
        what the tasks have counted (of a peak it is the highest), and seconds are those of all tasks.
        """
        return dict(self._values) if self._observed is None else self._observed.get()

    def set_counters(self, rows: int, rejected_rows: int, counters: Counters, clock: Clock) -> None:
        """Take the counts of a call on a table."""
        self._observed = None
        self._values = {"rows": rows, "rejected_rows": rejected_rows, **asdict(counters), **clock.seconds}

    def observe(self) -> Observed:
        """Return what is to be filled by a call on a DataFrame."""
        self._observed = Observed()
        return self._observed
