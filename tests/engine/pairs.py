"""A condition on two values: the smallest question to the engine, put to its naive twin as well.

The values stand in two events, where the kernels decide, and in one, where the row decides alone.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

import fyke
from fyke import reference


def holds(condition: str, left: Any, right: Any, kind: pa.DataType, other: pa.DataType | None = None) -> bool:
    """Say whether ``condition`` holds for an event with ``a.x = left`` and another with ``b.y = right``."""
    kinds = (kind, other or kind)
    across = pa.table(
        {
            "kind": ["A", "B"],
            "t": [1, 2],
            "x": pa.array([left, None], kinds[0]),
            "y": pa.array([None, right], kinds[1]),
        }
    )
    alone = pa.table(
        {"kind": ["A"], "t": [1], "x": pa.array([left], kinds[0]), "y": pa.array([right], kinds[1])}
    )
    found = _found(across, f"PATTERN SEQ(A a, B b) WHERE {{ {condition} }} WITHIN 10 RETURN a.t")
    found |= _found(
        alone,
        f"PATTERN A a WHERE {{ {condition.replace('b.', 'a.')} }} WITHIN 10 RETURN a.t",
        "in one event: ",
    )
    assert len(set(found.values())) == 1, f"{condition} for {left!r} and {right!r}: {found}"
    return 1 in found.values()


def _found(table: pa.Table, query: str, where: str = "") -> dict[str, int]:
    return {
        where + name: match(table, query, time="t", type="kind").num_rows
        for name, match in (("engine", fyke.match), ("reference", reference.match))
    }
