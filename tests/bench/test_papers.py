"""The table of the papers' experiments: every pattern is one, and lines are judged by the shape reported."""

from __future__ import annotations

import re

from bench.__main__ import BENCHMARKS
from bench.papers import EXPERIMENTS, rows
from bench.record import Record
from bench.report import Line, Section


def merging(*values: float) -> Record:
    lines = tuple(
        Line(f"merging, p{k}, W 500: search", value, None, "x") for k, value in enumerate(values, 1)
    )
    return Record("nfab", (Section("nfab", lines),))


def row(record: Record) -> list[str]:
    (found,) = (each for each in rows([record]) if each[0].startswith("[N] 6, experiment 5"))
    return found


def test_every_experiment_names_a_benchmark_and_a_pattern() -> None:
    assert {each.benchmark for each in EXPERIMENTS} <= set(BENCHMARKS)
    assert all(re.compile(each.lines) for each in EXPERIMENTS)
    assert {each.paper for each in EXPERIMENTS} == set("NSTL")
    numbers = {int(each.where[-1]) for each in EXPERIMENTS if each.paper == "N"}
    assert numbers == {1, 2, 3, 4, 5, 6}


def test_lines_of_the_shape_agree_and_others_say_why() -> None:
    assert row(merging(1.5, 2.0))[2:] == [
        "1.50 to 2.00 x (2 lines such as merging, p1, W 500: search)", "at least 1.30", "agrees", "",
    ]  # fmt: skip
    assert row(merging(1.5, 0.9))[4:] == ["1 of 2", EXPERIMENTS[7].why]
    assert row(merging(0.9))[4] == "differs"


def test_a_reason_is_given_only_for_the_lines_it_is_about() -> None:
    lines = [
        Line(f"{name}: conditions evaluated, eager / lazy", value, None, "x")
        for name, value in (("SEQ of 3, 200", 3.0), ("SEQ of 4, 200", 50.0), ("SEQ of 4, 50", 2.0))
    ]

    def reason(kept: list[Line]) -> str:
        found = rows([Record("lazy-work", (Section("lazy-work", kept),))])
        return next(each[5] for each in found if "computations per event" in each[0])

    known = "In a long window three variables have many matches, which both engines must evaluate."
    unknown = "Not explained: SEQ of 4, 50: conditions evaluated, eager / lazy."
    assert reason(lines[1:2]) == ""
    assert reason(lines[:2]) == known
    assert reason(lines[1:]) == unknown
    assert reason(lines) == f"{known} {unknown}"


def test_what_a_paper_reports_as_its_best_case_is_judged_by_the_best_line() -> None:
    lines = tuple(
        Line(f"two-phase, P_set, {n} variables: time", 10.0**k, None, "x") for k, n in enumerate((4, 5, 6))
    )
    (found,) = (
        each
        for each in rows([Record("sets", (Section("sets", lines),))])
        if "candidate windows, for sets" in each[0]
    )
    assert found[3:] == ["at least 100.00, at best", "agrees", ""]


def test_an_experiment_without_lines_is_not_measured() -> None:
    assert row(Record("nfab"))[2] == "not measured in this run"
    assert list(rows([Record("memory")])) == []
