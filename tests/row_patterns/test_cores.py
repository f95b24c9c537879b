"""Long tables on several threads: how they are cut, the same rows in one order, limits and errors, order."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import fyke
from fyke.engine.row_patterns import run, stretches
from fyke.engine.row_patterns.order import OrderedRows
from fyke.engine.threads import Team
from fyke.errors import LimitError, SkipError
from fyke.plan.row_patterns.cut import Cut
from fyke.plan.row_patterns.plan import RowPlan

ROWS = 6_000


@pytest.fixture
def short_stretches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut tables of a thousand rows."""
    monkeypatch.setattr(stretches, "LEAST_ROWS", 1_000)
    for name in ("STRETCH_ROWS", "NODE_ROWS"):
        monkeypatch.setattr(stretches, name, 250)


def ticks(*, hot: float = 0.5) -> pa.Table:
    """Return rows of 40 keys, one of which has most of them, in no order."""
    rng = np.random.default_rng(5)
    key = np.where(rng.random(ROWS) < hot, 7, rng.integers(0, 40, ROWS))
    return pa.table(
        {
            "k": key,
            "t": rng.permutation(ROWS),
            "x": rng.integers(0, 9, ROWS),
            "s": pa.array(list("abcd")).take(pa.array(rng.integers(0, 4, ROWS))),
        }
    )


def clause(
    pattern: str,
    define: str,
    *,
    rows: str = "ONE ROW PER MATCH",
    skip: str = "PAST LAST ROW",
    within: str = "",
) -> str:
    after = f"AFTER MATCH SKIP {skip}" if skip else ""
    return (
        "MATCH_RECOGNIZE (PARTITION BY k ORDER BY t MEASURES MATCH_NUMBER() AS m, count(*) AS n, "
        f"FIRST(t) AS f, LAST(t) AS l, LAST(b.x) AS bx {rows} {after} "
        f"PATTERN ({pattern}) {within} DEFINE {define})"
    )


UP = "b AS x > PREV(x)"
CLAUSES = {
    "nodes": clause("a b+", UP),
    "nodes, all rows": clause("a b+ | c", f"{UP}, c AS s = 'a'", rows="ALL ROWS PER MATCH"),
    "nodes, unmatched": clause("a b b", UP, rows="ALL ROWS PER MATCH WITH UNMATCHED ROWS"),
    "nodes, to next": clause("a b*", UP, skip="TO NEXT ROW"),
    "nodes, to last": clause("c b+ a+?", f"{UP}, a AS s IN ('b', 'c')", skip="TO LAST b"),
    "nodes, far": clause("a (b | c)*", "b AS s = 'b' AND PREV(x, 3) < 8, c AS NEXT(s, 2) = 'a'"),
    "window": clause("a b+", UP, within="WITHIN 90"),
    "window, history": clause("a b+", "b AS x >= a.x", within="WITHIN 90"),
    "rows": clause("a b{1,6}", "b AS sum(x) < 20"),
    "barriers": clause("a b+", "b AS x > FIRST(x) AND s <> 'd'"),
    "barriers, neighbours": clause("^ b | a b+ c?", "b AS x >= PREV(x) AND x >= a.x, c AS NEXT(s, 2) = 'a'"),
    "barriers, unmatched": clause(
        "a b (b+ | $)", "b AS x > 2 AND count(*) < x", rows="ALL ROWS PER MATCH WITH UNMATCHED ROWS"
    ),
    "barriers, to last": clause("a b+ a?", "b AS s = 'b' AND sum(x) < 30, a AS s < 'c'", skip="TO LAST b"),
    "barriers, all ways": clause("a b+", "b AS x > 4 AND x >= a.x", rows="ALL MATCHES", skip=""),
    "barriers, linear": clause(
        f"({' | '.join(f'c{k}' for k in range(9))}) b+",
        f"{UP}, {', '.join(f'c{k} AS x = {k}' for k in range(9))}",
    ),
    "whole": clause("a b+", "b AS x > FIRST(x)"),
}
CUTS = {
    "nodes": "cut anywhere",
    "window": "overlap by the window",
    "rows": "by 7 rows",
    "barriers": "cut at rows that cannot be",
    "whole": "not cut",
}


@pytest.fixture
def cut(monkeypatch: pytest.MonkeyPatch, short_stretches: None) -> list[stretches.Stretch]:
    """Return a list to which the stretches of every call are added."""
    seen: list[stretches.Stretch] = []

    def cut_rows(plan: RowPlan, how: Cut, ordered: OrderedRows) -> list[stretches.Stretch]:
        made = stretches.cut_rows(plan, how, ordered)
        seen.extend(made)
        return made

    monkeypatch.setattr(run, "cut_rows", cut_rows)
    return seen


@pytest.mark.parametrize("name", CLAUSES)
def test_any_number_of_threads_gives_the_rows_of_the_whole(
    name: str, cut: list[stretches.Stretch], monkeypatch: pytest.MonkeyPatch
) -> None:
    table, text = ticks(), CLAUSES[name]
    assert CUTS[name.partition(",")[0]] in fyke.explain(table, text)
    counts = []
    found = []
    for threads in (1, 2, 5):
        metrics = fyke.Metrics()
        found.append(fyke.match(table, text, threads=threads, metrics=metrics))
        counts.append({key: value for key, value in metrics.get().items() if not key.startswith("seconds")})
    assert any(each.joins for each in cut) == (name != "whole")
    monkeypatch.setattr(stretches, "LEAST_ROWS", ROWS + 1)
    whole = fyke.match(table, text)
    assert whole.num_rows > 400
    assert whole["m"].drop_null().to_numpy().max() > 50
    for each in found:
        assert each.equals(whole)
    assert counts[0] == counts[1] == counts[2]


@pytest.mark.parametrize(
    "pattern, define, words",
    [
        ("a b+ c", "b AS s = 'b', c AS s <> 'a' AND x >= PREV(x)", "cut at rows that cannot be B or C"),
        ("a b+", "b AS s < 'c' AND x <= FIRST(x)", "cut at rows that cannot be B,"),
        ("a", "a AS s = 'a'", "cut anywhere: no attempt has a second row"),
        ("a b+", "a AS s = 'a'", "any row may go on with one as B"),
    ],
)
def test_attempts_that_expire_are_those_of_the_whole(
    pattern: str, define: str, words: str, cut: list[stretches.Stretch], monkeypatch: pytest.MonkeyPatch
) -> None:
    table, text = ticks(), clause(pattern, define, within="WITHIN 3").replace(", LAST(b.x) AS bx", "")
    found = [fyke.match(table, text, timeouts=True, threads=threads) for threads in (1, 3)]
    assert words in fyke.explain(table, text, timeouts=True)
    assert any(each.joins for each in cut) == words.startswith("cut")
    monkeypatch.setattr(stretches, "LEAST_ROWS", ROWS + 1)
    whole = fyke.match(table, text, timeouts=True)
    statuses = Counter(whole["status"].to_pylist())
    assert statuses["match"] > 100
    assert statuses["timeout"] > 100 or pattern == "a"
    assert all(each.equals(whole) for each in found)


@pytest.mark.parametrize("every, pieces", [(50, 24), (400, 16), (5_000, 2), (2 * ROWS, 1)])
def test_pieces_begin_at_the_first_barrier_behind_their_share(
    every: int, pieces: int, cut: list[stretches.Stretch], monkeypatch: pytest.MonkeyPatch
) -> None:
    table = pa.table({"x": [1] * ROWS, "s": ["b" if n % every < every - 1 else "d" for n in range(ROWS)]})
    text = "MATCH_RECOGNIZE (MEASURES count(*) AS n PATTERN (a b+) DEFINE b AS x >= FIRST(x) AND s = 'b')"
    found = fyke.match(table, text, threads=2)
    kinds = table["s"].to_pylist()
    assert all(kinds[each.first] == "d" for each in cut if each.joins)
    assert len(cut) == pieces
    monkeypatch.setattr(stretches, "LEAST_ROWS", ROWS + 1)
    assert found.equals(fyke.match(table, text))


@pytest.mark.parametrize(
    "pattern, define, words",
    [
        ("(a{70} r)+", "a AS x > 1", "any row may be R, and the pattern has too many states"),
        (
            f"({' | '.join(f'c{k}' for k in range(9))}) r+ c0",
            ", ".join(f"c{k} AS x = {k}" for k in range(9)),
            "any row may be R, and the pattern has more than 8 conditions",
        ),
        ("a b+", "b AS x > FIRST(x)", "add WITHIN, or to B a condition on its row alone"),
    ],
)
def test_why_a_long_partition_is_not_cut(pattern: str, define: str, words: str) -> None:
    text = f"MATCH_RECOGNIZE (ORDER BY t PATTERN ({pattern}) DEFINE {define})"
    assert words in fyke.explain(ticks(), text)


@pytest.mark.usefixtures("short_stretches")
def test_pieces_that_never_meet_cost_twice_at_most() -> None:
    """Every piece begins at the other row of a pair than the piece before has left it at."""
    table = pa.table({"x": [0] + [1] * 9_999})
    text = "MATCH_RECOGNIZE (MEASURES count(*) AS n PATTERN (a{3} | b) DEFINE a AS x = 1, b AS x = 0)"
    metrics = fyke.Metrics()
    found = fyke.match(table, text, threads=2, metrics=metrics)
    assert found["n"].to_pylist() == [1] + [3] * 3_333
    assert metrics.get()["bindings_tried"] <= 4 * 10_000


@pytest.mark.usefixtures("short_stretches")
@pytest.mark.parametrize("threads", [1, 3])
def test_errors_name_the_partition_of_a_later_stretch(threads: int) -> None:
    keys = np.repeat(np.arange(10), 400)
    table = pa.table({"k": keys, "x": (keys == 8).astype(np.int64), "i": np.arange(4_000)})
    long = "MATCH_RECOGNIZE (PARTITION BY k AFTER MATCH SKIP TO NEXT ROW PATTERN (a+) DEFINE a AS x = 1)"
    with pytest.raises(LimitError, match=r"in the partition k = 8 by .* of \(A\+\)"):
        fyke.match(table, long, threads=threads, limits=fyke.Limits(steps=5_000))
    missing = (
        "MATCH_RECOGNIZE (PARTITION BY k AFTER MATCH SKIP TO b PATTERN (a b?) DEFINE b AS x = 0, a AS x = 1)"
    )
    with pytest.raises(SkipError, match="of the partition k = 8"):
        fyke.match(table, missing, threads=threads)


@pytest.mark.usefixtures("short_stretches")
def test_a_skip_that_only_a_wrong_start_would_lead_nowhere_is_no_error() -> None:
    """Pieces begin among the ``a`` of a match: one alone has no ``c`` to skip to, but is no match."""
    table = pa.table({"s": list("b" + "a" * 600 + "c") * 10})
    text = """MATCH_RECOGNIZE (MEASURES count(*) AS n AFTER MATCH SKIP TO c
        PATTERN (b a+ c | a c?) DEFINE b AS s = 'b', a AS s = 'a', c AS s = 'c')"""
    for threads in (1, 3):
        assert fyke.match(table, text, threads=threads)["n"].to_pylist() == [602] * 10
    with pytest.raises(SkipError):
        fyke.match(table.slice(5), text, threads=3)


@pytest.mark.usefixtures("short_stretches")
def test_threads_come_from_the_option_or_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    class Counted(Team):
        def __init__(self, threads: int, stop: Any) -> None:
            asked.append(threads)
            super().__init__(threads, stop)

    monkeypatch.setattr(run, "Team", Counted)
    monkeypatch.setenv("FYKE_THREADS", "3")
    fyke.match(ticks(), CLAUSES["nodes"])
    fyke.match(ticks(), CLAUSES["nodes"], threads=4)
    fyke.match(ticks().slice(0, 900), CLAUSES["nodes"])  # too few rows to share
    assert asked == [3, 4, 1]


# --- order ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "order", ["t", "t DESC", "s, x DESC, t", "x NULLS FIRST, s DESC NULLS FIRST, t DESC"]
)
@pytest.mark.parametrize("partition", [["k"], ["s", "k"], []])
def test_rows_come_in_order(order: str, partition: list[str]) -> None:
    rng = np.random.default_rng(1)
    table = ticks().slice(0, 2_000)
    for name in ("s", "x"):
        values = table[name].combine_chunks()
        gone = pa.array(np.arange(2_000), mask=rng.random(2_000) < 0.1)
        table = table.set_column(table.column_names.index(name), name, values.take(gone))
    by = f"PARTITION BY {', '.join(partition)}" if partition else ""
    found = fyke.match(
        table, f"MATCH_RECOGNIZE ({by} ORDER BY {order} ALL ROWS PER MATCH PATTERN (a) DEFINE a AS TRUE)"
    )
    rows = table.to_pylist()
    for item in reversed(order.split(", ")):
        name, first, falls = item.split()[0], "FIRST" in item, "DESC" in item
        present = [row for row in rows if row[name] is not None]
        missing = [row for row in rows if row[name] is None]
        present.sort(key=lambda row, name=name: row[name], reverse=falls)
        rows = missing + present if first else present + missing
    firsts = {tuple(row[name] for name in partition): None for row in table.to_pylist()}
    expected = [
        row for key in firsts for row in rows if tuple(row[name] for name in partition) == key
    ]  # partitions in the order of their first rows
    assert [row["t"] for row in found.to_pylist()] == [row["t"] for row in expected]


# --- conditions that rows decide before they are ordered --------------------------------------------


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())])
@pytest.mark.parametrize(
    "define",
    [
        "a AS s = 'ab', b AS s IN ('c', '')",
        "a AS 'ab' = s, b AS s NOT IN ('c', 'ab')",
        "a AS s LIKE 'a%', b AS s IS NULL OR s = 'cd'",
        "a AS s = 'ab' AND i > 3, b AS coalesce(s, 'c') = 'c'",
        "a AS s > 'ab', b AS s = 'ab' AND PREV(s) = 'c'",
    ],
)
def test_texts(define: str, kind: pa.DataType) -> None:
    texts = ["ab", "c", None, "", "abc", "cd", "ab", "a", "c", "ax", None, "ab", "c", "", "c"] * 2
    table = pa.table({"g": [1, 2, 1] * 10, "i": range(30), "s": pa.array(texts, pa.string()).cast(kind)})
    text = f"""MATCH_RECOGNIZE (PARTITION BY g ORDER BY i DESC MEASURES FIRST(i) AS f, count(b.*) AS n
        PATTERN (a+ b? | b) DEFINE {define})"""
    found = fyke.match(table, text)
    assert found.num_rows > 1
    assert found.to_pylist() == fyke.reference.match(table, text).to_pylist()
