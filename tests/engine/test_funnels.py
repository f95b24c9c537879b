"""Funnels and optional parts: how far each start came, and patterns with a part or without it."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest

import fyke
from fyke.errors import (
    EmptyPatternError,
    FykeError,
    MissingWindowError,
    QuantifierError,
    QuerySyntaxError,
)

OPTIONS: dict[str, Any] = {"time": "t", "type": "kind"}
SHOP = "FUNNEL(H h, C c, P p)"


def shop(seed: int, rows: int = 90) -> pa.Table:
    chance = random.Random(seed)
    return pa.table(
        {
            "kind": [chance.choice("HHCCPX") for _ in range(rows)],
            "t": [chance.randint(0, 60) for _ in range(rows)],
            "user": [chance.choice("uv") for _ in range(rows)],
            "x": [chance.randint(0, 3) for _ in range(rows)],
        }
    )


def how_far(table: pa.Table, window: int) -> list[tuple[Any, ...]]:
    """Walk from each home to the next cart and the next pay of the user that cost no less, by hand."""
    rows = list(table.to_pylist())
    rows.sort(key=lambda row: (row["t"], row["kind"], row["user"], row["x"]))
    found = []
    for start in rows:
        if start["kind"] != "H":
            continue
        path = [start]
        for kind in "CP":
            following = [
                row
                for row in rows
                if row["kind"] == kind
                and row["user"] == start["user"]
                and row["t"] > path[-1]["t"]
                and row["t"] - start["t"] <= window
                and row["x"] >= path[-1]["x"]
            ]
            if not following:
                break
            path.append(following[0])
        found.append((start["user"], *[row["t"] for row in path], len(path)))
    return sorted(found)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("strategy", ["skip_till_next_match", "greedy_skip_till_next_match"])
def test_a_funnel_is_a_walk_from_each_start(seed: int, strategy: str) -> None:
    table = shop(seed)
    query = f"PATTERN {SHOP} WHERE {strategy} {{ [user] AND h.x <= c.x AND c.x <= p.x }} WITHIN 15"
    found = fyke.match(table, query, **OPTIONS)
    assert found.column_names[-4:] == ["h", "c", "p", "reached"]
    told = [
        (row["user"], *[row[name]["t"] for name in "hcp" if row[name]], row["reached"])
        for row in found.to_pylist()
    ]
    assert sorted(told) == how_far(table, 15)
    assert {row[-1] for row in told} == {1, 2, 3}
    naive = fyke.reference.match(table, query, **OPTIONS)
    assert sorted(naive["match_id"].to_pylist()) == sorted(found["match_id"].to_pylist())


def test_what_is_returned_of_a_funnel() -> None:
    table = pa.table({"kind": list("HCPHCH"), "t": range(6)})
    query = f"PATTERN {SHOP} WITHIN 2 RETURN h.t, reached() * 10 AS score, reached()"
    rows = fyke.match(table, query, **OPTIONS).to_pylist()
    assert sorted((row["h_t"], row["score"], row["reached"]) for row in rows) == [
        (0, 30, 3),
        (3, 20, 2),
        (5, 10, 1),
    ]
    counted = f"PATTERN {SHOP} WITHIN 2 RETURN count(*) AS n, count(c.t) AS carts, max(reached()) AS furthest"
    assert fyke.match(table, counted, **OPTIONS).to_pylist() == [{"n": 3, "carts": 2, "furthest": 3}]
    whole = fyke.match(table, f"PATTERN {SHOP} WITHIN 2", **OPTIONS, complete_windows=True)
    assert sorted(whole["reached"].to_pylist()) == [2, 3]
    apart = fyke.match(table, f"PATTERN {SHOP} WITHIN 2", **OPTIONS, output="non_overlap")
    assert sorted(apart["reached"].to_pylist()) == [1, 2, 3]


@pytest.mark.parametrize(
    "text, error, message",
    [
        (f"PATTERN {SHOP}", MissingWindowError, "a funnel needs a window"),
        (f"PATTERN SEQ(A a, {SHOP}) WITHIN 5", QuerySyntaxError, "a funnel is a whole pattern"),
        (f"PATTERN ~{SHOP} WITHIN 5", QuerySyntaxError, "a funnel is a whole pattern"),
        (
            f"PATTERN {SHOP} WHERE skip_till_any_match WITHIN 5",
            QuerySyntaxError,
            "skip_till_any_match does not",
        ),
        (f"PATTERN {SHOP} WHERE strict_contiguity WITHIN 5", QuerySyntaxError, "strict_contiguity does not"),
        ("PATTERN FUNNEL(A a, B+ b[]) WITHIN 5", QuantifierError, "the steps of a funnel are single events"),
        ("PATTERN FUNNEL(A a, B? b) WITHIN 5", QuantifierError, "the steps of a funnel are single events"),
        ("PATTERN FUNNEL(A a, ~B b) WITHIN 5", QuantifierError, "the steps of a funnel are single events"),
        ("PATTERN FUNNEL(A a) WITHIN 5", EmptyPatternError, "a funnel has two steps or more"),
        ("PATTERN FUNNEL(A a, B a) WITHIN 5", FykeError, "variable 'a' is declared twice"),
        ("PATTERN SEQ(A a, (~B b)?) WITHIN 5", QuantifierError, "an absence cannot be optional"),
        ("PATTERN SEQ(A a, ~(B b, C c)?) WITHIN 5", EmptyPatternError, "the absence of something optional"),
    ],
)
def test_what_is_no_funnel(text: str, error: type[FykeError], message: str) -> None:
    with pytest.raises(error, match=message):
        fyke.match(pa.table({"kind": ["A"], "t": [1]}), text, **OPTIONS)


def test_a_type_may_still_be_called_funnel() -> None:
    table = pa.table({"kind": ["Funnel", "A"], "t": [1, 2]})
    assert fyke.match(table, "PATTERN SEQ(Funnel funnel, A a)", **OPTIONS).num_rows == 1


@pytest.mark.parametrize(
    "pattern, same",
    [
        ("SEQ(A a, (B b, C c)?, D d)", "OR(SEQ(A a, D d), SEQ(A a, B b, C c, D d))"),
        ("SEQ(A a, SEQ(B b, C c)?, D d)", "OR(SEQ(A a, D d), SEQ(A a, B b, C c, D d))"),
        ("SEQ(A a, {B b, C c}?, D d)", "OR(SEQ(A a, D d), SEQ(A a, AND(B b, C c), D d))"),
        ("SEQ(A a, OR(B b, C c)?, D d)", "OR(SEQ(A a, D d), SEQ(A a, B b, D d), SEQ(A a, C c, D d))"),
        ("SEQ(A a, (B+ b[], ~C c, D d)?)", "OR(A a, SEQ(A a, B+ b[], ~C c, D d))"),
        ("SEQ(A a, (B b)?, D d)", "SEQ(A a, B? b, D d)"),
        ("SEQ(A a, (B{2,3} b[])?, D d)", "OR(SEQ(A a, D d), SEQ(A a, B{2,3} b[], D d))"),
        ("SEQ(A a, ((B b, C c)?)?, D d)", "OR(SEQ(A a, D d), SEQ(A a, B b, C c, D d))"),
    ],
)
def test_a_part_may_be_missing_as_a_whole(pattern: str, same: str) -> None:
    chance = random.Random(7)
    rows = 60
    table = pa.table({"kind": [chance.choice("ABCD") for _ in range(rows)], "t": range(rows)})
    for strategy in ("skip_till_next_match", "skip_till_any_match"):
        tail = (
            f"WHERE {strategy} {{ a.t < d.t AND b.t > 3 }} WITHIN 5"
            if " d" in same
            else f"WHERE {strategy} WITHIN 5"
        )
        tail = tail.replace(" AND b.t > 3", "") if "b[]" in same else tail
        one, other = (fyke.match(table, f"PATTERN {each} {tail}", **OPTIONS) for each in (pattern, same))
        drop = [name for name in one.column_names if name != "match_id"]
        rows_of = [sorted(map(str, each.select(drop).to_pylist())) for each in (one, other)]
        assert rows_of[0] == rows_of[1] != []


def test_texts_and_the_builder() -> None:
    texts = ["PATTERN FUNNEL(A a, B b) WITHIN 5", "PATTERN SEQ(A a, SEQ(B b, C c)?, (D{2,3} d[])?)"]
    for text in texts:
        assert str(fyke.parse(str(fyke.parse(text)))) == str(fyke.parse(text))
    p = fyke.pattern
    a, b, c = (p.event(kind, kind.lower()) for kind in "ABC")
    assert p.query(p.funnel(a, b), within=5) == fyke.parse(texts[0])
    assert p.query(p.seq(a, p.seq(b, c).optional())) == fyke.parse("PATTERN SEQ(A a, (B b, C c)?)")
    assert p.query(p.seq(a, b.optional())) == fyke.parse("PATTERN SEQ(A a, B? b)")
