"""The reference of the language runs an example of every construct: of every rule of its grammar."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from lark import Lark, Tree

import fyke
from fyke.language import sase
from tests.docs.blocks import ROOT, blocks, folder_of_its_own, run

PAGE = ROOT / "docs" / "language.md"
NOT_SHOWN = {"conditions", "items"}  # texts that the builder takes
WITH_SEVERAL_PARTS = {"disjunction", "conjunction", "sum", "product"}  # nodes only then


def constructs(grammar: Lark) -> set[str]:
    """Return the names that nodes of a tree can have."""
    names = {str(rule.alias or rule.origin.name) for rule in grammar.rules}
    inlined = {str(rule.origin.name) for rule in grammar.rules if rule.options.expand1 and not rule.alias}
    shown = {name for name in names if not name.startswith("_")}
    return (shown - inlined - NOT_SHOWN) | WITH_SEVERAL_PARTS


def queries(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Yield the texts of all queries that the page runs."""
    asked: list[str] = []
    match = fyke.match

    def noted(events: Any, query: Any, **options: Any) -> Any:
        asked.append(str(query))
        return match(events, query, **options)

    monkeypatch.setattr(fyke, "match", noted)
    namespace: dict[str, Any] = {"__name__": "page"}
    with folder_of_its_own():
        for block in blocks(PAGE):
            run(block, PAGE, namespace)
    return iter(asked)


def test_every_rule_of_the_grammar_has_an_example(monkeypatch: pytest.MonkeyPatch) -> None:
    grammar = sase._grammar()
    seen: set[str] = set()
    for text in queries(monkeypatch):
        tree: Tree[Any] = grammar.parse(re.sub(r";\s*(--.*)?$", "", text), start="start")
        seen |= {str(node.data) for node in tree.iter_subtrees()}
    missing = constructs(grammar) - seen
    assert missing == set(), f"docs/language.md has no example of {sorted(missing)}"
