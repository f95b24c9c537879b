"""Counts of a call of ``match``: exact numbers of rows and work, never clocks."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from fyke.engine.state import Counters
from fyke.spark.observe import Observed, observe_rejected


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
        self._values: dict[str, int] = {}
        self._observation: Observed | None = None

    def get(self) -> dict[str, int]:
        """Return the counts by name: rows, rejected_rows, and on a table the counters of the engine."""
        if self._observation is not None:
            return {name: int(value) for name, value in self._observation.get.items()}
        return dict(self._values)

    def set_counters(self, rows: int, rejected_rows: int, counters: Counters) -> None:
        """Take the counts of a call on a table."""
        self._observation = None
        self._values = {"rows": rows, "rejected_rows": rejected_rows, **asdict(counters)}

    def observe(self, frame: Any, time: tuple[str, str]) -> Any:
        """Count the rows of a DataFrame as they are read."""
        observed, self._observation = observe_rejected(frame, time)
        return observed
