"""Random queries whose absences take several events, and streams in which these often are."""

from __future__ import annotations

from hypothesis import strategies as st

from fyke.language.assemble import assemble
from fyke.language.ast import And, Binary, Event, Index, Not, Pattern, Reference, Seq, Strategy
from fyke.language.query import Query
from fyke.limits import Limits
from tests.random.queries import TYPES, _absent, _leaf, _Namer, _part, conditions, declared, windows
from tests.random.streams import Case, cases


@st.composite
def guarded_patterns(draw: st.DrawFn) -> Pattern:
    """An absence of several events, mostly between two single ones, with others behind, before or beside."""
    namer = _Namer()
    kinds = st.sampled_from((*TYPES, *TYPES, *TYPES, None))
    before = Event(draw(kinds), namer.next(), 1, 1, False)
    absent: Pattern = _absent(draw, namer)
    if isinstance(absent, Event) and not absent.group:
        absent = Seq((absent, _leaf(draw, namer, absent=True)))
    after = Event(draw(kinds), namer.next(), 1, 1, False)
    parts: tuple[Pattern, ...] = (before, Not(absent), after)
    where = draw(st.sampled_from(("alone", "end", *["behind"] * 3, "before", "beside", "beside")))
    if where == "end":
        return Seq((before, after, Not(absent)))
    if where == "alone" or namer.left == 0:
        return Seq(parts)
    part = _part(draw, namer, 1)
    if where == "beside":
        return And((Seq(parts), part))
    return Seq((*parts, part) if where == "behind" else (part, *parts))


@st.composite
def guarded_queries(draw: st.DrawFn) -> Query:
    """A query with an absence of several events, most often related by a condition to what is present."""
    pattern = draw(guarded_patterns())
    variables = declared(pattern)
    where = draw(conditions(variables))[:2]
    if draw(st.sampled_from((False, True, True))):
        absent = draw(st.sampled_from([v for v in variables if v.absence]))
        present = draw(st.sampled_from([v for v in variables if not v.absence][-2:]))
        sides = [Reference(v.name, ("x",), Index.EACH if v.group else Index.NONE) for v in (absent, present)]
        where.append(Binary(draw(st.sampled_from(("<", "<=", ">", "="))), *sides))
    return assemble(pattern, where, Strategy.ANY, draw(windows(pattern, None)), None, None, None, Limits())


def guarded_cases(*, judged: bool = True) -> st.SearchStrategy[Case]:
    """Cases of such queries."""
    return cases(Strategy.ANY, judged=judged, made_of=guarded_queries(), hindered=(False, True))
