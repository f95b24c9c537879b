"""What lazy engines promise beside the rows: work pinned by counters, bounded state, streams of batches."""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa
import pytest

import fyke
from fyke.errors import CountTooLargeError, InputError, LimitError, OptionError
from fyke.language.ast import Strategy
from fyke.language.sase import parse
from tests.random.results import difference
from tests.random.test_advance import Stream

ENGINES = ("lazy_chain", "lazy_tree")
OPTIONS = {"time": "t", "type": "kind"}


def letters(text: str, x: list[float] | None = None) -> pa.Table:
    """Return one event per letter, at times 1, 2, ..."""
    values = x if x is not None else [float(ord(letter) % 7) for letter in text]
    return pa.table({"t": range(1, len(text) + 1), "kind": list(text), "x": values})


def noise(rows: int, rates: dict[str, float], seed: int = 0, start: int = 0) -> pa.Table:
    random = np.random.default_rng(seed)
    share = np.array(list(rates.values()))
    return pa.table(
        {
            "t": np.arange(start, start + rows),
            "kind": np.array(list(rates))[random.choice(len(rates), rows, p=share / share.sum())],
            "x": random.random(rows),
            "y": random.random(rows),
            "k": random.integers(0, 20, rows),
        }
    )


def work(table: pa.Table, query: str, **options: object) -> dict[str, float]:
    metrics = fyke.Metrics()
    fyke.match(table, query, **OPTIONS, metrics=metrics, **options)
    return metrics.get()


# --- work ---------------------------------------------------------------------------------


def test_a_chain_looks_only_where_order_and_window_leave_candidates() -> None:
    query = "PATTERN SEQ(A a, B b, C c) WHERE skip_till_any_match { a.x < b.x } WITHIN 3"
    counts = work(letters("AABBCAB", [1.0, 2.0, 3.0, 0.0, 5.0, 6.0, 7.0]), query, engine="lazy_chain")
    # The one C first; its window holds the second A, which is bound, and then both B are looked at.
    assert counts["matches"] == 1
    assert counts["condition_evaluations"] == 2
    assert counts["memory_operations"] == (1 + 1 + 2) + (1 + 1)
    assert (counts["runs_created"], counts["peak_runs"]) == (3, 3)
    assert counts["buffered_events"] == 4  # the others are not in the window of the C


def test_rare_first_costs_far_less_than_arrival_order() -> None:
    table = noise(5_000, {"A": 100, "B": 30, "C": 1})
    query = """PATTERN SEQ(A a, B b, C c)
        WHERE skip_till_any_match { a.x < b.y * 0.2 AND b.x < c.y * 0.2 } WITHIN 100 RETURN count(*) AS n"""
    lazy = work(table, query, engine="lazy_chain")
    arrival = fyke.Techniques(order=("a", "b", "c"))
    wrong = work(table, query, engine="lazy_chain", techniques=arrival)
    eager = work(table, query, engine="automaton")
    assert wrong["condition_evaluations"] > 10 * lazy["condition_evaluations"]
    assert eager["condition_evaluations"] > 10 * lazy["condition_evaluations"]


@pytest.mark.parametrize("pattern", ["SEQ(A a, B b, C c)", "AND(A a, B b, C c)"])
def test_a_tree_is_as_good_as_the_best_chain_in_every_phase(pattern: str) -> None:
    """[L] figure 18: the rarest type changes; a chain is right in one phase, the tree in all."""
    query = f"""PATTERN {pattern}
        WHERE skip_till_any_match {{ a.x < b.y * 0.2 AND b.x < c.y * 0.2 }} WITHIN 100 RETURN count(*) AS n"""
    phases = [
        noise(30_000, {kind: 1 if kind == rare else 50 for kind in "ABC"}, number, number * 30_000)
        for number, rare in enumerate("CAB")
    ]

    def evaluations(table: pa.Table, order: tuple[str, ...] | None) -> float:
        engine = "lazy_tree" if order is None else "lazy_chain"
        switches = fyke.Techniques(order=order)
        return work(table, query, engine=engine, techniques=switches)["condition_evaluations"]

    trees = 0.0
    for phase in phases:
        chains = [evaluations(phase, order) for order in itertools.permutations("abc")]
        tree = evaluations(phase, None)
        assert tree <= 1.2 * min(chains)
        assert max(chains) >= 10 * tree
        trees += tree
    whole = pa.concat_tables(phases)
    assert evaluations(whole, None) <= 1.2 * trees
    assert evaluations(whole, None) < min(
        evaluations(whole, order) for order in itertools.permutations("abc")
    )


def test_a_tree_evaluates_nothing_until_every_type_is_there() -> None:
    query = "PATTERN SEQ(A a, B b, C c) WHERE skip_till_any_match { a.x < b.x } WITHIN 100"
    counts = work(letters("AAAABBBB" * 5), query, engine="lazy_tree")
    assert (counts["condition_evaluations"], counts["memory_operations"]) == (0, 0)


def test_an_equality_is_looked_up_in_an_index() -> None:
    table = noise(4_000, {"A": 1, "B": 40})
    indexed = "PATTERN SEQ(A a, B b) WHERE skip_till_any_match { a.k = b.k AND a.x < b.x } WITHIN 400"
    scanned = indexed.replace("a.k = b.k", "a.k - b.k = 0")
    few, many = (
        work(table, text, engine="lazy_chain", techniques=fyke.Techniques(partition=False))
        for text in (indexed, scanned)
    )
    assert few["matches"] == many["matches"] > 0
    assert few["memory_operations"] < many["memory_operations"] / 5


def test_groups_of_one_value_are_found_from_neighbours() -> None:
    """[L] 4.5.3, group-by-attribute: only elements that share the value are looked at."""
    table = noise(300, {"A": 1, "B": 10}).set_column(4, "k", pa.array(np.arange(300) % 60))
    grouped = "PATTERN SEQ(A a, B{2,3} b[]) WHERE skip_till_any_match { b[i].k = b[i-1].k } WITHIN 130"
    scanned = grouped.replace("b[i].k = b[i-1].k", "b[i].k - b[i-1].k = 0")
    few, many = (work(table, text, engine="lazy_chain") for text in (grouped, scanned))
    assert few["matches"] == many["matches"] > 0
    assert few["memory_operations"] < many["memory_operations"] / 5


def test_an_early_absence_spares_the_rest_of_the_match() -> None:
    table = noise(3_000, {"A": 3, "N": 30, "B": 3, "C": 30})
    query = "PATTERN SEQ(A a, ~N n, B b, C c) WHERE skip_till_any_match { b.x < c.x } WITHIN 60"
    early, late = (
        work(table, query, engine="lazy_chain", techniques=fyke.Techniques(absence=form))
        for form in ("first_chance", "post_processing")
    )
    assert early["matches"] == late["matches"] > 0
    assert (early["absence_checks"] > 0, late["absence_checks"]) == (True, 0)
    assert early["condition_evaluations"] < late["condition_evaluations"] / 3


SEVERAL = {
    "sequence": "~SEQ(N n, M m)",
    "conjunction": "~AND(N n, M m)",
    "group": "~N{2,} n[]",
    "nested absence": "~SEQ(N n, ~M m, N o)",
}


@pytest.mark.parametrize("name", SEVERAL)
@pytest.mark.parametrize("engine", ENGINES)
def test_an_absence_of_several_events_spares_the_rest_of_the_match(name: str, engine: str) -> None:
    table = noise(3_000, {"A": 3, "N": 40, "M": 15, "B": 3, "C": 30})
    query = f"PATTERN SEQ(A a, {SEVERAL[name]}, B b, C c) WHERE skip_till_any_match {{ b.x < c.x }} WITHIN 60"
    early, late = (
        work(table, query, engine=engine, techniques=fyke.Techniques(absence=form))
        for form in ("first_chance", "post_processing")
    )
    assert early["matches"] == late["matches"] > 0
    assert (early["absence_checks"] > 0, late["absence_checks"]) == (True, 0)
    assert early["bindings_tried"] < late["bindings_tried"] / 2
    assert early["condition_evaluations"] < late["condition_evaluations"] / 2


@pytest.mark.parametrize("engine", ENGINES)
def test_a_hopeless_search_for_an_absence_is_stopped(engine: str) -> None:
    query = """PATTERN SEQ(A a, ~SEQ(N n, N o, N p, N q), B b)
        WHERE skip_till_any_match { n.x + o.x + p.x + q.x > 100 } WITHIN 200"""
    limits = fyke.Limits(steps=100_000)
    with pytest.raises(LimitError, match="limit 'steps'"):
        fyke.match(letters("A" + "N" * 80 + "B"), query, **OPTIONS, engine=engine, limits=limits)
    few = fyke.match(letters("ANNNNNB"), query, **OPTIONS, engine=engine, limits=limits)
    assert few.num_rows == 1


def test_alternatives_share_their_work_up_to_an_absence_of_several_events() -> None:
    table = noise(3_000, {"A": 3, "B": 10, "C": 30, "D": 30, "N": 30})
    where = "WHERE skip_till_any_match { a.x < b.x } WITHIN 50"
    apart = [
        work(table, f"PATTERN SEQ(A a, ~SEQ(N n, N m), B b, {last}) {where}", engine="lazy_chain")
        for last in ("C c", "D d")
    ]
    both = work(table, f"PATTERN SEQ(A a, ~SEQ(N n, N m), B b, OR(C c, D d)) {where}", engine="lazy_chain")
    assert both["matches"] == sum(each["matches"] for each in apart) > 0
    assert both["absence_checks"] == apart[0]["absence_checks"] == apart[1]["absence_checks"] > 0


def test_alternatives_that_begin_alike_share_their_work() -> None:
    """[L] 5: what is common to several alternatives is done once."""
    table = noise(3_000, {"A": 3, "B": 10, "C": 30, "D": 30})
    where = "WHERE skip_till_any_match { a.x < b.x } WITHIN 50"
    apart = [
        work(table, f"PATTERN SEQ(A a, B b, {last}) {where}", engine="lazy_chain") for last in ("C c", "D d")
    ]
    both = work(table, f"PATTERN SEQ(A a, B b, OR(C c, D d)) {where}", engine="lazy_chain")
    assert both["matches"] == sum(each["matches"] for each in apart) > 0
    assert (
        both["condition_evaluations"]
        == apart[0]["condition_evaluations"]
        == apart[1]["condition_evaluations"]
    )


# --- counting and streaming ------------------------------------------------------------------


@pytest.mark.parametrize("engine", ENGINES)
def test_subsets_are_counted_without_being_listed(engine: str) -> None:
    query = """PATTERN SEQ(A a, B+ b[], C c) WHERE skip_till_any_match { b[i].x >= b[i-1].x } WITHIN 100
        RETURN count(*) AS n, avg(b.len) AS length, max(sum(b[].x)) AS most"""
    table = letters("A" + "B" * 60 + "C", [1.0] * 62)
    assert fyke.match(table, query, **OPTIONS, engine=engine).to_pylist() == [
        {"n": 2**60 - 1, "length": 30.0, "most": 60.0}
    ]


def test_a_count_beyond_64_bits_is_an_error() -> None:
    query = (
        "PATTERN SEQ(A a, B+ b[]) WHERE skip_till_any_match { b.x >= a.x } WITHIN 100 RETURN count(*) AS n"
    )
    with pytest.raises(CountTooLargeError) as caught:
        fyke.match(letters("A" + "B" * 64, [1.0] * 65), query, **OPTIONS, engine="lazy_chain")
    assert str(caught.value) == (
        "there are more than 2^63 - 1 matches, more than count(*) can say\n"
        "Shorten the window, add conditions, or bound the repetition, as in A{1,20} a[]."
    )


@pytest.mark.parametrize("engine", ENGINES)
def test_a_billion_matches_are_counted(engine: str) -> None:
    table = letters("A" * 1_000 + "B" * 1_000 + "C" * 1_000)
    query = "PATTERN SEQ(A a, B b, C c) WHERE skip_till_any_match { a.x >= 0 }"
    counted = fyke.match(table, f"{query} RETURN count(*) AS n", **OPTIONS, engine=engine)
    assert counted.to_pylist() == [{"n": 10**9}]
    with pytest.raises(LimitError, match="limit 'matches'"):
        fyke.match(table, query, **OPTIONS, engine=engine, limits=fyke.Limits(matches=10**6))
    batches = fyke.match_batches(table, f"{query} RETURN a.t AS t", **OPTIONS, engine=engine)
    sizes = [batch.num_rows for batch in itertools.islice(batches, 20)]
    assert max(sizes) < 2**18
    assert sum(sizes) > 10**6


@pytest.mark.parametrize("least", ["c.t", "c.t - 0 * a.t"])
@pytest.mark.parametrize("engine", ENGINES)
def test_aggregates_over_many_matches_keep_none(engine: str, least: str) -> None:
    """Neither the limit on matches nor that on their memory has anything to say."""
    table = letters("A" * 100 + "B" * 100 + "C" * 100)
    query = f"""PATTERN SEQ(A a, B b, C c) WHERE skip_till_any_match {{ a.x >= 0 }}
        RETURN count(*) AS n, sum(a.t) AS s, avg(b.t) AS mean, min({least}) AS least, max(c.x) AS most"""
    limits = fyke.Limits(matches=1_000, buffer_bytes=100_000)
    counts = fyke.Metrics()
    found = fyke.match(table, query, **OPTIONS, engine=engine, limits=limits, metrics=counts)
    assert found.to_pylist() == [
        {"n": 10**6, "s": 10**4 * 5050, "mean": 150.5, "least": 201, "most": float(ord("C") % 7)}
    ]
    assert counts.get()["matches"] == 10**6
    assert list(fyke.match_batches(table, query, **OPTIONS, engine=engine, limits=limits)) == (
        found.to_batches()
    )


@pytest.mark.parametrize("value", ["b.x", "b.x + 0"])
@pytest.mark.parametrize("last", ["B b", "OR(B b, C b)"])
@pytest.mark.parametrize("engine", ENGINES)
def test_whole_sums_are_exact_on_the_way_and_null_if_they_do_not_fit(
    engine: str, last: str, value: str
) -> None:
    query = f"PATTERN SEQ(A a, {last}) WHERE skip_till_any_match {{ a.t < b.t }} RETURN sum({value}) AS r"
    near = 2**63 - 1

    def total(values: list[int]) -> int | None:
        table = letters("A" + "B" * len(values), [0, *values])
        return fyke.match(table, query, **OPTIONS, engine=engine).to_pylist()[0]["r"]

    assert total([near, near, -near, -near, 7]) == 7
    assert total([near, 0]) == near
    assert total([near, 1]) is None
    assert total([-near, -2]) is None


def test_tallies_of_many_partitions_are_merged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fyke.engine.lazy.search._BINDINGS", 64)
    monkeypatch.setattr("fyke.engine.read_table._TALLIES", 3)
    table = noise(400, {"A": 1, "B": 1})
    query = """PATTERN SEQ(A a, B b) WHERE skip_till_any_match { [k] } WITHIN 90
        RETURN sum(a.x) AS r0, count(b.y) AS r1, avg(a.t) AS r2, min(b.x) AS r3"""
    expected = fyke.match(table, query, **OPTIONS, engine="automaton")
    assert expected.num_rows == 20
    assert difference(fyke.match(table, query, **OPTIONS, engine="lazy_chain"), expected) is None


@pytest.mark.parametrize("engine", ["automaton", *ENGINES])
@pytest.mark.parametrize("returned", ["", "RETURN a.t AS a, c.t AS c", "RETURN count(*) AS n"])
def test_batches_are_what_match_returns(engine: str, returned: str) -> None:
    table = noise(500, {"A": 1, "B": 1, "C": 1, "N": 1})
    query = (
        f"PATTERN SEQ(A a, ~N n, B+ b[], C c) WHERE skip_till_any_match {{ a.x < b.x }} WITHIN 12 {returned}"
    )
    whole = fyke.match(table, query, **OPTIONS, engine=engine)
    batches = list(fyke.match_batches(table, query, **OPTIONS, engine=engine))
    assert whole.num_rows > 0
    assert difference(pa.Table.from_batches(batches), whole) is None


@pytest.mark.parametrize("engine", ENGINES)
def test_matches_with_an_absence_at_the_end_leave_in_batches_too(
    engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a table nothing later can rule them out."""
    monkeypatch.setattr("fyke.engine.lazy.search._BINDINGS", 1_000)
    table = letters("A" * 60 + "B" * 60 + "C")
    query = "PATTERN SEQ(A a, B b, ~C c) WHERE skip_till_any_match { a.t < b.t } WITHIN 100"
    sizes = [batch.num_rows for batch in fyke.match_batches(table, query, **OPTIONS, engine=engine)]
    # The C is in the window of every A from time 21 on.
    assert sum(sizes) == sum(1 for a in range(1, 21) for b in range(61, 121) if b - a <= 100)
    assert len(sizes) > 1


def test_batches_are_of_tables() -> None:
    with pytest.raises(InputError, match="events must be"):
        next(fyke.match_batches([1, 2], "PATTERN A a WITHIN 1", time="t"))
    with pytest.raises(OptionError, match="match_batches takes no option 'engin'"):
        next(fyke.match_batches(letters("A"), "PATTERN A a WITHIN 1", time="t", engin="auto"))


LONG_STREAMS = {
    "sequence": "SEQ(A a, B b) WHERE skip_till_any_match { [k] } WITHIN 20",
    "absence at the end": "SEQ(A a, ~B b) WHERE skip_till_any_match { [k] } WITHIN 20",
    "group": "SEQ(A a, B{1,2} b[], C c) WHERE skip_till_any_match { [k] } WITHIN 20",
    "events": "SEQ(A a, B b) WHERE skip_till_any_match { [k] } WITHIN 8 EVENTS",
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", LONG_STREAMS)
def test_between_batches_only_the_last_windows_are_kept(name: str, engine: str) -> None:
    query = parse(f"PATTERN {LONG_STREAMS[name]}")
    random = np.random.default_rng(1)
    rows = 100
    batches = [
        pa.table(
            {
                "kind": random.choice(["A", "B", "C", "X"], rows),
                "t": np.sort(random.integers(100 * number, 100 * (number + 1), rows)),
                "k": random.integers(0, 5, rows),
            }
        )
        for number in range(20)
    ]
    stream = Stream(batches[0].schema, query, "t", engine=engine)
    kept = []
    for number, batch in enumerate(batches):
        stream.advance(batch, 100 * (number + 1) - 10)
        kept.append(stream.state.rows.num_rows)
        assert stream.state.memory is None
    stream.advance(batches[0].slice(0, 0), None)
    assert max(kept) <= 120
    whole = fyke.match(pa.concat_tables(batches), query, **OPTIONS, engine="automaton")
    assert whole.num_rows > 0
    assert difference(stream.result(), whole) is None
    in_time = sum(found.num_rows for found in stream.found[:-1])
    assert in_time >= 0.9 * whole.num_rows


# --- explain and bad input ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "query, said",
    [
        ("SEQ(A a, B+ b[]) WHERE { b[i].x > b[i-1].x }", "by a recurrence over the elements of groups"),
        (
            "SEQ(A a, B+ b[]) WHERE { avg(b[].x) > 1 }",
            "by counting (every match is visited, none is kept: a condition",
        ),
        ("SEQ(A a, B b) WHERE { a.x < b.x }", "by counting (every match is visited, none is kept)"),
        (
            "SEQ(A a, ~SEQ(C c, D d), B b) WHERE { a.x < b.x }",
            "by counting (every match is visited, none is kept)",
        ),
        (
            "SEQ(A a, B b, ~C c) WHERE { a.x < b.x }",
            "chunk by chunk (every match is visited, none is kept: an absence is checked on whole matches)",
        ),
        ("OR(A a, ANY a)", "(two alternatives may find the same match)"),
        (
            "SEQ(A a, OR(B b, C c)) WHERE { a.x < b.x } WITHIN 9 RETURN sum(a.x), max(c.t)",
            "by counting (every match is visited, none is kept)",
        ),
        (
            "SEQ(A a, B b) WHERE { a.x < b.x } WITHIN 9 RETURN sum(a.x + b.x)",
            "chunk by chunk (every match is visited, none is kept: an aggregate needs a value that is not a",
        ),
        (
            "SEQ(A a, OR(B+ b[], C c)) WHERE { a.x < b.x } WITHIN 9 RETURN sum(a.x)",
            "none is kept: an aggregate needs values, and there are several alternatives)",
        ),
        (
            "SEQ(A a, B b) WHERE { a.x < b.x } WITHIN 9 RETURN stddev(a.x)",
            "(stddev needs all values at once)",
        ),
    ],
)
def test_explain_says_how_matches_are_counted(query: str, said: str) -> None:
    text = f"PATTERN {query}" if "RETURN" in query else f"PATTERN {query} WITHIN 9 RETURN count(*)"
    text = text.replace("WHERE {", "WHERE skip_till_any_match {")
    if "WHERE" not in text:
        text = text.replace(" WITHIN", " WHERE skip_till_any_match { a.x > 0 } WITHIN")
    assert said in fyke.explain(letters("ABC"), text, **OPTIONS, engine="lazy_chain")


def test_explain_says_when_absences_are_checked() -> None:
    text = "PATTERN SEQ(A a, ~N n, B b, ~C c) WHERE skip_till_any_match { a.x < n.x } WITHIN 9"
    said = fyke.explain(letters("ABC"), text, **OPTIONS, engine="lazy_chain")
    assert "absence  of n: as soon as a, b are bound" in said
    assert "absence  of c: on whole matches" in said
    several = text.replace("~N n, B b, ~C c", "~SEQ(N n, N{2} m[]), B b, C+ c[]")
    said = fyke.explain(letters("ABC"), several, **OPTIONS, engine="lazy_chain")
    assert "absence  of n, m: as soon as a, b are bound" in said
    beside = several.replace("a.x < n.x", "c.x < n.x")
    said = fyke.explain(letters("ABC"), beside, **OPTIONS, engine="lazy_chain")
    assert "absence  of n, m: on whole matches" in said
    assert "chain    rare variables first, groups last" in said
    assert "fewest candidates in reach" in fyke.explain(letters("A"), text, **OPTIONS, engine="lazy_tree")


def test_explain_says_when_rows_far_from_the_rarest_event_are_left_out() -> None:
    table = noise(2_000, {"A": 100, "B": 100, "C": 1})
    query = "PATTERN SEQ(A a, B b, C c) WHERE skip_till_any_match { a.x < b.x } WITHIN 20"
    line = "  near     where events of the rarest variable are few: rows within a window of one"

    def lines(text: str, **options: object) -> list[str]:
        return fyke.explain(table, text, **OPTIONS, **options).splitlines()

    everywhere = fyke.Techniques(candidate_windows=False)
    given = fyke.Techniques(order=("c", "b", "a"))
    for engine in ENGINES:
        assert line in lines(query, engine=engine)
        assert line not in lines(query, engine=engine, techniques=everywhere)
        assert line not in lines(query + " EVENTS", engine=engine)
    assert line not in lines(query, engine="lazy_chain", techniques=given)
    assert line not in lines(query, engine="automaton")
    near, all_rows = (
        work(table, query, engine="lazy_chain", techniques=each) for each in (fyke.Techniques(), everywhere)
    )
    assert near["matches"] == all_rows["matches"] > 0
    assert near["events_filtered"] > 1_000 > all_rows["events_filtered"] == 0


BAD = {
    ("b", "a"): "order must name each of a, b, c once, found b, a: 'c' is missing",
    ("a", "b", "a", "c"): "order must name each of a, b, c once, found a, b, a, c: 'a' appears 2 times",
    (
        "a",
        "b",
        "c",
        "n",
    ): "order must name each of a, b, c once, found a, b, c, n: 'n' is not bound by the pattern.",
}


@pytest.mark.parametrize("order", BAD)
def test_an_order_names_each_variable_once(order: tuple[str, ...]) -> None:
    query = "PATTERN SEQ(A a, ~N n, B b, C c) WHERE skip_till_any_match { a.x > 0 } WITHIN 9"
    with pytest.raises(OptionError) as caught:
        fyke.match(
            letters("ABC"), query, **OPTIONS, engine="lazy_chain", techniques=fyke.Techniques(order=order)
        )
    assert str(caught.value) == f"{BAD[order]}\nLeave the order out: then rare variables come first."


def test_an_order_is_a_tuple_for_a_chain() -> None:
    with pytest.raises(OptionError, match="must be a tuple of names of variables, found 'ab'"):
        fyke.Techniques(order="ab")
    with pytest.raises(
        OptionError, match="engine 'lazy_tree' takes no order, which is for engine='lazy_chain'"
    ):
        fyke.match(
            letters("A"),
            "PATTERN A a WHERE skip_till_any_match { a.x > 0 } WITHIN 1",
            **OPTIONS,
            engine="lazy_tree",
            techniques=fyke.Techniques(order=("a",)),
        )
    with pytest.raises(OptionError, match="technique 'absence' must be one of 'first_chance'"):
        fyke.Techniques(absence="early")


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "strategy, others",
    [
        (each.value, "'automaton' or 'tree'" if each is Strategy.STRICT else "'automaton'")
        for each in Strategy
        if each is not Strategy.ANY
    ],
)
def test_other_strategies_are_for_other_engines(engine: str, strategy: str, others: str) -> None:
    with pytest.raises(OptionError) as caught:
        fyke.match(
            letters("AB"),
            f"PATTERN SEQ(A a, B b) WHERE {strategy} {{ a.x > 0 }} WITHIN 9",
            **OPTIONS,
            engine=engine,
        )
    assert str(caught.value) == (
        f"engine '{engine}' does not evaluate {strategy}, only skip_till_any_match\n"
        f"Use engine={others} or 'auto', or write WHERE skip_till_any_match {{ ... }}."
    )


def test_steps_are_limited() -> None:
    query = "PATTERN SEQ(A a, B+ b[]) WHERE skip_till_any_match { b[i].x >= b[i-1].x } WITHIN 100"
    with pytest.raises(LimitError, match="limit 'steps'"):
        fyke.match(
            letters("A" + "B" * 40, [1.0] * 41),
            query,
            **OPTIONS,
            engine="lazy_chain",
            limits=fyke.Limits(steps=100_000),
        )


def test_rows_far_from_every_rare_event_are_left_out() -> None:
    kinds = ["A", "B"] * 500
    kinds[600] = "C"
    table = pa.table({"kind": kinds, "t": list(range(1_000)), "x": [1.0] * 1_000, "y": [1.0] * 1_000})
    query = "PATTERN SEQ(A a, B b, C c) WHERE skip_till_any_match { a.x <= b.x } WITHIN 20"
    found = work(table, query, engine="lazy_chain")
    every = work(table, query, engine="automaton")
    assert found["matches"] == every["matches"] > 0
    assert every["events_filtered"] == 0
    assert found["events_filtered"] > 900


@pytest.mark.parametrize("engine", ENGINES)
def test_a_search_that_runs_out_of_room_goes_on_where_it_was(engine: str) -> None:
    """More elements of a group than there is room for at first: bound events stay as they were."""
    events = letters("BBA" + "B" * 149 + "CBB", [-2.0, -1.0, *map(float, range(150)), 0.0, 150.0, 151.0])
    where = "b[1].x = a.x + 1 AND b[i].x = b[i-1].x + 1"
    query = f"PATTERN SEQ(A a, B+ b[], C c) WHERE skip_till_any_match {{ {where} }} WITHIN 1000"
    found = fyke.match(events, query, **OPTIONS, engine=engine)
    assert sorted(map(len, found.column("b").to_pylist())) == list(range(1, 150))
    for condition, matches in {"b[1].x = a.x + 1 AND ": 149, "": 149 * 150 // 2}.items():
        counted = query.replace("b[1].x = a.x + 1 AND ", condition) + " RETURN count(*) AS n"
        assert fyke.match(events, counted, **OPTIONS, engine=engine).column("n").to_pylist() == [matches]
