"""What a running query has done so far: Spark's own progress, with what Fyke counts, as numbers or live."""

from __future__ import annotations

import sys
import time
from datetime import datetime
from typing import Any, TextIO

from pyspark.sql.streaming.query import StreamingQuery

from fyke.errors import InputError

PROGRESS = "fyke"  # the name of the counts in the progress of a query
REJECTED = "fyke_rejected"  # the same for rows that have no time
# Counts that add up over micro-batches, and those of which the last is true.
SUMS, LEVELS = ("events", "late", "matches", "written_bytes"), ("live_runs", "state_rows", "state_bytes")


def progress(query: StreamingQuery) -> dict[str, Any]:
    """Return what a query that matches a stream has done, as far as Spark remembers it.

    ``batches``, ``events`` (those that the pattern looks at), ``late``, ``rejected``, ``matches`` and
    ``written_bytes`` are sums over the micro-batches that Spark remembers
    (``spark.sql.streaming.numRecentProgressUpdates``, 100 unless set).  ``watermark``, ``lag_seconds`` (from
    the watermark to the clock) and ``rows_per_second`` are those of the last one.  ``live_runs``,
    ``state_rows`` and ``state_bytes`` are those of the buckets that the last one with work to do has read.

    Raises
    ------
    InputError
        If it is not a streaming query.
    """
    if not isinstance(getattr(query, "recentProgress", None), list):
        raise InputError(
            f"progress takes a running query, found {type(query).__name__}",
            remedy="Give what writeStream...start() returns.",
        )
    result: dict[str, Any] = dict.fromkeys(("batches", *SUMS, "rejected", *LEVELS), 0)
    result |= {"watermark": None, "lag_seconds": None, "rows_per_second": 0.0}
    for each in query.recentProgress:
        observed = each.get("observedMetrics") or {}
        counts, rejected = _cells(observed.get(PROGRESS)), _cells(observed.get(REJECTED))
        result["batches"] += 1
        result["rejected"] += rejected.get("rejected") or 0
        for name in SUMS:
            result[name] += counts.get(name) or 0
        if counts.get("calls"):
            result |= {name: counts.get(name) or 0 for name in LEVELS}
        result["rows_per_second"] = each.get("processedRowsPerSecond") or 0.0
        mark = (each.get("eventTime") or {}).get("watermark")
        if mark and not mark.startswith("1970-01-01T00:00:00"):
            result["watermark"] = mark
            lag = _moment(each["timestamp"]) - _moment(mark)
            result["lag_seconds"] = round(lag.total_seconds(), 3)
    return result


def watch(query: StreamingQuery, *, every: float = 1.0, out: TextIO | None = None) -> dict[str, Any]:
    """Show the progress of a running query until it stops; return it.

    In a terminal one line is written again and again; elsewhere a line is added when something changes.
    Ctrl-C ends the watching, not the query.
    """
    out = sys.stdout if out is None else out
    live, last = out.isatty(), ""
    try:
        while True:
            active = query.isActive
            line = progress_line(progress(query), query.name or str(query.id)[:8])
            if line != last:
                out.write(f"\r\033[K{line}" if live else f"{line}\n")
                out.flush()
                last = line
            if not active:
                break
            time.sleep(every)
    except KeyboardInterrupt:
        pass
    if live:
        out.write("\n")
    return progress(query)


def progress_line(seen: dict[str, Any], name: str) -> str:
    """Return the progress of a query in a line."""
    lag = "" if seen["lag_seconds"] is None else f", {seen['lag_seconds']:,.0f} s behind"
    counts = [("batches", "batch"), ("events", "event"), ("matches", "match")]
    told = ", ".join(f"{seen[each]:,} {one if seen[each] == 1 else each}" for each, one in counts)
    return (
        f"{name}: {told}, "
        f"{seen['late']:,} late, {seen['rejected']:,} rejected, {seen['live_runs']:,} runs alive, "
        f"state {seen['state_rows']:,} rows, {seen['state_bytes'] / 1e6:,.1f} MB{lag}"
    )


def _cells(row: Any) -> dict[str, Any]:
    return {} if row is None else row.asDict()


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00"))
