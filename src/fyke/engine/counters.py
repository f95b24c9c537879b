"""What happened in a call, in exact numbers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Counters:
    """What happened, for ``metrics``: exact numbers, never clocks.

    Attributes
    ----------
    events_read, events_filtered
        Events the engine has read, and rows that can play no role and were left out before it.
    events_reread
        Events read once more by a search that goes back.
    late_rows, tied_rows
        Rows not after the last watermark; relevant rows that share their time with another one.
    starts_skipped
        Events that could have started a run, but whose window cannot hold a match.
    runs_created, runs_merged, peak_runs
        Partial matches: made, made one with an equal one, alive at once at most.
    bindings_tried, condition_evaluations
        The work of the search.
    memory_operations
        Of a lazy engine: stored events looked at, and bindings put on the stack of the search ([L] 8).
    absence_checks
        Of a lazy engine: absences checked before all variables were bound.
    buffered_events
        Events a lazy engine holds to search in, at most.
    buffer_peak
        Bytes of the buffer of bindings, at most.
    intermediate_matches
        Matches of the positive part that selection and absences chose from.
    matches
        Matches reported.
    replans
        How often a join tree was planned anew and rebuilt.
    """

    events_read: int = 0
    events_filtered: int = 0
    events_reread: int = 0
    late_rows: int = 0
    tied_rows: int = 0
    starts_skipped: int = 0
    runs_created: int = 0
    runs_merged: int = 0
    peak_runs: int = 0
    bindings_tried: int = 0
    condition_evaluations: int = 0
    memory_operations: int = 0
    absence_checks: int = 0
    buffered_events: int = 0
    buffer_peak: int = 0
    intermediate_matches: int = 0
    matches: int = 0
    replans: int = 0

    def merge(self, other: Counters) -> None:
        """Add what another part of the work counted; of a peak take the highest."""
        for name in self.__slots__:
            mine, theirs = getattr(self, name), getattr(other, name)
            setattr(self, name, max(mine, theirs) if name in PEAKS else mine + theirs)


PEAKS = frozenset({"peak_runs", "buffer_peak", "buffered_events"})
