"""Rows as letters, matches as labels: ``found("ABB", "A B+")`` is ``["0:ABB"]``."""

from __future__ import annotations

import re
from collections.abc import Callable

import pyarrow as pa

from fyke import reference

Match = Callable[[pa.Table, str], pa.Table]


def letters(text: str) -> pa.Table:
    """Return a row for each letter, with its position."""
    kinds = pa.array(list(text), pa.string())
    return pa.table({"i": pa.array(range(len(text)), pa.int64()), "v": kinds})


def found(
    text: str, pattern: str, clauses: str = "", define: str = "", match: Match = reference.match
) -> list[str]:
    """Return the matches of a pattern whose variables stand for rows of their letter; ``R`` for any row."""
    variables = dict.fromkeys(re.findall(r"\b[A-Z]\b", pattern.replace("PERMUTE", "")))
    own = dict(re.findall(r"([A-Z]) AS ([^;]+)", define))
    conditions = {name: own.get(name, f"v = '{name}'") for name in variables if name != "R"}
    defined = ", ".join(f"{name} AS {condition}" for name, condition in conditions.items())
    before, _, behind = clauses.partition("...")
    rows = match(
        letters(text),
        "MATCH_RECOGNIZE (ORDER BY i MEASURES FIRST(i) AS first, array_agg(CLASSIFIER()) AS labels, "
        f"MATCH_NUMBER() AS number {before} PATTERN ({pattern}) {behind} DEFINE {defined})",
    ).to_pylist()
    assert [row["number"] for row in rows] == list(range(1, len(rows) + 1))
    return ["" if not row["labels"] else f"{row['first']}:{''.join(row['labels'])}" for row in rows]
