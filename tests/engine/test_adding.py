"""CONTRIBUTING.md promises that an engine is two entries in tables, and an output format two."""

from __future__ import annotations

import ast
from collections.abc import Sequence

import pyarrow as pa
import pytest

import fyke
from fyke.engine.automaton.searcher import AutomatonSearcher
from fyke.engine.engines import SEARCHERS
from fyke.engine.found import Found
from fyke.engine.output.builders import BUILDERS
from fyke.engine.output.rows import ResultBuilder
from fyke.engine.state_bytes import decode_state, encode_state
from fyke.language.ast import Strategy
from fyke.plan.cost import CostModel, Work
from fyke.plan.engine_costs import CostedEngine
from fyke.plan.engines import ENGINES, Capability
from fyke.plan.outputs import OUTPUTS, OutputFormat
from fyke.plan.plan import Plan
from tests.architecture.test_imports import modules, top, tree
from tests.random.test_advance import Stream

EVENTS = pa.table({"kind": list("ABABB"), "t": range(5)})
QUERY = "PATTERN SEQ(A a, B b) WHERE skip_till_any_match { a.t < b.t } WITHIN 9"


class NoopSearcher(AutomatonSearcher):
    """A searcher of a new name, which searches as the automaton does."""


def cost_of_nothing(models: Sequence[CostModel], read: float, pull: bool) -> CostedEngine:
    return CostedEngine("noop", "", Work(0.0, 0.0, 0.0))


@pytest.fixture
def noop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ENGINES, "noop", Capability(frozenset({Strategy.ANY}), 1.0, cost_of_nothing))
    monkeypatch.setitem(SEARCHERS, "noop", NoopSearcher)


@pytest.mark.usefixtures("noop")
def test_an_engine_is_an_entry_in_each_of_two_tables() -> None:
    expected = fyke.match(EVENTS, QUERY, time="t", type="kind", engine="automaton")
    for engine in ("noop", "auto"):
        found = fyke.match(EVENTS, QUERY, time="t", type="kind", engine=engine)
        assert sorted(found["match_id"].to_pylist()) == sorted(expected["match_id"].to_pylist())
    assert found.num_rows == 5
    assert "chosen   noop" in fyke.explain(EVENTS, QUERY, time="t", type="kind")


@pytest.mark.usefixtures("noop")
def test_errors_know_a_new_engine() -> None:
    with pytest.raises(fyke.FykeError, match=r"'auto', 'automaton', .*, 'noop', found 'nope'"):
        fyke.match(EVENTS, QUERY, time="t", type="kind", engine="nope")
    with pytest.raises(fyke.FykeError, match="engine 'noop' does not evaluate skip_till_next_match"):
        fyke.match(EVENTS, "PATTERN SEQ(A a, B b)", time="t", type="kind", engine="noop")


@pytest.mark.usefixtures("noop")
def test_the_state_of_a_new_engine_is_data() -> None:
    stream = Stream(EVENTS.schema, fyke.parse(QUERY), "t", engine="noop")
    stream.advance(EVENTS.slice(0, 3), 2)
    data = encode_state(stream.door, stream.state)
    stream.state = decode_state(stream.door, data, stream.state.rows.schema)
    stream.advance(EVENTS.slice(3), None)
    assert stream.result().num_rows == 5


class LastBuilder(ResultBuilder):
    """The rows of a new format: of each match only its identifier."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan)
        self.schema = pa.schema([self.schema.field("match_id")])

    def rows(self, found: Found) -> pa.Table:
        return super().rows(found).select(["match_id"])


def test_an_output_format_is_an_entry_in_each_of_two_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(OUTPUTS, "ids", OutputFormat(independent=True, returns=False))
    monkeypatch.setitem(BUILDERS, "ids", LastBuilder)
    expected = fyke.match(EVENTS, QUERY, time="t", type="kind")
    for engine in ENGINES:
        found = fyke.match(EVENTS, QUERY, time="t", type="kind", engine=engine, output="ids")
        assert found.column_names == ["match_id"]
        assert sorted(found["match_id"].to_pylist()) == sorted(expected["match_id"].to_pylist())
    with pytest.raises(fyke.FykeError, match=r"output='ids' .* has RETURN"):
        fyke.match(EVENTS, f"{QUERY} RETURN a.t", time="t", type="kind", output="ids")


def test_every_format_has_a_builder_and_every_engine_a_searcher() -> None:
    assert BUILDERS.keys() == OUTPUTS.keys()
    assert SEARCHERS.keys() == ENGINES.keys()


def test_no_format_is_asked_for_by_name() -> None:
    """What a format means is said in its table: nothing else compares with its name."""
    wrong = [
        f"{module}:{node.lineno}"
        for module in modules()
        if top(module) in ("plan", "engine", "spark", "call", "api")
        for node in ast.walk(tree(module))
        if isinstance(node, ast.Compare)
        for side in (node.left, *node.comparators)
        if isinstance(side, ast.Constant) and side.value in OUTPUTS
    ]
    assert wrong == []
