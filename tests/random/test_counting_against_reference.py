"""Aggregates over matches, without the rows of all matches, against the naive twin."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import assume, given, settings
from hypothesis import strategies as st

import fyke
from fyke import reference
from fyke.errors import InputError, QueryError
from fyke.language.ast import Call, Expression, Index, Length, Reference, ReturnItem, Star, Strategy
from fyke.plan.counting import Counting
from tests.random.queries import declared
from tests.random.results import difference
from tests.random.streams import Case, cases
from tests.random.test_advance import Stream, feed, splits
from tests.random.test_engine_against_reference import SETTINGS


@st.composite
def tallied(draw: st.DrawFn, *, judged: bool) -> Case:
    """A case whose RETURN asks for numbers over matches."""
    case = draw(cases(Strategy.ANY, judged=judged))
    variables = [variable for variable in declared(case.query.pattern) if variable.absence == 0]
    items: list[Expression] = [Call("count", (Star(),))]
    for _ in range(draw(st.integers(0, 2))):
        variable = draw(st.sampled_from(variables))
        attribute = draw(st.sampled_from(("x", "v", "k", "x", "v", "k", "d")))
        value: Expression = Reference(variable.name, (attribute,))
        if variable.group:
            inner = Reference(variable.name, (attribute,), Index.ALL)
            value = Call(draw(st.sampled_from(("sum", "min", "max", "count"))), (inner,))
            value = draw(st.sampled_from((value, value, Length(variable.name))))
        functions = ("sum", "avg", "min", "max", "sum", "avg", "min", "max", "count")
        items.append(Call(draw(st.sampled_from(functions)), (value,)))
    returns = tuple(ReturnItem(item, f"r{number}") for number, item in enumerate(items))
    query = replace(case.query, returns=returns)
    return replace(case, query=query, output="all")


def test_tallies_equal_the_reference() -> None:
    ways: list[str] = []

    @settings(SETTINGS, max_examples=200, derandomize=True)
    @given(st.data())
    def check(data: st.DataObject) -> None:
        case = data.draw(tallied(judged=True))
        engine = data.draw(st.sampled_from(("lazy_chain", "lazy_tree")))
        try:
            expected = reference.match(case.table, case.query, **case.options)
        except QueryError:
            assume(False)
        try:
            found = fyke.match(case.table, case.query, **case.options, engine=engine)
        except InputError as error:
            assert "may leave 64 bits" in str(error)  # noqa: PT017 - which of its rows would is not known
            return
        differing = difference(found, expected)
        assert differing is None, differing
        ways.append(fyke.explain(case.table, case.query, **case.options, engine=engine))

    check()
    assert sum("by a recurrence" in way for way in ways) >= 15
    assert sum("by counting (every match is visited" in way for way in ways) >= 15
    assert sum("chunk by chunk (every match is visited" in way for way in ways) >= 15


def test_tallies_of_any_split_add_up() -> None:
    recurrences, chunked, met = [], [], []

    @settings(SETTINGS, max_examples=200, derandomize=True)
    @given(st.data())
    def check(data: st.DataObject) -> None:
        case = data.draw(tallied(judged=False))
        engine = data.draw(st.sampled_from(("lazy_chain", "lazy_tree")))
        batches, watermarks = data.draw(splits(case))
        try:
            expected = fyke.match(case.table, case.query, **case.options, engine="automaton")
        except QueryError:
            assume(False)
        stream = Stream(
            case.table.schema,
            case.query,
            case.time,
            case.tie_breaker,
            case.output,
            engine=engine,
            **case.order,
        )
        try:
            feed(case, stream, batches, watermarks)
        except InputError as error:
            assert "may leave 64 bits" in str(error)  # noqa: PT017 - as above
            return
        differing = difference(stream.result(), expected)
        assert differing is None, differing
        counting = stream.door.plan.counting
        if isinstance(counting, Counting):
            recurrences.append(counting.subsets)
            chunked.append(counting.chunks)
            valued = any(value is not None for _, value in counting.aggregates)
            met.append(valued and not counting.subsets)

    check()
    assert sum(recurrences) >= 10
    assert sum(chunked) >= 10
    assert sum(met) >= 10
