"""Attempts that expire: ``timeouts=True`` makes a funnel of a sequence, and tells its rows apart.

A funnel has one match for each start: how far it came (SEMANTICS 2.3).  Those that came to the end are the
matches of the sequence, the others are attempts whose window is over.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from fyke.errors import OptionError
from fyke.language.ast import Call, Event, Funnel, Pattern, ReturnItem, Seq, Strategy, walk
from fyke.language.query import Query
from fyke.language.row_patterns import RowPatternQuery, Rows
from fyke.logical.check_operators import over_matches
from fyke.logical.funnel import MATCH, REACHED, STATUS, TIMEOUT
from fyke.plan.outputs import OUTPUTS
from fyke.spark.session import is_frame
from fyke.spark.timeouts import status_of_rows


def with_timeouts(query: Query, output: str) -> Query:
    """Return the query whose rows are matches and attempts that expired, with the column ``reached``.

    Raises
    ------
    OptionError
        If the pattern is not a sequence of single events that a run follows step by step.
    """
    steps = _steps(query.pattern)
    if steps is None or query.strategy not in (Strategy.NEXT, Strategy.GREEDY):
        raise OptionError(
            "timeouts needs a sequence of single events, SEQ(A a, B b, C c), under skip_till_next_match or "
            "greedy_skip_till_next_match: only there each start is one attempt",
            remedy="Leave it out, or find what does not come with an absence: SEQ(A a, ~B b).",
        )
    if query.window is None:
        raise _no_window()
    if not OUTPUTS[output].returns:
        raise OptionError(f"timeouts has no meaning for output={output!r}", remedy="Leave one of them out.")
    returns = query.returns
    if returns is not None:
        if any(over_matches(node) for item in returns for node in walk(item.expression)):  # type: ignore[arg-type]
            raise OptionError(
                "timeouts returns a row for each attempt, and the query returns aggregates over matches",
                remedy="Count the rows by status.",
            )
        returns = (*returns, ReturnItem(Call(REACHED, ()), REACHED))
    return replace(query, pattern=Funnel(steps, place=query.pattern.place), returns=returns)


def _steps(pattern: Pattern) -> tuple[Pattern, ...] | None:
    """Return the steps of a sequence of single events, or of a funnel."""
    if not isinstance(pattern, (Seq, Funnel)) or len(pattern.parts) < 2:
        return None
    single = all(isinstance(part, Event) and not part.group and part.minimum == 1 for part in pattern.parts)
    return pattern.parts if single else None


def _no_window() -> OptionError:
    return OptionError("timeouts needs a window: without one no attempt expires", remedy="Add WITHIN.")


def check_row_timeouts(query: RowPatternQuery) -> None:
    """Refuse a clause whose attempts do not expire, or that tells the rows of these already.

    Raises
    ------
    OptionError
    """
    if query.window is None:
        raise _no_window()
    if query.rows is Rows.WITH_UNMATCHED:
        raise OptionError(
            "timeouts tells the rows of attempts that expired, and WITH UNMATCHED ROWS all rows in no match",
            remedy="Leave one of them out.",
        )


def with_status(rows: Any, query: Query) -> Any:
    """Return rows with the column ``status``: did an attempt come to the end of the sequence?"""
    assert isinstance(query.pattern, Funnel)
    steps = len(query.pattern.parts)
    if is_frame(rows):
        return status_of_rows(rows, steps)
    arrived = pc.equal(rows[REACHED], steps)
    column = pc.if_else(arrived, pa.scalar(MATCH), pa.scalar(TIMEOUT))
    return rows.append_column(STATUS, column)
