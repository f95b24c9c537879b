"""Rules on tables: loaded from everything, run together, told apart; a broken one stops no other."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fyke
from fyke.errors import (
    InputError,
    LimitError,
    OptionError,
    QuerySyntaxError,
    RuleError,
    UnknownAttributeError,
)

EVENTS = pa.table(
    {
        "kind": ["A", "B", "A", "C", "B", "C", "D"] * 20,
        "t": [t // 2 for t in range(140)],
        "k": [t % 3 for t in range(140)],
        "x": [(7 * t) % 11 for t in range(140)],
    }
)
OPTIONS = {"time": "t", "type": "kind"}
TEXTS = {
    "pairs": "PATTERN SEQ(A a, B b) WHERE { [k] AND a.x > 3 } WITHIN 9",
    "absent": "PATTERN SEQ(A a, ~B b, C c) WHERE { [k] } WITHIN 9 RETURN a.x AS first, c.x AS last",
    "groups": "PATTERN SEQ(A a, C+ c[]) WHERE { [k] AND c[i].x > c[i-1].x } WITHIN 12",
    "any_of": "PATTERN SEQ(A a, B b, D d) WHERE skip_till_any_match { [k] } WITHIN 12 RETURN a.x + b.x AS s",
    "contiguous": "PATTERN SEQ(A a, C c) WHERE partition_contiguity { [k] } WITHIN 5",
    "counted": "PATTERN SEQ(A a, B b) WHERE { [k] } WITHIN 4 EVENTS",
    "total": "PATTERN SEQ(B a, D b) WHERE { [k] } WITHIN 9 RETURN count(*) AS n",
    "joined": "SELECT a.x AS x, b.x AS y FROM [RANGE 2] A AS a; B AS b WHERE [k]",
    "alone": "PATTERN D d WHERE { d.x > 5 }",
}


def rows(table: pa.Table) -> list[str]:
    return sorted(map(str, table.to_pylist()))


def test_each_rule_finds_what_match_finds() -> None:
    shuffled = EVENTS.take(pa.array([(9 * n) % 140 for n in range(139, -1, -1)]))
    for events in (EVENTS, shuffled):
        found = fyke.rules(TEXTS).run(events, **OPTIONS)
        assert found.failed == {}
        for name, text in TEXTS.items():
            expected = fyke.match(events, text, **OPTIONS)
            assert expected.num_rows > 0, name
            assert found.of(name).schema == expected.schema, name
            assert rows(found.of(name)) == rows(expected), name


def test_all_rows_are_told_apart_by_rule_and_version() -> None:
    table = pa.Table.from_pylist(
        [
            {"name": "p", "version": 1, "text": TEXTS["pairs"], "active": True},
            {"name": "p", "version": 2, "text": TEXTS["pairs"].replace("3", "6"), "active": True},
            {"name": "n", "version": 1, "text": TEXTS["total"], "active": True},
            {"name": "off", "version": 1, "text": TEXTS["alone"], "active": False},
        ]
    )
    rules = fyke.rules(table)
    assert [str(rule) for rule in rules.inactive] == ["off (version 1)"]
    found = rules.run(EVENTS, **OPTIONS)
    everything = found.all()
    assert everything.column_names == ["rule", "version", "match_id", "start", "end", "row"]
    by_rule = everything.group_by(["rule", "version"]).aggregate([([], "count_all")]).to_pylist()
    counted = {(row["rule"], row["version"]): row["count_all"] for row in by_rule}
    assert counted[("p", "1")] == found.of("p", 1).num_rows > counted[("p", "2")] == found.of("p", 2).num_rows
    assert counted[("n", "1")] == 3
    first = next(row for row in everything.to_pylist() if row["rule"] == "p")
    assert json.loads(first["row"])["match_id"] == first["match_id"]
    with pytest.raises(OptionError, match="several versions: 1, 2"):
        found.of("p")
    with pytest.raises(OptionError, match="no rule is 'q'"):
        found.of("q")


def test_metrics_of_each_rule() -> None:
    found = fyke.rules({"pairs": TEXTS["pairs"], "alone": TEXTS["alone"]}).run(EVENTS, **OPTIONS)
    counts = found.metrics()
    assert counts["pairs", "1"]["matches"] == found.of("pairs").num_rows
    assert counts["alone", "1"]["events"] == found.of("alone").num_rows  # others play no role
    assert counts["alone", "1"]["seconds"] > 0


def test_a_broken_rule_stops_no_other() -> None:
    texts = {
        "good": TEXTS["pairs"],
        "no_query": "PATTERN SEQ(A a B b)",
        "no_column": "PATTERN SEQ(A a, B b) WHERE { a.y > 3 }",
        "too_much": "PATTERN SEQ(A+ a[], D b) WHERE skip_till_any_match RETURN a.len AS n",
    }
    rules = fyke.rules(texts)
    assert [rule.name for rule in rules.broken] == ["no_query"]
    assert "broken: no_query (version 1): " in repr(rules)
    found = rules.run(EVENTS, **OPTIONS, limits=fyke.Limits(matches=1_000))
    kinds = {name: type(error) for (name, _), error in found.failed.items()}
    assert kinds == {"no_query": QuerySyntaxError, "no_column": UnknownAttributeError, "too_much": LimitError}
    assert rows(found.of("good")) == rows(fyke.match(EVENTS, texts["good"], **OPTIONS))
    assert set(found.all().column("rule").to_pylist()) == {"good"}
    with pytest.raises(LimitError):
        found.of("too_much")


def test_rules_from_files(tmp_path: Path) -> None:
    (tmp_path / "pairs.fyke").write_text("-- version: 2.1\n" + TEXTS["pairs"])
    (tmp_path / "off.fyke").write_text("-- active: false\n" + TEXTS["alone"])
    (tmp_path / "notes.md").write_text("not a rule")
    for source in (tmp_path, str(tmp_path / "*.fyke")):
        rules = fyke.rules(source)
        assert [str(rule) for rule in rules] == ["pairs (version 2.1)"]
        assert [str(rule) for rule in rules.inactive] == ["off (version 1)"]
    table = pa.table({"name": list(TEXTS), "text": list(TEXTS.values())})
    pq.write_table(table, tmp_path / "rules.parquet")
    assert len(fyke.rules(tmp_path / "rules.parquet")) == len(TEXTS)
    assert len(fyke.rules(table.to_pandas())) == len(TEXTS)


X = {"name": "a", "text": "x"}


@pytest.mark.parametrize(
    "source, error, text",
    [
        ([X, X], RuleError, "two active rules have the name 'a' and the version '1'"),
        ([X | {"name": None}], RuleError, "rule 1 has no name, found None"),
        ([{"nam": "a", "text": "x"}], InputError, "the table of rules has no column 'name'. Did you mean"),
        ([X | {"active": "yes"}], RuleError, "active of the rule 'a' is true or false"),
        ({}, InputError, "there are no rules in an empty dict"),
        ("nowhere/at_all", InputError, "there are no rules in 'nowhere/at_all'"),
    ],
)
def test_what_is_no_set_of_rules(source: object, error: type[Exception], text: str) -> None:
    with pytest.raises(error) as caught:
        fyke.rules(source)
    assert str(caught.value).startswith(text)


def test_options_that_rules_do_not_take() -> None:
    rules = fyke.rules(TEXTS)
    with pytest.raises(OptionError, match="rules take no option 'timeouts'"):
        rules.run(EVENTS, **OPTIONS, timeouts=True)
    with pytest.raises(InputError, match="no column 'when'"):
        rules.run(EVENTS, time="when", type="kind")
