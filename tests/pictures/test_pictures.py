"""What pictures show: their elements, where these stand, and that no text is cut or covered by another."""

from __future__ import annotations

import pickle
import sys
from datetime import datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest

import fyke
from fyke.pictures import picture as picture_module
from fyke.pictures.times import moment, ticks
from tests.diagnosis.cases import POINTS, RUN, SALE, SHOP, STAMPED, STAMPS, THEFT
from tests.pictures.drawn import Drawn

SET = """
PATTERN SEQ({C c, P+ p[], D d}, B b)
WHERE skip_till_any_match { [patient] AND c.dose > 3 AND p[i].v > p[i-1].v AND d.x = c.x }
WITHIN 10 days
"""
QUERIES = [
    "PATTERN A a",
    "PATTERN SEQ(Shelf a, ~Register b, Exit c) WHERE { [tag] AND a.price > 5 AND c.x > a.x } WITHIN 12",
    SET,
    "PATTERN SEQ(A a, OR(B b, C c), D+ d[], ~E e) WHERE { a.x > 1 AND d.len > 3 AND e.x > 3 } WITHIN 5",
    "PATTERN FUNNEL(home h, cart c, pay p) WHERE { [user] } WITHIN 10",
    "PATTERN AND(A a, B b, C c, D d, E e, F f) WITHIN 9",
    f"PATTERN SEQ({'A' * 60} a, B b) WHERE {{ a.{'x' * 80} > 1 AND b.y LIKE '%{'long ' * 60}%' }}",
    'PATTERN SEQ("a<b>&c" a, B b) WHERE { a.x = \'"<script>\' }',
    "PATTERN SEQ(~A a, B b, ~C c, D d, ~E e) WITHIN 4",
]


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("theme", ["auto", "light", "dark"])
def test_no_text_of_an_automaton_is_cut_or_covered(query: str, theme: str) -> None:
    drawn = Drawn(fyke.draw(query, theme=theme).svg)
    assert drawn.cut() == []
    assert drawn.overlapping() == []


def test_a_sequence_is_a_chain_of_states() -> None:
    drawn = Drawn(fyke.draw(QUERIES[1]).svg)
    states = [(float(each.get("cx", "")), float(each.get("cy", ""))) for each in drawn.named("state")]
    assert len(states) == 3
    assert len({y for _, y in states}) == 1
    assert drawn.words("label") == ["a: Shelf", "c: Exit"]
    assert drawn.words("conditions") == ["(1)", "(2)"]
    assert drawn.words("absent") == ["~b: Register"]
    (absence,) = drawn.named("absence")
    assert float(absence.get("x", "")) == states[1][0]
    assert float(absence.get("x", "")) + float(absence.get("width", "")) == pytest.approx(
        states[2][0], abs=0.2
    )
    assert "(1) a.price > 5" in drawn.words("note")


def test_a_set_has_a_state_for_each_downset_and_a_loop_for_an_open_group() -> None:
    drawn = Drawn(fyke.draw(SET).svg)
    assert len(drawn.named("state")) == 2**3 + 1
    assert len(drawn.named("step")) == 3 * 4 + 1
    assert len(drawn.named("loop")) == 4


def test_a_timeline_shows_events_matches_windows_and_absences_in_their_places() -> None:
    drawn = Drawn(fyke.draw(SHOP, THEFT, **POINTS).svg)
    assert drawn.words("lane-name") == ["a: Shelf", "~b: Register", "c: Exit", "other"]
    assert len(drawn.named("event")) == SHOP.num_rows
    (match,), (window,), (absence,) = (drawn.named(name) for name in ("match", "window", "absence"))
    (first, last) = [tuple(map(float, each.split())) for each in match.get("d", "")[1:].split("L")]
    assert first[0] < last[0]
    assert first[1] < last[1]
    assert float(window.get("x", "")) == pytest.approx(first[0], abs=0.2)
    left = float(absence.get("x", ""))
    assert left == pytest.approx(first[0], abs=0.2)
    assert left + float(absence.get("width", "")) == pytest.approx(last[0], abs=0.2)
    per_unit = (last[0] - first[0]) / 9
    assert float(window.get("width", "")) == pytest.approx(12 * per_unit, abs=0.5)
    assert drawn.cut() == drawn.overlapping() == []


def test_lanes_may_be_keys_or_types() -> None:
    keys = Drawn(fyke.draw(SHOP, SALE, by="key", **POINTS).svg)
    assert keys.words("lane-name") == ["t1", "t2", "t3"]
    assert len(keys.named("match")) == 2
    assert len(Drawn(fyke.draw(SHOP, SALE, by="type", **POINTS).svg).words("lane-name")) == 4
    one = Drawn(fyke.draw(SHOP, SALE, by="key", key="t3", **POINTS).svg)
    assert one.words("lane-name") == ["t3"]


def test_events_that_last_are_bars() -> None:
    brewed = pa.table({"kind": ["brew", "fill"], "since": [0, 7], "until": [5, 9]})
    drawn = Drawn(fyke.draw(brewed, "PATTERN SEQ(brew a, fill b)", time=("since", "until"), type="kind").svg)
    wide = [float(each.get("width", "")) for each in drawn.named("event")]
    assert wide[0] / wide[1] == pytest.approx(5 / 2, rel=0.01)


def test_many_events_are_thinned_and_the_picture_says_so() -> None:
    many = pa.table({"kind": ["A", "B"] * 5_000, "at": range(10_000)})
    drawn = Drawn(fyke.draw(many, "PATTERN SEQ(A a, B b) WITHIN 1", **POINTS).svg)
    assert len(drawn.named("event")) <= 400
    assert any("of 10,000 events are shown" in note for note in drawn.words("note"))
    assert any("The first 12 of 5,000 matches" in note for note in drawn.words("note"))
    assert drawn.cut() == drawn.overlapping() == []


def test_a_plan_shows_estimated_and_observed_figures() -> None:
    metrics = fyke.Metrics()
    query = THEFT.replace("{", "skip_till_any_match {")
    fyke.match(SHOP, query, metrics=metrics, **POINTS)
    told = fyke.explain(SHOP, query, metrics=metrics, **POINTS)
    drawn = Drawn(fyke.draw(told).svg)
    assert drawn.words("stage-name")[:3] == ["events", "rows", "partitions"]
    assert sorted(drawn.words("engine")) == ["automaton", "lazy_chain", "lazy_tree", "tree"]
    figures = dict(zip(drawn.words("figure"), drawn.words("observed"), strict=True))
    assert figures["rows looked at"] == "8"
    assert drawn.cut() == drawn.overlapping() == []
    bare = Drawn(fyke.draw(fyke.explain(SHOP, query, **POINTS)).svg)
    assert set(bare.words("observed")) == {""}
    assert bare.words("estimated")[0] == "8"


def test_a_diagnosis_shows_the_attempt_and_what_stood_in_its_way() -> None:
    lost = THEFT.replace("[tag]", "a.tag = c.tag")
    found = fyke.why_not(SHOP, lost, **POINTS)
    drawn = Drawn(fyke.draw(found).svg)
    assert len(drawn.named("bound")) == 2
    culprits = [each for each in drawn.named("event") if "f-bad" in (each.get("class") or "")]
    assert len(culprits) == 1
    assert drawn.cut() == drawn.overlapping() == []
    assert "<svg" in found._repr_html_()


def test_pictures_save_as_svg_png_and_html(tmp_path: Path) -> None:
    pytest.importorskip("resvg_py", reason="PNG needs the optional package resvg-py")
    made = fyke.draw(SALE)
    assert made.save(tmp_path / "a.svg").read_text().startswith("<svg")
    assert made.save(tmp_path / "a.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert "<svg" in made.save(tmp_path / "a.html").read_text()
    with pytest.raises(fyke.FykeError, match=r"saved as \.svg, \.png or \.html"):
        made.save(tmp_path / "a.pdf")
    with pytest.raises(fyke.FykeError, match="cannot be written"):
        made.save(tmp_path / "nowhere" / "a.svg")


def test_png_without_its_package_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(picture_module, "resvg", None)
    with pytest.raises(fyke.FykeError, match=r"pip install 'fyke\[png\]'"):
        fyke.draw(SALE).png()


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda: fyke.draw(5), "draw takes a pattern query"),
        (lambda: fyke.draw(SALE, theme="pink"), "theme must be one of"),
        (lambda: fyke.draw(SHOP, SALE, by="colour", **POINTS), "by must be one of"),
        (lambda: fyke.draw("SELECT at FROM [RANGE 5] A"), "draw takes a pattern query"),
        (lambda: fyke.timeline(SHOP, SALE, **POINTS).save("x.png"), r"saved as \.html"),
    ],
)
def test_what_cannot_be_drawn_is_refused(call: object, text: str) -> None:
    with pytest.raises(fyke.FykeError, match=text):
        call()  # type: ignore[operator]


def test_notebooks_show_queries_plans_metrics_programs_and_errors() -> None:
    metrics = fyke.Metrics()
    assert "nothing has run" in metrics._repr_html_()
    fyke.match(SHOP, SALE, metrics=metrics, **POINTS)
    assert "<td" in metrics._repr_html_()
    assert "<b>PATTERN</b> SEQ(Shelf a" in fyke.parse(SALE)._repr_html_()
    assert "<b>SELECT</b>" in fyke.parse("SELECT at FROM [RANGE 5] A")._repr_html_()
    assert "normal form" in fyke.explain(SHOP, SALE, **POINTS)._repr_html_()
    assert "Program of 1 query" in fyke.program(f"Sale: {SALE}")._repr_html_()
    with pytest.raises(fyke.FykeError) as caught:
        fyke.parse("PATTERN SEQ(A a, <b>)")
    assert "&lt;b&gt;" in caught.value._repr_html_()


CLAUSE = "MATCH_RECOGNIZE (PARTITION BY tag ORDER BY at PATTERN (a b) DEFINE b AS b.kind = 'Exit')"


def test_notebooks_show_clauses_and_plans_in_words() -> None:
    clause = fyke.parse(CLAUSE)._repr_html_()
    assert "<b>MATCH_RECOGNIZE</b> (" in clause
    assert "  <b>PARTITION</b> BY tag" in clause
    assert "  <b>DEFINE</b>" in clause
    for query, options in ((CLAUSE, {}), ("SELECT at FROM [RANGE 5] Shelf", {"time": "at", "type": "kind"})):
        told = fyke.explain(SHOP, query, **options)
        assert told._repr_html_().startswith("<pre")
        assert type(pickle.loads(pickle.dumps(told))) is type(told)


def test_notebooks_show_rules_and_their_results() -> None:
    table = [
        {"name": "sale", "text": SALE},
        {"name": "old", "text": SALE, "active": False},
        {"name": "odd", "text": "PATTERN SEQ(A a <b>)"},
    ]
    rules = fyke.rules(table)
    shown = rules._repr_html_()
    assert "PATTERN SEQ(Shelf a" in shown
    assert shown.count("<tr>") == 4
    assert "not active" in shown
    assert "broken: " in shown
    assert "&lt;b&gt;" in shown
    results = rules.run(SHOP, **POINTS)
    told = results._repr_html_()
    assert told.count("<tr>") == 3
    counts = results.metrics()["sale", "1"]
    for each in ("sale", counts["matches"], counts["events"]):
        assert f">{each}</td>" in told


def test_explanations_are_texts() -> None:
    told = fyke.explain(STAMPED, RUN, **STAMPS)
    assert isinstance(told, str)
    assert told.startswith("PATTERN")


def test_ticks_of_times() -> None:
    start = datetime(2026, 3, 1, 8)
    seconds = int((start - datetime(1970, 1, 1)) / timedelta(seconds=1))
    found = ticks(seconds, seconds + 7200, 10**9, True, 5)
    assert [text for _, text in found] == ["2026-03-01 08:00", "08:30", "09:00", "09:30", "10:00"]
    assert [text for _, text in ticks(0, 38, None, False, 5)] == ["0", "10", "20", "30"]
    assert moment(1_500, 10**6) == "1970-01-01 00:00:01.5"
    assert len(ticks(-(2**62), 2**62, 1, True, 5)) < 20
    assert sys.getsizeof(found) < 10_000
