"""Every pattern of the four papers behind Fyke, in Fyke's words, parses and comes back."""

from __future__ import annotations

import pytest

from fyke.language.ast import And, Binary, Call, Event, Index, Literal, Not, Or, Reference, Seq, Strategy
from fyke.language.sase import parse

# --- [N]: SASE+ --------------------------------------------------------------------------------

QUERY_1 = """
    PATTERN SEQ(Shelf a, ~(Register b), Exit c)
    WHERE skip_till_next_match(a, b, c) {
        a.tag_id = b.tag_id
        AND a.tag_id = c.tag_id
        /* the same as [tag_id] */
    }
    WITHIN 12 hours
"""
QUERY_2 = """
    PATTERN SEQ(Alert a, Shipment+ b[])
    WHERE skip_till_any_match(a, b[]) {
        a.type = 'contaminated'
        AND b[1].from = a.site
        AND b[i].from = b[i-1].to
    }
    WITHIN 3 hours
"""
QUERY_3 = """
    PATTERN SEQ(Stock+ a[], Stock b)
    WHERE skip_till_next_match(a[], b) {
        [symbol]
        AND a[1].volume > 1000
        AND a[i].price > avg(a[..i-1].price)
        AND b.volume < 80%*a[a.len].volume
    }
    WITHIN 1 hour
"""
NFA = {
    "query 1": QUERY_1,
    "query 2": QUERY_2,
    "query 3": QUERY_3,
    "evaluation": """
        PATTERN (stock+ a[ ], stock b)
        WHERE skip_till_any_match {
            [symbol] ∧ a[1].price %500==0 ∧ a[i].price > a[i-1].price ∧ b.volume <150
        }
        WITHIN 500""",
    "evaluation, p1": """
        PATTERN (stock+ a[], stock b)
        WHERE partition_contiguity { [symbol] AND a[1].price % 500 == 0 AND TRUE AND b.volume < 150 }
        WITHIN 500""",
    "evaluation, p3": """
        PATTERN (stock+ a[], stock b)
        WHERE skip_till_next_match {
            [symbol] AND a[1].price % 500 == 0 AND a[i].price > min(a[..i-1].price) AND b.volume < 150
        }
        WITHIN 500""",
    "evaluation, three components": """
        PATTERN (stock+ a[], stock b, stock c)
        WHERE skip_till_any_match {
            [symbol] AND a[i].price > max(a[..i-1].price)
            AND c.price > a[1].price ∧ c.price < a[a.len].price
        }
        WITHIN 500""",
}

# --- [S]: sequenced event sets -------------------------------------------------------------------

CHEMO = "c.L = 'C' AND p.L = 'P' AND d.L = 'D' AND b.L = 'B'"
PATIENT = "c.PID = p.PID AND p.PID = d.PID AND d.PID = b.PID"
P_1 = f"""
    PATTERN SEQ({{ANY c, ANY+ p[], ANY d}}, ANY b)
    WHERE greedy_skip_till_next_match {{ {CHEMO} AND {PATIENT} AND prev(p.V) < p.V }}
    WITHIN 15 d
"""
SIX = "E v1, E v2, E v3, E v4, E v5, E v6"
SETS = {
    "P_1": P_1,
    "P_1 by types": "PATTERN SEQ({C c, P+ p[], D d}, {B b}) WHERE { [PID], prev(p.V) < p.V } WITHIN 15 d",
    "second set alone": "PATTERN {B b} WITHIN 15 d",
    "one by one": "PATTERN SEQ(C c, P+ p[], B b)",
    "introduction, two sets": "PATTERN SEQ({C c, P+ p[]}, {B b})",
    "introduction, pairs": "PATTERN SEQ({G g1, I i1}, {G g2, I i2}, {G g3, I i3})",
    "without quantifier": "PATTERN SEQ({C c, P p, D d}, {B b}) WITHIN 15 d",
    "one set of six": f"PATTERN {{{SIX}}} WITHIN 5 days",
    "two sets of three": "PATTERN SEQ({E v1, E v2, E v3}, {E v4, E v5, E v6}) WITHIN 5 days",
    "three sets of two": "PATTERN SEQ({E v1, E v2}, {E v3, E v4}, {E v5, E v6}) WITHIN 5 days",
    "six sets of one": f"PATTERN SEQ({SIX}) WITHIN 1 s",
    "evaluation P_1": "PATTERN SEQ({E v1, E v2, E v3}, {E v4, E v5}) WITHIN 1 s",
    "evaluation P_2": "PATTERN SEQ({E+ v1[], E v2, E v3}, {E v4, E v5}) WITHIN 1 s",
    "evaluation P_3": "PATTERN SEQ({E+ v1[], E+ v2[], E v3}, {E v4, E v5}) WITHIN 1 s",
    "P_2": """
        PATTERN SEQ({ANY c, ANY+ p[]}, {ANY b})
        WHERE { c.L = 'C' AND p.L = 'P' AND b.L = 'B' AND c.PID = p.PID AND p.PID = b.PID }
        WITHIN 15 days""",
    "P_3": """
        PATTERN SEQ({GOOG s1}, {GOOG s2}, {GOOG+ s3[]}, {GOOG s4})
        WHERE robust_skip_till_next_match {
            s1.P < s2.P AND s2.P < s3.P AND prev(s3.P) < s3.P
            AND s1.V < s4.V AND s2.V < s4.V AND s3.V < s4.V
        }
        WITHIN 100 ms""",
    "prefix of P_3": """
        PATTERN SEQ({ANY s1}, {ANY s2})
        WHERE { s1.S = 'GOOG' AND s2.S = 'GOOG' AND s1.P < s2.P }
        WITHIN 100 ms""",
    "chapter 5 P_seq": f"PATTERN SEQ({', '.join(f'T{n} v{n}' for n in range(10))}) WITHIN 10 days",
    "chapter 5 P_set": f"PATTERN {{{', '.join(f'T{n} v{n}' for n in range(10))}}} WITHIN 20 ms",
    "chapter 5 P_onco": """
        PATTERN SEQ({C c, D d}, {P+ p[], R+ r[]}, {B b, H h})
        WHERE { [patient] }
        WITHIN 50 days""",
    "chapter 5 P_nyse": """
        PATTERN SEQ({AAPL+ a[], GOOG+ g[]}, {IBM+ i[]})
        WHERE { prev(a.price) < a.price AND prev(g.price) < g.price AND prev(i.price) > i.price }
        WITHIN 100 ms""",
    "chapter 6 P_vars": f"""
        PATTERN SEQ({", ".join(f"GOOG v{n}" for n in range(1, 13))})
        WHERE robust_skip_till_next_match {{
            {" AND ".join(f"v{n}.price > v{n + 1}.price" for n in range(1, 12))}
        }}
        WITHIN 30 ms""",
    "chapter 6 P_1": f"""
        PATTERN SEQ({", ".join(f"GOOG v{n}" for n in range(1, 10))}, GOOG+ v10[])
        WHERE robust_skip_till_next_match {{ v9.price < v10.price, prev(v10.price) < v10.price }}
        WITHIN 30 ms""",
    "chapter 6 P_2": """
        PATTERN SEQ(E v1, E v2, E v3, E v4, E+ v5[], E+ v6[])
        WHERE robust_skip_till_next_match { v4.count < v5.count AND prev(v5.count) < v5.count }
        WITHIN 231 days""",
    "chapter 6 P_3, double bottom": """
        PATTERN SEQ({E+ v1[]}, {E v2}, {E+ v3[]}, {E v4}, {E+ v5[]}, {E v6}, {E+ v7[]})
        WHERE robust_skip_till_next_match {
            prev(v1.x) > v1.x AND v1.x > v2.x AND v2.x < v3.x AND prev(v3.x) < v3.x AND v3.x < v4.x
            AND v4.x > v5.x AND prev(v5.x) > v5.x AND v5.x > v6.x AND v6.x < v7.x AND prev(v7.x) < v7.x
        }
        WITHIN 308 days""",
    "chapter 6 P_4": """
        PATTERN SEQ({G v1, A w1}, {G v2, A w2}, {G v3, A w3}, {G v4, A w4}, {G+ v5[], A+ w5[]})
        WHERE robust_skip_till_next_match { prev(v5.x) < v5.x AND prev(w5.x) < w5.x }
        WITHIN 50 ms""",
}

# --- [L]: lazy automata --------------------------------------------------------------------------

ANY_MATCH = "WHERE skip_till_any_match { }"
LAZY = {
    "(1)": """
        PATTERN SEQ (A a, B b, C c)
        WHERE skip_till_any_match { a.price > 100 AND b.price > 100 AND c.price > 100 }
        WITHIN 1 hour""",
    "(2)": f"PATTERN AND (A a, B b, C c) {ANY_MATCH} WITHIN 1 hour",
    "(3)": f"PATTERN AND (SEQ (A a, B b), SEQ (C c, D d), E e) {ANY_MATCH} WITHIN 1 hour",
    "(4)": "PATTERN SEQ (A a, NOT (B b), C c, D d) WHERE skip_till_any_match {b.x < c.y} WITHIN 1 hour",
    "(5)": f"PATTERN SEQ (A a, B + b[], C c) {ANY_MATCH} WITHIN 1 hour",
    "(6)": "PATTERN SEQ (A a, B + b[], C c) WHERE skip_till_any_match {AVG (b[i].x) < c.y} WITHIN 1 hour",
    "(7)": """
        PATTERN SEQ (A a, B + b[], C c)
        WHERE skip_till_any_match {b [i] .x = b [i - 1] .x}
        WITHIN 1 hour""",
    "(8)": f"PATTERN OR (SEQ (A a, B b, C c), SEQ (C c, D d, E e)) {ANY_MATCH} WITHIN 1 hour",
    "(9)": """
        PATTERN SEQ (A a, OR (B b, C c), D d)
        WHERE skip_till_any_match {a.price > d.price}
        WITHIN 1 hour""",
    "(10)": """
        PATTERN SEQ (E a, E b, E c)
        WHERE skip_till_any_match {
            a.ticker = 'MSFT' AND b.ticker = 'GOOG' AND c.ticker = 'AAPL'
            AND a.price < b.price AND b.price < c.price
        }
        WITHIN 1 hour""",
    "(11)": """
        PATTERN SEQ (NACompany a, EUCompany b, AfrCompany c)
        WHERE skip_till_any_match {
            Corr (a.history, b.history) > 0.9
            AND Corr (b.history, c.history) > 0.9
            AND Corr (c.history, a.history) > 0.9
        }
        WITHIN 20 minutes""",
    "SEQ5": f"PATTERN SEQ(A a, B b, C c, D d, E e) {ANY_MATCH} WITHIN 20 minutes",
    "negated SEQ5": f"PATTERN SEQ(A a, NOT B b, C c, D d, E e) {ANY_MATCH} WITHIN 20 minutes",
    "negated AND3": f"PATTERN AND(A a, NOT (B b), C c) {ANY_MATCH} WITHIN 20 minutes",
}

ALL = {
    **{f"[N] {name}": text for name, text in NFA.items()},
    **{f"[S] {name}": text for name, text in SETS.items()},
    **{f"[L] {name}": text for name, text in LAZY.items()},
}


@pytest.mark.parametrize("text", ALL.values(), ids=ALL.keys())
def test_seed_query_parses_and_comes_back(text: str) -> None:
    query = parse(text)
    assert parse(str(query)) == query


def test_query_1() -> None:
    query = parse(QUERY_1)
    assert query.pattern == Seq((Event("Shelf", "a"), Not(Event("Register", "b")), Event("Exit", "c")))
    assert query.strategy is Strategy.NEXT
    assert len(query.conditions) == 2


def test_query_3() -> None:
    _, first, rising, drop = parse(QUERY_3).conditions
    assert first == Binary(">", Reference("a", ("volume",), Index.FIRST), Literal(1000))
    before = Call("avg", (Reference("a", ("price",), Index.BEFORE),))
    assert rising == Binary(">", Reference("a", ("price",), Index.EACH), before)
    part = Binary("*", Literal(0.8), Reference("a", ("volume",), Index.LAST))
    assert drop == Binary("<", Reference("b", ("volume",)), part)
    assert str(parse(QUERY_3)).startswith(
        "PATTERN SEQ(Stock+ a[], Stock b)\nWHERE skip_till_next_match {\n    [symbol]\n"
    )


def test_sequenced_event_set() -> None:
    query = parse(P_1)
    assert query.pattern == Seq(
        (
            And((Event(None, "c"), Event(None, "p", 1, None, True), Event(None, "d"))),
            Event(None, "b"),
        )
    )
    assert query.conditions[-1] == Binary("<", Reference("p", ("V",), Index.PREVIOUS), Reference("p", ("V",)))


def test_alternatives_share_a_name() -> None:
    pattern = parse(LAZY["(8)"]).pattern
    assert isinstance(pattern, Or)
    assert all(isinstance(part, Seq) for part in pattern.parts)
