"""Exact counts of what happened in a call."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Counters:
    """Exact counts of what happened, for ``metrics``.

    Attributes
    ----------
    events_read, events_filtered
        Events that the engine has read, and rows that were left out before it because they can play no role.
    events_reread
        Events that backtracking has read again.
    late_rows, tied_rows
        Rows not after the last watermark; relevant rows that share their time with another one.
    tied_successors
        Those of them that could directly follow another one of their time, if it were earlier.
    starts_skipped
        Events that could have started a run but whose window cannot hold a match.
    runs_created, runs_merged, peak_runs
        Partial matches: created, merged with an equivalent one, and the most alive at once.
    bindings_tried, condition_evaluations
        The work of the search.
    memory_operations
        Lazy engines: stored events looked at, and bindings put on the stack of the search ([L] 8).
    absence_checks
        Lazy engines: absences checked before all variables were bound.
    buffered_events
        Lazy engines: the most events held to search in.
    buffer_peak
        The most bytes in the buffer of bindings.
    intermediate_matches
        Matches of the positive part, before selection and absences chose among them.
    matches
        Matches reported.
    replans
        How often a join tree was replanned and rebuilt.
    """

    events_read: int = 0
    events_filtered: int = 0
    events_reread: int = 0
    late_rows: int = 0
    tied_rows: int = 0
    tied_successors: int = 0
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
        """Add the counts of another part of the work; for a peak take the higher one."""
        for name in self.__slots__:
            if theirs := getattr(other, name):
                mine = getattr(self, name)
                setattr(self, name, max(mine, theirs) if name in PEAKS else mine + theirs)


PEAKS = frozenset({"peak_runs", "buffer_peak", "buffered_events"})
