"""The planner: the cheapest tree and order, within milliseconds, and engines only where they can run."""

from __future__ import annotations

import itertools
import re
import time
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest

import fyke
from fyke import Statistics, Techniques
from fyke.engine.input.prepare import derived_types
from fyke.errors import OptionError
from fyke.language.ast import Strategy
from fyke.language.sase import parse
from fyke.logical.analyse import analyse
from fyke.logical.normal_form import Alternative
from fyke.logical.schema import make_schema
from fyke.plan.adapt import Thresholds, better_tree
from fyke.plan.cost import CostModel, within
from fyke.plan.pass_down import choose_pass_down, passable
from fyke.plan.plan import Plan, make_plan
from fyke.plan.planner import choose_plan
from fyke.plan.search import automaton_work, best_order, best_tree, chain_work, tree_work
from fyke.plan.tree_shape import Shape, every_shape, left_deep, orient, show

COLUMNS = {"t": pa.int64(), "kind": pa.string(), "x": pa.int64(), "y": pa.int64()}


def plan(
    pattern: str, where: str = "a.x < b.x", strategy: str = "skip_till_any_match", output: str = "all"
) -> Plan:
    query = parse(f"PATTERN {pattern} WHERE {strategy} {{ {where} }} WITHIN 20")
    analysed = analyse(query, make_schema(COLUMNS, time="t", type_column="kind"))
    return make_plan(analysed, derived_types, output)


def one(pattern: str, where: str = "a.x < b.x") -> Alternative:
    (alternative,) = plan(pattern, where).alternatives
    return alternative


def sequence(count: int, operator: str = "SEQ") -> str:
    return f"{operator}({', '.join(f'{name.upper()} {name}' for name in 'abcdefghij'[:count])})"


@pytest.mark.parametrize("count, most", [(6, 0.010), (10, 0.100)])
@pytest.mark.parametrize("operator", ["SEQ", "AND"])
def test_planning_takes_milliseconds(operator: str, count: int, most: float) -> None:
    where = "a.x < d.x AND b.x = e.x AND c.x < f.x AND a.y < b.y"
    alternative = one(sequence(count, operator), where)
    seconds = []
    for _ in range(5):
        begin = time.perf_counter()
        best_tree(CostModel(alternative, Statistics({"f": 0.5})))
        seconds.append(time.perf_counter() - begin)
    assert min(seconds) < most


def test_the_programme_finds_the_cheapest_of_all_shapes() -> None:
    where = "a.x < d.x AND b.x = e.x AND c.x < e.x"
    for rates in itertools.product((1.0, 30.0), repeat=5):
        model = CostModel(one(sequence(5), where), Statistics(dict(zip("abcde", rates, strict=True))))
        for pull in (False, True):
            found = best_tree(model, pull=pull).work.cost
            cheapest = min(tree_work(model, shape, pull=pull).cost for shape in every_shape("abcde"))
            assert found == pytest.approx(cheapest)


def every_tree(names: frozenset[str]) -> Iterator[Shape]:
    """Yield all trees over a set of variables, whatever stands left or right."""
    if len(names) == 1:
        yield next(iter(names))
        return
    first = min(names)
    for size in range(1, len(names)):
        for part in itertools.combinations(sorted(names), size):
            if first in part:
                for left in every_tree(frozenset(part)):
                    for right in every_tree(names - set(part)):
                        yield (left, right)


def test_partial_orders_too_get_the_cheapest_of_all_trees() -> None:
    where = "a.x < d.x AND b.x = e.x AND c.x < e.x"
    for rates in itertools.product((1.0, 30.0), repeat=5):
        pattern = "SEQ(T a, AND(T b, SEQ(T c, T d)), T e)"
        model = CostModel(one(pattern, where), Statistics(dict(zip("abcde", rates, strict=True))))
        for pull in (False, True):
            found = best_tree(model, pull=pull).work.cost
            costs = (tree_work(model, tree, pull=pull).cost for tree in every_tree(frozenset("abcde")))
            assert found == pytest.approx(min(costs))


def test_the_order_found_is_the_cheapest_of_all() -> None:
    model = CostModel(
        one(sequence(4), "a.x = c.x AND b.x < d.x"), Statistics({"a": 50.0, "b": 2.0, "d": 7.0})
    )
    costs = {order: chain_work(model, order).cost for order in itertools.permutations("abcd")}
    assert best_order(model).work.cost == pytest.approx(min(costs.values()))


def test_a_selective_condition_is_joined_first() -> None:
    """[T] 5.2.2: two neighbours in the middle that rarely fit together."""
    alternative = one(sequence(4), "b.x < c.x")
    model = CostModel(alternative, Statistics(dict.fromkeys("abcd", 20.0), {}), {})
    rare = CostModel(
        alternative, Statistics(dict.fromkeys("abcd", 20.0), {"b.x < c.x": 0.001}),
        plan(sequence(4), "b.x < c.x").texts,
    )  # fmt: skip
    assert "(b c)" in show(best_tree(rare).shape or "")
    assert best_tree(rare).work.cost < best_tree(model).work.cost


def test_left_deep_push_and_automaton_make_the_same() -> None:
    """[T] 5.2.1: both build all matches of every beginning of the pattern."""
    model = CostModel(one(sequence(4), "a.x < d.x"), Statistics(dict.fromkeys("abcd", 50.0)))
    tree, automaton = tree_work(model, left_deep("abcd"), pull=False), automaton_work(model)
    leaves = sum(model.made(1 << k) for k in (1, 2, 3))
    assert tree.made - leaves == pytest.approx(automaton.made, rel=1e-9)


@pytest.mark.parametrize(
    "waits, rate, power", [(1, 2.0, 0), (2, 7.0, 3), (4, 6.6, 1), (3, 0.5, 2), (5, 40.0, 5)]
)
def test_how_many_partial_matches_are_still_in_the_window(waits: int, rate: float, power: int) -> None:
    """Against draws: events at random in a window, followed by waiting times."""
    rng = np.random.default_rng(0)
    total = rng.exponential(1 / rate, (200_000, waits)).sum(axis=1)
    drawn = (np.clip(1 - total, 0, None) ** power * (total <= 1)).mean()
    assert within(waits, rate, power) == pytest.approx(drawn, rel=0.05, abs=1e-4)


def test_pulling_spares_what_no_trigger_follows() -> None:
    model = CostModel(one(sequence(4)), Statistics({"d": 0.01}))
    shape = left_deep("abcd")
    assert tree_work(model, shape, pull=True).cost < 0.1 * tree_work(model, shape, pull=False).cost


def test_later_variables_are_turned_to_the_right() -> None:
    order = one(sequence(3)).order
    assert orient(("c", ("b", "a")), order) == (("a", "b"), "c")


def test_conditions_are_passed_down_when_the_trigger_is_rare() -> None:
    """Appendix A: the gap between triggers must exceed the window times the selectivity."""
    alternative = one(sequence(4), "a.x < d.x AND b.x < d.x AND c.x < d.x")
    shape = left_deep("abcd")
    assert passable(alternative, shape) == ["a", "b", "c"]
    pairs = {frozenset("ad"): 0.5, frozenset("bd"): 0.1, frozenset("cd"): 0.9}
    assert choose_pass_down(alternative, shape, {"d": 0.5}, pairs) == "b"
    assert choose_pass_down(alternative, shape, {"d": 20.0}, pairs) is None
    assert passable(alternative, ("a", ("b", ("c", "d")))) == ["b", "a"]


def test_thresholds_say_when_to_search_and_when_to_rebuild() -> None:
    old = Statistics({"a": 10.0}, {"a.x < b.x": 0.5})
    thresholds = Thresholds(0.5, 0.5, 0.1)
    assert not thresholds.exceeded(old, Statistics({"a": 12.0}, {"a.x < b.x": 0.4}))
    assert thresholds.exceeded(old, Statistics({"a": 16.0}, {"a.x < b.x": 0.5}))
    assert thresholds.exceeded(old, Statistics({"a": 10.0}, {"a.x < b.x": 0.1}))
    model = CostModel(one(sequence(3)), Statistics({"a": 100.0, "b": 10.0, "c": 0.1}))
    assert better_tree(model, left_deep("abc"), thresholds, pull=False) == ("a", ("b", "c"))
    assert better_tree(model, ("a", ("b", "c")), thresholds, pull=False) is None
    assert better_tree(model, ("a", ("b", "c")), Thresholds(0, 0, -1), pull=False) == ("a", ("b", "c"))


@pytest.mark.parametrize("strategy", [each.value for each in Strategy if each is not Strategy.ANY])
def test_other_strategies_are_for_the_automaton(strategy: str) -> None:
    choice = choose_plan("auto", plan(sequence(3), strategy=strategy), None)
    assert choice.engine == "automaton"
    assert all(option.refused for option in choice.options if option.engine != "automaton")


def test_compressed_output_is_for_the_automaton() -> None:
    assert choose_plan("auto", plan(sequence(3), output="compressed"), None).engine == "automaton"


def events(rows: int = 400) -> pa.Table:
    kinds = ["A", "B", "A", "C"] * (rows // 4)
    return pa.table({"t": list(range(rows)), "kind": kinds, "x": [n % 7 for n in range(rows)]})


QUERY = "PATTERN SEQ(A a, B b, C c) WHERE skip_till_any_match { a.x < b.x AND a.x = c.x } WITHIN 20"


def test_explain_shows_the_plan_and_what_was_rejected() -> None:
    text = fyke.explain(events(), QUERY, time="t", type="kind")
    cost = text[text.index("\ncost\n") :]
    assert cost.count("chosen") == 1
    assert cost.count("rejected") == 3
    for part in ("automaton: ", "lazy_chain ", "lazy_tree: ", "tree (", "us a window", "a  10.5 a window"):
        assert part in cost
    assert "a.x = c.x  holds for" in cost
    assert "does not evaluate" in fyke.explain(
        events(), QUERY.replace("skip_till_any_match", "skip_till_next_match"), time="t", type="kind"
    )


def compared(text: str) -> dict[str, list[str]]:
    """Return the lines of the table of estimates against observations, by what they are about."""
    lines = text[text.index("estimated against observed") :].splitlines()[3:-1]
    return {cells[0]: cells[1:] for line in lines for cells in [re.split(r"  +", line.strip())]}


@pytest.mark.parametrize("engine", ["auto", "automaton", "lazy_chain", "lazy_tree", "tree"])
def test_explain_compares_with_a_run(engine: str) -> None:
    metrics, options = fyke.Metrics(), {"time": "t", "type": "kind", "engine": engine}
    fyke.match(events(), QUERY, metrics=metrics, **options)
    text = fyke.explain(events(), QUERY, metrics=metrics, **options)
    table = compared(text)
    assert table["rows looked at"] == ["400", "400"]
    assert table["a per window"] == ["10.5", "10.5"]
    assert table["a.x < b.x"][0] == table["a.x < b.x"][1]
    assert table["conditions decided"] == [f"{metrics.get()['condition_evaluations']:,}"]
    assert table["replanned"] == ["0 times"]
    windows = metrics.get()["events_read"] / metrics.statistics().window_rows
    assert float(table["matches per window"][1]) == pytest.approx(
        metrics.get()["matches"] / windows, rel=0.01
    )
    assert table["search per window"][1].endswith(" us")
    assert text.splitlines()[-1].startswith("  with these numbers auto takes ")


def test_explain_says_what_was_assumed_and_what_is_not_counted() -> None:
    query = QUERY.replace("a.x = c.x", "a.x + b.x = c.x")
    for engine, observed in (("lazy_chain", "not counted"), ("tree", "%")):
        metrics, options = fyke.Metrics(), {"time": "t", "type": "kind", "engine": engine}
        options["statistics"] = Statistics({"a": 3.0})
        fyke.match(events(), query, metrics=metrics, **options)
        table = compared(fyke.explain(events(), query, metrics=metrics, **options))
        assert (table["a per window"], table["b per window"]) == (["3", "10.5"], ["10 assumed", "5.25"])
        assert table["a.x + b.x = c.x"][0] == "10 % assumed"
        assert table["a.x + b.x = c.x"][1].endswith(observed)


def test_explain_says_which_statistics_are_about_nothing_in_the_query() -> None:
    known = Statistics({"a": 3.0, "z": 1.0}, {"a.x<b.x": 0.5, "a.x = c.x": 0.1})
    text = fyke.explain(events(), QUERY, time="t", type="kind", statistics=known)
    assert text.splitlines()[-2:] == [
        "    unused: 'z' is not a variable of the query, which has a, b, c",
        "    unused: 'a.x<b.x' is not a condition between events, which are a.x < b.x and a.x = c.x",
    ]
    assert "unused" not in fyke.explain(events(), QUERY, time="t", type="kind")


def test_explain_without_a_run_says_nothing_of_one() -> None:
    text = fyke.explain(events(), QUERY, time="t", type="kind", metrics=fyke.Metrics())
    assert text == fyke.explain(events(), QUERY, time="t", type="kind")


@pytest.mark.parametrize("engine", ["automaton", "lazy_chain", "lazy_tree", "tree"])
def test_what_a_run_has_seen_steers_the_next(engine: str) -> None:
    """The first rows have few C, all others many: a plan made beforehand cannot know."""
    rows = 40_000
    kinds = ["C" if n % (400 if n < 6_000 else 2) == 0 else "AB"[n // 2 % 2] for n in range(rows)]
    table = pa.table({"t": list(range(rows)), "kind": kinds, "x": [n * 7919 % 13 for n in range(rows)]})
    query = QUERY.replace("WITHIN 20", "WITHIN 12")
    before = fyke.statistics(table, query, time="t", type="kind")
    metrics = fyke.Metrics()
    found = fyke.match(table, query, time="t", type="kind", engine=engine, metrics=metrics)
    after = metrics.statistics()
    assert before.rates["c"] < 0.1
    assert after.rates["c"] == pytest.approx(6.5 * 34 / 40, rel=0.1)
    assert after.selectivities == pytest.approx({"a.x < b.x": 0.46, "a.x = c.x": 0.08}, abs=0.1)
    assert after.rows > 10_000
    again = fyke.explain(table, query, time="t", type="kind", statistics=after)
    assert "  " + str(after).replace("\n", "\n  ") in again
    told = fyke.match(table, query, time="t", type="kind", engine=engine, statistics=after)
    assert told.sort_by("match_id").equals(found.sort_by("match_id"))


def test_a_condition_of_a_group_is_seen_by_a_tree() -> None:
    query = "PATTERN SEQ(A+ a[], B b) WHERE skip_till_any_match { a[i].x > a[i-1].x } WITHIN 12"
    metrics = fyke.Metrics()
    fyke.match(events(), query, time="t", type="kind", engine="tree", metrics=metrics)
    assert list(metrics.statistics().selectivities) == ["a[i].x > a[i-1].x"]


def test_long_windows_are_seen_whole() -> None:
    table = events(60_000)
    metrics = fyke.Metrics()
    query = "PATTERN SEQ(A a, D d) WITHIN 20000"
    fyke.match(table, query, time="t", type="kind", metrics=metrics)
    assert metrics.statistics().rates["a"] == pytest.approx(10_000, rel=0.05)


@pytest.mark.parametrize("order", [1, -1], ids=["in order of time", "not"])
def test_rare_events_are_seen_to_be_rare(order: int) -> None:
    """A lazy engine keeps rows near to them only: those say nothing of how rare they are."""
    rows = 60_000
    kinds = ["C" if n % 5_000 == 0 else "AB"[n % 2] for n in range(rows)]
    table = pa.table({"t": list(range(rows)), "kind": kinds, "x": [n % 7 for n in range(rows)]})
    table = table.take(pa.array(range(rows)[::order]))
    for parts in ("a.x < b.x", "[x]"):
        metrics = fyke.Metrics()
        query = f"PATTERN SEQ(A a, B b, C c) WHERE skip_till_any_match {{ {parts} }} WITHIN 100"
        options = {"time": "t", "type": "kind", "engine": "lazy_chain"}
        fyke.match(table, query, metrics=metrics, **options)
        assert (metrics.get()["events_filtered"] > rows / 2) == (order == 1)
        share = 7 if parts == "[x]" else 1
        assert metrics.statistics().rates["c"] < 0.1
        assert metrics.statistics().rates["a"] == pytest.approx(50 / share, rel=0.1)


def test_statistics_of_partitions() -> None:
    table = pa.table(
        {"t": [n // 8 for n in range(80_000)], "kind": ["A"] * 80_000, "x": list(range(8)) * 10_000}
    )
    metrics = fyke.Metrics()
    query = "PATTERN SEQ(A a, B b) WHERE { [x] } WITHIN 9"
    fyke.match(table, query, time="t", type="kind", metrics=metrics)
    assert metrics.statistics().rates == pytest.approx({"a": 10.0, "b": 0.0}, rel=0.01)


def test_explain_says_what_a_forced_engine_costs() -> None:
    text = fyke.explain(events(), QUERY, time="t", type="kind", engine="tree")
    assert "  chosen   tree (" in text


def test_a_chain_that_was_asked_for_gets_its_order_though_another_engine_would_read_faster() -> None:
    rare = Statistics({"a": 0.1, "b": 0.1, "c": 0.1}, {}, 100.0, 1_000)
    techniques = fyke.Techniques(candidate_windows=False)
    options = {"time": "t", "type": "kind", "engine": "lazy_chain", "techniques": techniques}
    found = fyke.match(events(), QUERY, **options, statistics=rare)
    assert found.num_rows == fyke.match(events(), QUERY, **options).num_rows > 0


def test_statistics_are_kept_printed_and_accepted() -> None:
    known = fyke.statistics(events(), QUERY, time="t", type="kind")
    assert known.rates == pytest.approx({"a": 10.5, "b": 5.25, "c": 5.25}, rel=0.05)
    assert known.rows == 400
    assert str(known).splitlines()[0] == "statistics of 400 rows, 20.5 in a window"
    frugal = Statistics({"a": 5.0, "b": 5.0, "c": 0.01}, known.selectivities)
    text = fyke.explain(events(), QUERY, time="t", type="kind", statistics=frugal)
    assert "lazy_chain c" in text
    assert "c  0.01 a window" in text


def test_every_engine_finds_the_same_whatever_is_believed() -> None:
    wrong = Statistics({"a": 0.0, "b": 1e9, "c": 3.0}, {"a.x < b.x": 0.0})
    counts = {
        fyke.match(events(), QUERY, time="t", type="kind", engine=engine, statistics=wrong).num_rows
        for engine in ("auto", "automaton", "lazy_chain", "lazy_tree", "tree")
    }
    assert len(counts) == 1


def test_trees_are_planned_anew_when_data_changes() -> None:
    rows = 40_000
    late = rows // 2
    kinds = ["ABC"[n % 3] for n in range(rows)]
    # First hardly any a is below a b, then hardly any b below a c: what is rare is to be joined first.
    values = [(1 if n < late else 11) if n % 3 == 1 else n * 7919 % 13 for n in range(rows)]
    table = pa.table({"t": list(range(rows)), "kind": kinds, "x": values})
    query = "PATTERN SEQ(A a, B b, C c) WHERE skip_till_any_match { a.x < b.x AND b.x < c.x } WITHIN 60"
    found = {}
    for thresholds in ((0.3, 0.3, 0.01), None):
        metrics = fyke.Metrics()
        switches = Techniques(thresholds=thresholds, chunk=2_000)
        result = fyke.match(
            table, query, time="t", type="kind", engine="tree", techniques=switches, metrics=metrics
        )
        found[thresholds is None] = (result.num_rows, metrics.get()["replans"])
    assert found[False][0] == found[True][0] > 0
    assert found[True][1] == 0
    assert found[False][1] >= 1


@pytest.mark.parametrize(
    "options, message",
    [
        ({"tree": ("a", "b", "c")}, "technique 'tree' must be nested pairs of names of variables"),
        ({"tree": 3}, "technique 'tree' must be nested pairs of names of variables, found 3"),
        ({"propagation": "pul"}, "technique 'propagation' must be one of 'pull', 'push', found 'pul'"),
        ({"pass_down": "yes"}, "technique 'pass_down' must be one of True, False, None, found 'yes'"),
        ({"thresholds": (1, 2)}, "technique 'thresholds' must be three numbers (p, i, t) or None"),
        ({"thresholds": "high"}, "technique 'thresholds' must be three numbers (p, i, t) or None"),
        ({"chunk": 0}, "technique 'chunk' must be a number of rows, 1 or more, found 0"),
    ],
)
def test_wrong_techniques(options: dict[str, object], message: str) -> None:
    with pytest.raises(OptionError) as error:
        Techniques(**options)  # type: ignore[arg-type]
    assert message in str(error.value)


@pytest.mark.parametrize(
    "options, message",
    [
        (
            {"engine": "tree", "techniques": Techniques(tree=(("a", "b"), "d"))},
            "tree must name each of a, b, c once, found a, b, d: 'd' is not bound by the pattern.",
        ),
        (
            {"engine": "tree", "techniques": Techniques(tree=("a", "b"))},
            "tree must name each of a, b, c once, found a, b: 'c' is missing",
        ),
        (
            {"engine": "tree", "techniques": Techniques(tree=(("a", "b"), ("c", "a")))},
            "'a' appears 2 times",
        ),
        (
            {"engine": "automaton", "techniques": Techniques(tree=(("a", "b"), "c"))},
            "engine 'automaton' takes no tree, which is for engine='tree'",
        ),
        (
            {"engine": "tree", "techniques": Techniques(search="backtrack")},
            "engine 'tree' takes no search, which is for engine='automaton'\n"
            "Leave the search out, or use engine='automaton'.",
        ),
        ({"statistics": {"a": 1}}, "statistics"),
    ],
)
def test_wrong_options(options: dict[str, object], message: str) -> None:
    with pytest.raises(fyke.FykeError) as error:
        fyke.match(events(), QUERY, time="t", type="kind", **options)
    assert message in str(error.value)


@pytest.mark.parametrize("engine", ["lazy_chain", "lazy_tree"])
def test_a_lazy_engine_cannot_search_all_partitions_together(engine: str) -> None:
    """By [x] they are apart for it anyway; an equality of variables may be left a condition."""
    parted = QUERY.replace("a.x < b.x", "[x] AND a.t < b.t").replace("20", "80")
    options = {"time": "t", "type": "kind", "techniques": Techniques(partition=False)}
    with pytest.raises(OptionError) as error:
        fyke.match(events(), parted, engine=engine, **options)
    assert str(error.value) == (
        f"engine {engine!r} searches one partition of [...] at a time, so technique 'partition' cannot be "
        "switched off\nLeave partition=False out, or use engine='automaton' or 'tree'."
    )
    text = fyke.explain(events(), parted, **options)
    assert f"  rejected {engine}: searches one partition of [...] at a time" in text
    expected = fyke.match(events(), parted, time="t", type="kind").num_rows
    for other in ("auto", "automaton", "tree"):
        assert fyke.match(events(), parted, engine=other, **options).num_rows == expected > 0
    for query in (QUERY, parted.replace("WITHIN 80", "WITHIN 80 EVENTS")):
        fyke.match(events(), query, engine=engine, **options)


def test_the_tree_says_which_strategies_it_evaluates() -> None:
    query = QUERY.replace("skip_till_any_match", "skip_till_next_match")
    with pytest.raises(OptionError) as error:
        fyke.match(events(), query, time="t", type="kind", engine="tree")
    assert "does not evaluate skip_till_next_match, only skip_till_any_match, strict_contiguity" in str(
        error.value
    )
    assert "Use engine='automaton' or 'auto'" in str(error.value)


@pytest.mark.parametrize(
    "rates, selectivities, message",
    [
        ({"a": -1}, {}, "rate of 'a' must be a number, 0 or more, found -1"),
        ({"a": "many"}, {}, "rate of 'a' must be a number, 0 or more, found 'many'"),
        ({}, {"a.x < b.x": 1.5}, "selectivity of 'a.x < b.x' must be a number from 0 to 1, found 1.5"),
    ],
)
def test_wrong_statistics(rates: dict[str, float], selectivities: dict[str, float], message: str) -> None:
    with pytest.raises(OptionError) as error:
        Statistics(rates, selectivities)
    assert message in str(error.value)
