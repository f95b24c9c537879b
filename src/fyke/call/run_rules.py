"""Rules on their events: which of them share the reading, and who runs the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa

from fyke.call.events import Given, Kind
from fyke.call.make_call import make_call
from fyke.call.options import Options, named_options
from fyke.call.pattern import PatternCall
from fyke.call.relational import RelationalCall
from fyke.call.rule_results import Key, RuleResults, TableResults
from fyke.call.rule_results_on_spark import FrameResults
from fyke.call.source import Source, columns_of, make_source, spell_options, timed
from fyke.engine.output.builders import builder_of
from fyke.engine.shared_table import MANY_ROWS, Ran, SharedTable
from fyke.errors import FykeError
from fyke.language.text import AnyQuery
from fyke.plan.plan import Plan

Queries = Mapping[int, tuple[str, str, AnyQuery]]
AnyCall = PatternCall | RelationalCall
Done = Callable[[int, int], None]


def run_rules(
    given: Given,
    queries: Queries,
    options: Mapping[str, Any],
    broken: Mapping[Key, FykeError],
    done: Done | None = None,
) -> RuleResults:
    """Return the results of rules, by number; an error of one rule is kept with them and stops no other.

    ``done`` is told, on tables, how many rules have run of how many.

    Raises
    ------
    FykeError
        If the events or the options are wrong, whatever the rules say.
    """
    names = {number: (name, version) for number, (name, version, _) in queries.items()}
    checked: dict[int, Options] = {}
    for number, (_, _, query) in queries.items():
        each = named_options("run", query, options)
        assert isinstance(each, Options)  # a rule is a query over events
        checked[number] = each
    source: Source | None = None
    for first in list(checked.values())[:1]:
        source = make_source(given, spell_options(given, first))  # what is wrong with it is no rule's error
    if given.on_spark:
        return _on_spark(given, source, names, checked, broken)
    return _on_table(given, names, checked, broken, done)


# --- on tables ------------------------------------------------------------------------------------


def _on_table(
    given: Given,
    names: Mapping[int, Key],
    checked: Mapping[int, Options],
    broken: Mapping[Key, FykeError],
    done: Done | None,
) -> RuleResults:
    results = TableResults(names, dict(broken), given.back)
    calls: dict[int, AnyCall] = {}
    plans: dict[int, Plan] = {}
    failed: dict[int, FykeError] = {}
    source: Source | None = None  # of all rules: they differ in nothing but the query
    for number, each in checked.items():
        try:
            call = make_call(given, each, source)
            assert isinstance(call, (PatternCall, RelationalCall))  # a rule is a query over events
            if isinstance(call, PatternCall):
                source = call.source
                plans[number] = call.plan(measured=False)
            calls[number] = call
        except FykeError as error:
            failed[number] = error
    threads = max((each.threads for each in checked.values()), default=1)
    ran = _ran_together(source, calls, plans, threads)
    for ended, (number, asked) in enumerate(calls.items(), 1):
        try:
            if isinstance(asked, RelationalCall):
                results.add(number, asked.run())
            elif isinstance(found := next(ran), FykeError):
                failed[number] = found
            else:
                results.add(number, *found)
        except FykeError as error:
            failed[number] = error
        if done is not None:
            done(ended, len(calls))
    results.failed.update((names[number], failed[number]) for number in sorted(failed))
    return results


def _ran_together(
    source: Source | None, calls: Mapping[int, AnyCall], plans: dict[int, Plan], threads: int
) -> Iterator[Ran | FykeError]:
    """Yield what plans over the same events find, or their errors.

    The first events of a table say something of a rule that looks at many of them.  Of one that looks at few
    they say little, and measuring them would take longer than any search.
    """
    if source is None or not plans:
        return
    events, _ = timed(source.events, source.schema, warn=True)
    shared = SharedTable(events, source.schema, list(plans.values()))
    for number, plan in plans.items():
        call = calls[number]
        if isinstance(call, PatternCall) and shared.looked_at(plan) >= MANY_ROWS:
            plans[number] = call.plan()
    yield from shared.run_all(list(plans.values()), threads)


# --- on Spark -------------------------------------------------------------------------------------


def _on_spark(
    given: Given,
    source: Source | None,
    names: Mapping[int, Key],
    checked: Mapping[int, Options],
    broken: Mapping[Key, FykeError],
) -> RuleResults:
    """Return the results on DataFrames; ``source`` has those of a dict as one."""
    results = FrameResults(names, dict(broken))
    shared: dict[int, Plan] = {}
    for number, each in checked.items():
        try:
            plan = None if given.kind is Kind.STREAM else _shared_plan(given, each)
            if plan is None:
                results.add(number, make_call(given, each).run())
            else:
                shared[number] = plan
        except FykeError as error:
            results.failed[names[number]] = error
    for keys, plans in _grouped(shared).items():
        assert source is not None  # there is a rule
        schemas = {number: builder_of(plan) for number, plan in plans.items()}
        kinds = {number: each.finish(each.schema.empty_table()).schema for number, each in schemas.items()}
        results.add_together(source.events, plans, keys, kinds)
    return results


def _shared_plan(given: Given, options: Options) -> Plan | None:
    """Return a plan for a table of the columns of a DataFrame; None if only Spark can run the query.

    Fyke's own functions compute what Spark's do, but a table does not know the functions that only Spark has.
    So a query that a table refuses is for Spark to judge.
    """
    spelled = spell_options(given, options)
    events = given.events
    by_type = isinstance(events, Mapping)
    nothing: Any = {name: _empty(each) for name, each in events.items()} if by_type else _empty(events)
    try:
        call = make_call(Given(nothing, Kind.TABLE, given.back), spelled)
        if not isinstance(call, PatternCall):
            return None
        plan = call.plan()
    except FykeError:
        return None
    whole = plan.result.over_matches and set(plan.partition) != set(plan.keys)
    if not plan.keys or plan.looks_past_data or whole:
        return None
    return replace(plan, statistics=options.statistics)


def _empty(frame: Any) -> pa.Table:
    """Return a table without rows that has the columns of a DataFrame."""
    return pa.schema(list(columns_of(frame).items())).empty_table()


def _grouped(plans: Mapping[int, Plan]) -> dict[tuple[str, ...], dict[int, Plan]]:
    """Return plans by the attributes of a shuffle: one that is divided by more rides with one by fewer."""
    groups: dict[tuple[str, ...], dict[int, Plan]] = {}
    for number, plan in sorted(plans.items(), key=lambda each: len(each[1].keys)):
        keys = tuple(sorted(plan.keys))
        fitting = next((known for known in groups if set(known) <= set(keys)), keys)
        groups.setdefault(fitting, {})[number] = plan
    return groups
