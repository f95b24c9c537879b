"""A fixture for pytest: name this module in ``pytest_plugins`` of your ``conftest.py``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from fyke.language.query import Query
from fyke.language.row_patterns import RowPatternQuery
from fyke.testing.expect import assert_same_as_batch
from fyke.testing.replay import Replay, replay
from fyke.testing.timeline import Timeline


@pytest.fixture
def fyke_replay() -> Iterator[Callable[..., Replay]]:
    """Replay timelines; after the test, each that ended without late events must equal the batch."""
    seen: list[Replay] = []

    def run(
        query: str | Query | RowPatternQuery, timeline: str | Timeline, *, end: bool = True, **options: Any
    ) -> Replay:
        found = replay(query, timeline, end=end, **options)
        if end and not found.late.num_rows:
            seen.append(found)
        return found

    yield run
    for found in seen:
        assert_same_as_batch(found)
