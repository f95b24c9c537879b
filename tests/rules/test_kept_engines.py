"""Engines of rules are made once for many tables, unless something else than the rule shapes them."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import fyke
from fyke.engine import kept_engines
from fyke.engine.engine import Engine
from tests.rules.test_tables import EVENTS, OPTIONS, TEXTS


def made(texts: dict[str, str], **options: Any) -> list[int]:
    """Return how many engines each of three runs makes, the last one over other events."""
    rules, counts = fyke.rules(texts), []
    for events in (EVENTS, EVENTS, EVENTS.slice(40)):
        with patch.object(kept_engines, "Engine", wraps=Engine) as engines:
            found = rules.run(events, **OPTIONS, **options)
        counts.append(engines.call_count)
        for name, text in texts.items():
            assert found.of(name).equals(fyke.match(events, text, **OPTIONS, **options)), name
    return counts


def test_an_engine_is_made_once() -> None:
    texts = {name: f"{TEXTS[name]} -- kept" for name in ("pairs", "absent", "groups")}
    assert made(texts) == [3, 0, 0]


def test_an_engine_with_functions_is_made_for_each_table() -> None:
    text = "PATTERN SEQ(A a, B b) WHERE { [k] AND near(a.x, b.x) > 0 } WITHIN 9"
    assert made({"near": text}, functions={"near": lambda x, y: 3.0 - abs(x - y)}) == [1, 1, 1]


def test_a_tree_is_made_for_each_table() -> None:
    text = "PATTERN SEQ(A a, B b, D d) WHERE skip_till_any_match { [k] AND a.x > b.x } WITHIN 12"
    assert made({"tree": text}, engine="tree") == [1, 1, 1]


def test_a_limit_of_one_run_does_not_stay() -> None:
    text = {"any": "PATTERN SEQ(A a, B b, C c) WHERE skip_till_any_match { [k] } WITHIN 30"}
    rules = fyke.rules(text)
    few = rules.run(EVENTS, **OPTIONS, limits=fyke.Limits(matches=2))
    assert list(few.failed) == [("any", "1")]
    again = rules.run(EVENTS, **OPTIONS)
    assert again.of("any").equals(fyke.match(EVENTS, text["any"], **OPTIONS))
