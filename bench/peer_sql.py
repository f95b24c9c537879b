"""The SQL that a good user would write for the patterns of :mod:`bench.peer_cases`, for DuckDB and for Spark.

Each pattern has one or two ways, and the faster one counts.  Rows of the result are the integers that
:func:`bench.peer_cases.numbers` makes of Fyke's matches.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bench.peer_cases import Case


@dataclass(frozen=True, slots=True)
class Dialect:
    """What is said differently."""

    last: Callable[[str], str]  # value that is not null so far, in a window
    either: Callable[[str, str], str]  # one row for each of two values
    asof: bool


DUCKDB = Dialect(
    last=lambda value: f"last_value({value} IGNORE NULLS)",
    either=lambda one, other: f"unnest([{one}, {other}])",
    asof=True,
)
SPARK = Dialect(
    last=lambda value: f"last_value({value}, true)",
    either=lambda one, other: f"explode(array({one}, {other}))",
    asof=False,
)
_AHEAD = "(PARTITION BY key ORDER BY t DESC ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)"


def ways(case: Case, dialect: Dialect) -> dict[str, str]:
    """Return the queries for a case by what they use."""
    found = _WAYS[case.shape](case.window, dialect)
    return found if dialect.asof else {name: sql for name, sql in found.items() if "ASOF" not in sql}


def _next(window: int, dialect: Dialect) -> dict[str, str]:
    asof = f"""
        WITH a AS (SELECT key, t FROM events WHERE kind = 'A'),
             b AS (SELECT key, t FROM events WHERE kind = 'B'),
             c AS (SELECT key, t FROM events WHERE kind = 'C'),
             ab AS (SELECT a.key, a.t AS a, b.t AS b FROM a ASOF JOIN b ON a.key = b.key AND a.t < b.t)
        SELECT ab.a, ab.b, c.t AS c FROM ab ASOF JOIN c ON ab.key = c.key AND ab.b < c.t
        WHERE c.t - ab.a <= {window}"""
    ahead = f"""
        WITH known AS (
                 SELECT t, kind, key, {dialect.last("CASE WHEN kind = 'C' THEN t END")} OVER {_AHEAD} AS c
                 FROM events WHERE kind IN ('A', 'B', 'C')),
             ahead AS (
                 SELECT t AS a, kind,
                        {dialect.last("CASE WHEN kind = 'B' THEN t END")} OVER {_AHEAD} AS b,
                        {dialect.last("CASE WHEN kind = 'B' THEN coalesce(c, -1) END")} OVER {_AHEAD} AS c
                 FROM known)
        SELECT a, b, c FROM ahead WHERE kind = 'A' AND c >= 0 AND c - a <= {window}"""
    return {"ASOF joins": asof, "window functions": ahead}


def _absence(window: int, dialect: Dialect) -> dict[str, str]:
    asof = f"""
        WITH a AS (SELECT key, t FROM events WHERE kind = 'A'),
             b AS (SELECT key, t FROM events WHERE kind = 'B'),
             c AS (SELECT key, t FROM events WHERE kind = 'C'),
             ab AS (SELECT a.key, a.t AS a, b.t AS b FROM a ASOF JOIN b ON a.key = b.key AND a.t < b.t)
        SELECT ab.a, ab.b FROM ab ASOF LEFT JOIN c ON ab.key = c.key AND ab.a < c.t
        WHERE ab.b - ab.a <= {window} AND (c.t IS NULL OR c.t > ab.b)"""
    ahead = f"""
        WITH ahead AS (
            SELECT t AS a, kind,
                   {dialect.last("CASE WHEN kind = 'B' THEN t END")} OVER {_AHEAD} AS b,
                   {dialect.last("CASE WHEN kind = 'C' THEN t END")} OVER {_AHEAD} AS c
            FROM events WHERE kind IN ('A', 'B', 'C'))
        SELECT a, b FROM ahead WHERE kind = 'A' AND b - a <= {window} AND (c IS NULL OR c > b)"""
    return {"ASOF joins": asof, "window functions": ahead}


def _any(window: int, dialect: Dialect, *, keyed: bool = True) -> dict[str, str]:
    """Join within buckets of time as long as the window: two neighbours hold all that a window holds."""
    key = "{0}.key = {1}.key AND " if keyed else ""
    bucket = f"CAST(floor(t / {window + 1}) AS BIGINT)"
    joins = f"""
        WITH a AS (SELECT key, t, x, {bucket} AS k FROM events WHERE kind = 'A'),
             b AS (SELECT key, t, x, y, {bucket} AS k FROM events WHERE kind = 'B'),
             c AS (SELECT key, t, y, {bucket} AS k FROM events WHERE kind = 'C'),
             near AS (SELECT *, {dialect.either("k", "k + 1")} AS m FROM a),
             ab AS (SELECT near.key, near.t AS a, b.t AS b, b.x, near.k FROM near JOIN b
                    ON {key.format("near", "b")}near.m = b.k AND near.t < b.t AND b.t - near.t <= {window}
                    AND near.x < b.y * 0.2),
             then AS (SELECT *, {dialect.either("k", "k + 1")} AS m FROM ab)
        SELECT then.a, then.b, c.t AS c FROM then JOIN c
        ON {key.format("then", "c")}then.m = c.k AND then.b < c.t AND c.t - then.a <= {window}
        AND then.x < c.y * 0.2""".replace("then", "pairs")
    return {"joins": joins}


def _rising(window: int, _: Dialect) -> dict[str, str]:
    """Number the stretches of rising prices; b stands right behind a part of a stretch."""
    islands = f"""
        WITH falls AS (
                 SELECT key, t, x, y, row_number() OVER (PARTITION BY key ORDER BY t) AS n,
                        CASE WHEN x > lag(x) OVER (PARTITION BY key ORDER BY t) THEN 0 ELSE 1 END AS falls
                 FROM events),
             stretches AS (
                 SELECT *, sum(falls) OVER (PARTITION BY key ORDER BY t) AS stretch FROM falls),
             ends AS (
                 SELECT *, lag(stretch) OVER (PARTITION BY key ORDER BY t) AS before FROM stretches)
        SELECT a.t AS a, b.n - a.n AS length, b.t AS b FROM stretches AS a JOIN ends AS b
        ON a.key = b.key AND a.stretch = b.before AND a.n < b.n
        WHERE a.x % 500 = 0 AND b.y < 150 AND b.t - a.t <= {window}"""
    return {"islands and a join": islands}


def _keyless(window: int, dialect: Dialect) -> dict[str, str]:
    return _any(window, dialect, keyed=False)


_WAYS = {
    "next": _next,
    "absence": _absence,
    "any": _any,
    "keyless": _keyless,
    "hot": _any,
    "rising": _rising,
}
