"""Engines that were made for a plan, kept for the next table that it reads.

A rule reads table after table, and for a few rows making its engine takes as long as searching them.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from threading import Lock

from fyke.engine.engine import Engine
from fyke.plan.plan import Plan

_MOST = 256  # engines that are kept

_kept: dict[Hashable, Engine] = {}
_lock = Lock()


@contextmanager
def engine_for(plan: Plan) -> Iterator[Engine]:
    """Lend an engine for a plan, which nobody else uses in the meantime.

    Raises
    ------
    FykeError
        If the plan cannot be compiled.
    """
    key = _key(plan)
    with _lock:
        engine = _kept.pop(key, None)
    engine = engine or Engine(plan)
    yield engine
    if engine.searcher.may_stay and not plan.functions:
        with _lock:
            _kept[key] = engine
            if len(_kept) > _MOST:
                _kept.pop(next(iter(_kept)))


def _key(plan: Plan) -> Hashable:
    """Return what an engine is made of, but for functions and statistics."""
    # By identity: these parts are never changed, and since the engine holds its plan, nothing else gets the
    # identity of one of them.
    parts = (id(plan.query), id(plan.schema), id(plan.alternatives), id(plan.result))
    options = (plan.engine, plan.order, plan.output, plan.limits, plan.techniques)
    return (*parts, *options, plan.complete_windows, plan.covered)
