"""Random sets of rules: each finds what its query finds by itself, in the same order, and counts the same."""

from __future__ import annotations

import threading
from collections import Counter
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

import fyke
from fyke.engine import shared_table
from fyke.engine.input import shared_players
from fyke.engine.input.order import partition_codes, times
from fyke.engine.input.shared_players import SharedPlayers
from fyke.engine.shared_table import SharedTable
from fyke.errors import FykeError
from fyke.language.query import Query
from fyke.plan.plan import Plan
from tests.random.queries import features, queries
from tests.random.results import difference
from tests.random.streams import cases
from tests.random.test_engine_against_reference import SETTINGS


def found_alone(table: pa.Table, query: Query, options: dict[str, Any]) -> pa.Table | type[FykeError]:
    try:
        return fyke.match(table, str(query), **options)
    except FykeError as error:
        return type(error)


SHAPES = (
    "PATTERN SEQ({0} a, {1} b, {2} c) WHERE {{ [user] AND a.x < b.x }} WITHIN {3}",
    "PATTERN SEQ({0} a, ~{1} b, {2} c) WHERE {{ [user] AND c.x > 0.5 }} WITHIN {3}",
    "PATTERN SEQ({0}+ a[], {1} b) WHERE {{ [user] AND a[i].x > a[i-1].x AND a[1].x > 0.3 }} WITHIN {3}",
    "PATTERN AND({0} a, {1} b) WHERE skip_till_any_match {{ [user] AND a.x + b.x > 1.5 }} WITHIN {3}",
    "PATTERN SEQ({0} a, OR({1} b, {2} c)) WHERE {{ [user, shop] }} WITHIN {3}",
    "PATTERN SEQ({0} a, {1}? b, {2} c) WHERE {{ a.user = c.user AND c.x > 0.5 }} WITHIN {3} RETURN count(*)",
    "PATTERN SEQ({0} a, {1} b) WHERE {{ a.x + b.x > 1.9 }} WITHIN 20 EVENTS",
    "PATTERN SEQ(ANY a, {1} b) WHERE {{ [shop] AND a.x > 0.99 }} WITHIN {3}",
)


def many_events(rows: int) -> pa.Table:
    """Return events of many users, of which few have all that a rule asks for; some have no user."""
    random = np.random.default_rng(5)
    users = random.integers(0, rows // 3, rows)
    return pa.table(
        {
            "ts": np.sort(random.integers(0, 4 * rows, rows)),
            "kind": pa.array([f"k{kind}" for kind in random.integers(0, 9, rows)]),
            "user": pa.array(users, mask=users % 50 == 0).cast(pa.string()),
            "shop": random.integers(0, 3, rows),
            "x": random.random(rows),
        }
    )


def random_rules(count: int) -> dict[str, str]:
    random = np.random.default_rng(6)
    found = {}
    for number in range(count):
        kinds = [f"k{kind}" for kind in random.choice(10, 3, replace=False)]  # no event is a k9
        found[str(number)] = SHAPES[number % len(SHAPES)].format(*kinds, random.integers(50, 5000))
    return found


def check_rules(table: pa.Table, asked: list[Query], options: dict[str, Any]) -> Counter[str]:
    """Compare a set of rules with one call each, on events in any order and in that of their times."""
    seen: Counter[str] = Counter()
    last = options["time"] if isinstance(options["time"], str) else options["time"][1]
    in_time = table.take(pa.array(np.argsort(times(table[last]), kind="stable")))
    rules = fyke.rules({str(number): str(query) for number, query in enumerate(asked)})
    for events in (table, in_time):
        together = rules.run(events, **options)
        for number, query in enumerate(asked):
            alone = found_alone(events, query, options)
            if isinstance(alone, type):
                assert type(together.failed[str(number), "1"]) is alone
                seen["failed"] += 1
                continue
            rows = together.of(str(number))
            differing = difference(rows, alone)
            assert differing is None, f"{query}\n{differing}"
            if events is in_time:
                assert repr(rows.to_pylist()) == repr(alone.to_pylist())  # NaN is no NaN to Arrow
            metrics = fyke.Metrics()
            fyke.match(in_time, str(query), metrics=metrics, **options)
            counted, told = metrics.get(), together.metrics()[str(number), "1"]
            assert (told["matches"], told["events"]) == (counted["matches"], counted["events_read"])
            seen["matches"] += alone.num_rows > 0
            seen.update(set(features(query)))
    return seen


def check_random_rules(examples: int) -> Counter[str]:
    seen: Counter[str] = Counter()

    @settings(SETTINGS, max_examples=examples, derandomize=True)
    @given(cases(), st.data())
    def check(case, data) -> None:  # type: ignore[no-untyped-def]
        others = data.draw(st.lists(queries(), min_size=1, max_size=3))
        seen.update(check_rules(case.table, [case.query, *others, case.query], case.options))

    check()
    return seen


def test_rules_find_what_their_queries_find() -> None:
    seen = check_random_rules(60)
    assert min(seen["matches"], seen["failed"]) > 20, seen


def test_many_rules_over_many_keys() -> None:
    plain, texts = many_events(3_000), random_rules(48)
    named = plain.column("kind").dictionary_encode()
    options: dict[str, Any] = {"time": "ts", "type": "kind"}
    for least in (shared_table.LEAST_ROWS, 500):
        for events in (plain, plain.set_column(1, "kind", named), plain.slice(0, 0)):
            with patch.object(shared_table, "LEAST_ROWS", least):
                together = fyke.rules(texts).run(events, **options)
            assert together.failed == {}
            assert list(together.metrics()) == [(name, "1") for name in texts]
            alone = {name: fyke.match(events, text, **options) for name, text in texts.items()}
            for name, text in texts.items():
                assert together.of(name).equals(alone[name]), text
            some = sum(rows.num_rows > 0 for rows in alone.values())
            assert some > 24 or events.num_rows == 0


def test_keys_are_numbered_once_where_that_pays() -> None:
    plain, texts = many_events(3_000), random_rules(48)
    options: dict[str, Any] = {"time": "ts", "type": "kind"}
    for count in (1, 48):
        some = dict(list(texts.items())[:count])
        with patch.object(shared_players, "partition_codes", wraps=partition_codes) as numbered:
            fyke.rules(some).run(plain, **options)
        whole = [call for call in numbered.call_args_list if call.args[0].num_rows == plain.num_rows]
        keys = {call.args[1] for call in whole}
        assert len(whole) == len(keys)
        assert (("user",) in keys) == (count == 48), keys


def test_rules_with_a_common_beginning() -> None:
    events = many_events(3_000)
    begin = "PATTERN SEQ(k0 a, k1 b, {0} c) WHERE {{ [user] AND a.x < 0.7 AND a.x < b.x }} WITHIN 9000"
    texts = {kind: begin.format(kind) for kind in ("k2", "k3", "k4", "k5", "k6", "k9")}
    options: dict[str, Any] = {"time": "ts", "type": "kind"}
    alone = {name: fyke.match(events, text, **options) for name, text in texts.items()}
    assert sum(rows.num_rows > 0 for rows in alone.values()) == 5
    for most, looked_up in ((shared_players._MOST_KEYS, 8), (0, 0)):
        seen: list[SharedPlayers] = []

        def made(*arguments: Any, seen: list[SharedPlayers] = seen) -> SharedPlayers:
            seen.append(SharedPlayers(*arguments))
            return seen[-1]

        with (
            patch.object(shared_players, "_MOST_KEYS", most),
            patch.object(shared_table, "SharedPlayers", made),
        ):
            together = fyke.rules(texts).run(events, **options)
        assert [len(each._candidates) for each in seen] == [looked_up]  # a, b and one c for each rule
        for name in texts:
            assert together.of(name).equals(alone[name]), name


def test_rules_side_by_side() -> None:
    events, texts = many_events(3_000), random_rules(24)
    texts["too much"] = "PATTERN SEQ(k0+ a[], k1 b) WHERE skip_till_any_match { a.x > 0 } WITHIN 5000"
    options: dict[str, Any] = {"time": "ts", "type": "kind", "limits": fyke.Limits(matches=10_000)}
    one = fyke.rules(texts).run(events, threads=1, **options)
    seen = set()

    def noted(shared: SharedTable, plan: Plan, threads: int = 1) -> Any:
        seen.add((threads, threading.current_thread().name.startswith("fyke")))
        return run(shared, plan, threads)

    run = SharedTable.run
    with patch.object(shared_table, "MANY_ROWS", 1_000), patch.object(SharedTable, "run", noted):
        three = fyke.rules(texts).run(events, threads=3, **options)
    assert seen == {(1, True), (3, False)}
    assert list(three.failed) == list(one.failed) == [("too much", "1")]
    assert three.all().equals(one.all())
