"""``fyke.draw`` and ``fyke.timeline``: what there is to see, as pictures and as a page to look around in."""

from __future__ import annotations

from typing import Any

import numpy as np

from fyke.call.files import described
from fyke.diagnosis.report import WhyNot
from fyke.engine.kernels.arrays import Array
from fyke.errors import OptionError, shown
from fyke.language.query import Query
from fyke.language.text import AnyQuery, parse
from fyke.pictures.automaton import draw_automaton
from fyke.pictures.collect import Matched, find_matches, lay_out
from fyke.pictures.interactive import TimelinePage
from fyke.pictures.picture import Picture, check_theme
from fyke.pictures.plan_picture import draw_plan
from fyke.pictures.timeline import draw_timeline
from fyke.plan.explain import Explanation

_MARKS, _MATCHES = 400, 12
_PAGE_MARKS, _PAGE_MATCHES = 200_000, 5_000
_BY = ("variable", "key", "type")


def draw(
    what: Any,
    query: str | AnyQuery | None = None,
    *,
    by: str = "variable",
    key: Any = None,
    between: Any = None,
    theme: str = "auto",
    **options: Any,
) -> Picture:
    """Return a picture of a query, a plan, a diagnosis, or of the matches of a query among events.

    Parameters
    ----------
    what
        A query or its text: its automaton.  What :func:`fyke.explain` has returned: the plan, with estimated
        figures and, if metrics of a run were given, observed ones.  What :func:`fyke.why_not` has returned:
        the nearest attempt.  Or events, together with a ``query``: a timeline of its matches.
    query, options
        For a timeline: the query, and the options of :func:`fyke.match`.
    by
        What a lane of the timeline is: a ``"variable"``, a ``"key"`` or a ``"type"``.
    key, between
        Show the events of one partition, or of an interval, as for :func:`fyke.why_not`.
    theme
        ``"light"``, ``"dark"``, or ``"auto"``, which follows the settings of whoever looks at it.

    Returns
    -------
    A :class:`Picture`, which notebooks show and ``save`` writes as SVG, PNG or HTML.
    """
    check_theme(theme)
    if query is not None:
        _check_by(by)
        found = find_matches(what, query, draw.__name__, key, between, _MATCHES, options)
        return Picture(lambda: draw_timeline(_shown_few(found, by)), "matches on a timeline", theme)
    if isinstance(what, WhyNot):
        return what.picture(theme)
    if isinstance(what, Explanation):
        return Picture(lambda: draw_plan(what), "the plan of a query", theme)
    text = isinstance(what, str)
    given = parse(what) if text else what
    if isinstance(given, Query):
        return Picture(lambda: draw_automaton(given), "the automaton of a query", theme)
    raise OptionError(
        "draw takes a pattern query, an explanation, a diagnosis, or events and a query, found "
        f"{described(what)}",
        remedy="Write, for example, fyke.draw('PATTERN SEQ(A a, B b)'), or "
        "fyke.draw(events, query, time='ts', type='kind').",
    )


def timeline(
    events: Any,
    query: str | AnyQuery,
    *,
    by: str = "variable",
    key: Any = None,
    between: Any = None,
    **options: Any,
) -> TimelinePage:
    """Return a page of events and matches to look around in: zoom, pan, hover, choose a key.

    The page is one file of HTML that needs no server: ``timeline(...).save("matches.html")``.  Parameters are
    those of :func:`draw`.
    """
    _check_by(by)
    found = find_matches(events, query, timeline.__name__, key, between, _PAGE_MATCHES, options)
    rows = np.arange(min(found.events.full.num_rows, _PAGE_MARKS))
    notes = []
    if found.events.full.num_rows > _PAGE_MARKS:
        notes.append(f"the first {_PAGE_MARKS:,} of {found.events.full.num_rows:,} events")
    if found.count > len(found.matches):
        notes.append(f"the first {len(found.matches):,} of {found.count:,} matches")
    return TimelinePage(lay_out(found, rows, by, _title(found), notes), str(found.query))


def _check_by(by: object) -> None:
    if by not in _BY:
        raise OptionError(f"by must be one of {', '.join(map(repr, _BY))}, found {shown(by)}")


def _title(found: Matched) -> str:
    matches = "1 match" if found.count == 1 else f"{found.count:,} matches"
    return f"{matches} in {found.events.full.num_rows:,} events"


def _shown_few(found: Matched, by: str) -> Any:
    """Return a timeline of few enough events to be seen: all, or those around the first matches."""
    rows, notes = _near(found)
    if found.count > len(found.matches):
        notes.append(f"The first {len(found.matches)} of {found.count:,} matches are shown.")
    return lay_out(found, rows, by, _title(found), notes)


def _near(found: Matched) -> tuple[Array, list[str]]:
    total = found.events.full.num_rows
    if total <= _MARKS:
        return np.arange(total), []
    bound = sorted({row for match in found.matches for rows in match.values() for row in rows})
    if not bound:
        return np.arange(_MARKS), [f"The first {_MARKS} of {total:,} events are shown."]
    first, last = bound[0], bound[-1]
    around = np.arange(max(0, first - 10), min(total, last + 11))
    if len(around) > _MARKS:
        others = np.setdiff1d(around, bound)
        kept = others[np.linspace(0, len(others) - 1, max(0, _MARKS - len(bound))).astype(np.int64)]
        around = np.union1d(kept, bound)
    return around, [
        f"{len(around)} of {total:,} events are shown: those of the matches, and some around them."
    ]
