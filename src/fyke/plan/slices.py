"""Whether a stream of events can be cut by time, and what each slice must see beside its own events.

A slice owns the events of a stretch of time, and each match belongs to the slice that owns its first event
(for ``compressed``: its last one).  Every strategy begins a run at an event and goes on from there, within a
window, whatever came before: so with the events of one more window ahead a slice finds its matches, all of
them, and no others that it owns.  Absences look back, too, by a window.
"""

from __future__ import annotations

from dataclasses import dataclass

from fyke.plan.counting import Counting
from fyke.plan.plan import Plan

WINDOWS_IN_A_SLICE = 32  # of a DataFrame: each event is in one more slice with a probability of 1 in 32
_GREATEST = 2**62


@dataclass(frozen=True, slots=True)
class Slicing:
    """Whether a slice must see a window back and ahead, and whether it owns matches by their last event."""

    back: bool
    ahead: bool
    by_end: bool


def plan_slices(plan: Plan) -> Slicing | str:
    """Return how the events of a plan can be cut by time, or why they are not."""
    if plan.format.apart:
        return "which matches overlap depends on all that came before"
    if not plan.window.bounded:
        return "without WITHIN a match may be of any length"
    if plan.window.counts_events and plan.looks_past_data:
        return "complete windows are counted from the first event on"
    if plan.window.counts_events and plan.split and not plan.reads_apart:
        return "events are counted by partition, and read all together"
    if isinstance(plan.counting, Counting) and not plan.counting.chunks:
        return "matches are counted without being listed"
    absences = any(each.absences for each in plan.alternatives)
    by_end = plan.format.shared
    return Slicing(back=absences or by_end, ahead=absences or not by_end, by_end=by_end)


def plan_task_slices(plan: Plan) -> Slicing | str:
    """Return how the events of a DataFrame can be cut by time, so that several tasks read them.

    Spark knows the time of an event before a shuffle, and not its number.
    """
    if plan.window.counts_events:
        return "events are counted, and only the task that has all of them can do so"
    if not plan.reads_apart:
        return "the whole input is read as one"
    if WINDOWS_IN_A_SLICE * plan.window.length > _GREATEST:
        return "its window is longer than any data"
    return plan_slices(plan)


def slice_length(plan: Plan) -> int:
    """Return how long the slices of a DataFrame are, in units of its time.

    At two units or more, the number of a slice and those of its neighbours have 64 bits for every time.
    """
    return max(2, WINDOWS_IN_A_SLICE * plan.window.length)


def explain_pieces(plan: Plan, *, tasks: bool = False) -> str:
    """Say in one line how events are cut into pieces, for the threads of a table or for tasks of Spark."""
    sliced = plan_task_slices(plan) if tasks else plan_slices(plan)
    by_key = ", ".join(plan.split) if plan.split and plan.reads_apart else ""
    if isinstance(sliced, str):
        return f"by {by_key}; a hot key is not cut: {sliced}" if by_key else f"one: {sliced}"
    how = f"by time, with a window of overlap{' on both sides' if sliced.back and sliced.ahead else ''}"
    return f"by {by_key}; a hot key {how}" if by_key else how
