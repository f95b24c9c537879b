"""Warnings that point at the line of the user who made the call, however deep in Fyke they arise."""

from __future__ import annotations

import builtins
import sys
import warnings
from typing import Any

from fyke.engine.counters import Counters
from fyke.plan.missing_types import told_missing
from fyke.plan.plan import Plan
from fyke.spark.stream.match import BUCKETS

_TASKS = "spark.sql.shuffle.partitions"


class RejectedRowsWarning(UserWarning):
    """Rows without a time were left out, and no :class:`fyke.Metrics` was given to count them."""


class TiedEventsWarning(UserWarning):
    """Events of equal time stood in no sequence, and no :class:`fyke.Metrics` was given to count them."""


class MissingTypeWarning(UserWarning):
    """A query names an event type that no event has."""


class NoMatchWarning(UserWarning):
    """A query that was asked at a prompt has no match; ``fyke.why_not`` says why."""


class SlowStreamWarning(UserWarning):
    """A stream would be much slower than it need be."""


def warn_user(message: str, category: type[Warning]) -> None:
    """Warn at the innermost frame that is not of this package."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "fyke":
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def warn_of_ties(plan: Plan, counters: Counters) -> None:
    """Say how many events only their equal time kept from following another one, unless ties are ordered."""
    count = counters.tied_successors
    if count == 0 or plan.schema.tie_breaker:
        return
    events, them = ("1 event has", "it") if count == 1 else (f"{count:,} events have", "them")
    warn_user(
        f"{events} the same time as another one that could come right before {them} in the pattern, and "
        "events of the same time are never in sequence; give tie_breaker='column' if a column says which "
        "comes first",
        TiedEventsWarning,
    )


def warn_of_types(missing: dict[str, str]) -> None:
    """Say which types that a query names no event has, given hints by type."""
    if missing:
        warn_user(told_missing(missing), MissingTypeWarning)


def at_prompt() -> bool:
    """Say whether somebody types: in a notebook, in IPython, or at the prompt of Python."""
    return hasattr(sys, "ps1") or hasattr(builtins, "__IPYTHON__")


def warn_of_nothing(rows: int) -> None:
    """Say at a prompt where to look if a query has no match; programs know what they do without one."""
    if rows == 0 and at_prompt():
        warn_user("no match; fyke.why_not, called with the same arguments, says why", NoMatchWarning)


def warn_of_idle_tasks(frame: Any) -> None:
    """Warn if Spark would start many more tasks for each micro-batch of a stream than have anything to do."""
    tasks = int(frame.sparkSession.conf.get(_TASKS, "0") or 0)
    if tasks > 2 * BUCKETS:
        warn_user(
            f"Spark starts {tasks} tasks for each micro-batch, and at most {BUCKETS} have work to do. "
            f"Before the stream first starts, write spark.conf.set({_TASKS!r}, {BUCKETS}).",
            SlowStreamWarning,
        )
