"""What ``fyke.watch`` writes to a terminal and elsewhere, of a query that tells what it is made to tell."""

from __future__ import annotations

import io
from types import SimpleNamespace
from typing import Any

import pytest

import fyke
from fyke.spark.stream import progress


class Terminal(io.StringIO):
    """A place where a line can be written again."""

    def isatty(self) -> bool:
        return True


class Query:
    """A query that has done one more micro-batch each time it is asked whether it runs."""

    name, id = "alerts", "0"

    def __init__(self, batches: int, interrupted: bool = False) -> None:
        self.left, self.interrupted = batches, interrupted
        self.recentProgress: list[dict[str, Any]] = []

    @property
    def isActive(self) -> bool:
        if self.interrupted and len(self.recentProgress) == 1:
            raise KeyboardInterrupt
        if self.left:
            self.recentProgress.append(self._batch())
        self.left -= 1
        return self.left >= 0

    def _batch(self) -> dict[str, Any]:
        counts = {"calls": 1, "events": 10, "matches": 2, "late": 1, "live_runs": 3, "state_rows": 4}
        return {
            "observedMetrics": {
                "fyke": SimpleNamespace(asDict=lambda: counts),
                "fyke_rejected": SimpleNamespace(asDict=lambda: {"rejected": 1}),
            },
            "timestamp": "2026-03-01T10:00:30.000Z",
            "eventTime": {"watermark": "2026-03-01T10:00:00.000Z"},
        }


FIRST = (
    "alerts: 1 batch, 10 events, 2 matches, 1 late, 1 rejected, 3 runs alive, "
    "state 4 rows, 0.0 MB, 30 s behind"
)
SECOND = FIRST.replace(
    "1 batch, 10 events, 2 matches, 1 late, 1 r", "2 batches, 20 events, 4 matches, 2 late, 2 r"
)


def test_a_terminal_shows_one_line_that_changes() -> None:
    out = Terminal()
    seen = fyke.watch(Query(2), every=0, out=out)
    assert out.getvalue() == f"\r\033[K{FIRST}\r\033[K{SECOND}\n"
    assert (seen["batches"], seen["matches"], seen["lag_seconds"]) == (2, 4, 30.0)


def test_elsewhere_a_line_is_added_when_something_changes() -> None:
    out = io.StringIO()
    fyke.watch(Query(2), every=0, out=out)
    assert out.getvalue() == f"{FIRST}\n{SECOND}\n"


def test_an_interrupt_ends_the_watching_and_not_the_query() -> None:
    query, out = Query(5, interrupted=True), Terminal()
    assert fyke.watch(query, every=0, out=out) == progress.progress(query)  # type: ignore[arg-type]
    assert query.left == 4
    assert out.getvalue() == f"\r\033[K{FIRST}\n"


@pytest.mark.parametrize("watermark", [None, "1970-01-01T00:00:00.000Z"])
def test_before_there_is_a_watermark_there_is_no_lag(watermark: str | None) -> None:
    query = Query(1)
    assert query.isActive
    query.recentProgress[0]["eventTime"] = {"watermark": watermark} if watermark else None
    seen = fyke.progress(query)
    assert (seen["watermark"], seen["lag_seconds"]) == (None, None)
