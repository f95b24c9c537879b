"""Partitioning by an equality chain changes no match: the judge is the reference, with and without it."""

from __future__ import annotations

import random
from dataclasses import replace

import pyarrow as pa
import pytest

from fyke.language.ast import Strategy
from fyke.language.sase import parse
from fyke.logical.analyse import analyse
from fyke.logical.normal_form import NormalForm
from fyke.logical.partition import drop_implied
from fyke.logical.schema import make_schema
from fyke.reference import Occurrence, matches

SCHEMA = make_schema({"t": pa.int64(), "kind": pa.string(), "x": pa.int64()}, time="t", type_column="kind")

CHAINS = [
    ("SEQ(A a, B b)", "a.x = b.x"),
    ("SEQ(A a, B b, C c)", "a.x = b.x AND b.x = c.x"),
    ("SEQ(A a, B b, C c)", "a.x = c.x AND b.x = c.x"),
    ("AND(A a, B b)", "a.x = b.x"),
    ("AND(A a, B b, C c)", "a.x = b.x AND b.x = c.x"),
    ("SEQ({A a, B b}, C c)", "a.x = b.x AND b.x = c.x"),
    ("SEQ(A a, B+ b[])", "a.x = b.x"),
    ("SEQ(A a, B+ b[], C c)", "a.x = b.x AND c.x = a.x"),
    ("SEQ(A a, B+ b[], C c)", "a.x = c.x AND b.x = c.x"),
    ("SEQ(A+ a[], B b)", "a.x = b.x"),
    ("SEQ(A+ a[], B b)", "a.x = b.x AND a[i].x = a[i-1].x"),
    ("A+ a[]", "a[i].x = a[i-1].x"),
    ("A{2,} a[]", "a[i].x = a[i-1].x"),
    ("{A a, B+ b[]}", "a.x = b.x"),
    ("{A a, B+ b[]}", "a.x = b.x AND b[i].x = b[i-1].x"),
    ("SEQ(A a, ~B b, C c)", "a.x = c.x AND b.x = a.x"),
    ("SEQ(A a, ~B b, C c)", "a.x = b.x AND b.x = c.x"),
    ("SEQ(A a, B b, ~C c)", "a.x = b.x AND c.x = a.x"),
    ("SEQ(A a, ~SEQ(B b, C c), A d)", "a.x = d.x AND b.x = a.x AND c.x = b.x"),
    ("SEQ(A a, OR(B b, C c))", "a.x = b.x AND a.x = c.x"),
    ("SEQ(A a, B? b, C c)", "a.x = b.x AND a.x = c.x"),
]


def stream(seed: int) -> list[Occurrence]:
    """Return eight events of three types in two partitions, some with a null in place of the key."""
    chosen = random.Random(seed)
    events = []
    for position in range(8):
        values = {"t": position, "x": chosen.choice((1, 1, 2, 2, None))}
        events.append(Occurrence(position, chosen.choice("ABC"), position, position, None, values))
    return events


def found(form: NormalForm, events: list[Occurrence], window: int | None) -> list[dict[str, tuple[int, ...]]]:
    return [match.positions for match in matches(form, events, window)]


def parted(form: NormalForm) -> NormalForm:
    """Return the form that works partition by partition instead of checking the chain."""
    alternatives = tuple(drop_implied(alternative, form.split) for alternative in form.alternatives)
    return replace(form, alternatives=alternatives, partition=form.split)


@pytest.mark.parametrize("strategy", Strategy, ids=lambda strategy: strategy.value)
@pytest.mark.parametrize("window", ["5", "5 EVENTS"])
@pytest.mark.parametrize("pattern, conditions", CHAINS)
def test_partitioning_changes_no_match(
    pattern: str, conditions: str, window: str, strategy: Strategy
) -> None:
    text = f"PATTERN {pattern} WHERE {strategy.value} {{ {conditions} }} WITHIN {window}"
    analysed = analyse(parse(text), SCHEMA)
    for seed in range(12):
        events = stream(seed)
        whole = found(analysed.form, events, analysed.window)
        assert found(parted(analysed.form), events, analysed.window) == whole
