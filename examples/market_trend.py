"""Which stocks climbed for a while and then lost their buyers?  One query, in text and in Python.

Needs no Spark: the ticks are an Arrow table.  Run it with ``python examples/market_trend.py``.
"""

from __future__ import annotations

import argparse

import fyke
from fyke import pattern as p
from fyke.datasets import stocks

TREND = """
    PATTERN SEQ(Stock{10,} up[], Stock drop)
    WHERE skip_till_next_match {
        [symbol]
        AND up[1].volume > 900
        AND up[i].price > avg(up[..i-1].price)
        AND drop.volume < 20% * avg(up[].volume)
    }
    WITHIN 1 hour
    RETURN up.len AS ticks, up[1].price AS opening, up[up.len].price AS closing, drop.volume AS volume
"""


def in_python() -> fyke.Query:
    """Return the same query, built piece by piece."""
    up, drop = p.variables("up drop")
    return p.query(
        p.seq(p.event("Stock", "up").at_least(10), p.event("Stock", "drop")),
        where=[
            p.same("symbol"),
            up.first.volume > 900,
            up.each.price > p.avg(up.before.price),
            drop.volume < 0.2 * p.avg(up.all.volume),
        ],
        within="1 hour",
        returns=[
            up.len.alias("ticks"),
            up.first.price.alias("opening"),
            up.last.price.alias("closing"),
            drop.volume.alias("volume"),
        ],
    )


def main() -> None:
    """Print the trends that do not overlap."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    assert fyke.parse(TREND) == in_python()
    ticks = stocks.generate(chosen.rows, chosen.seed, symbols=20)
    found = fyke.match(ticks, in_python(), time="ts", type="kind", output="non_overlap")
    print(f"{chosen.rows:,} ticks of 20 symbols, {found.num_rows} trends")
    for row in found.sort_by("start").slice(0, 10).to_pylist():
        print(
            f"  symbol {row['symbol']:2}, {row['start']:%d %b %H:%M} to {row['end']:%H:%M}: "
            f"{row['ticks']:2} ticks from {row['opening']} to {row['closing']}, volume {row['volume']}"
        )


if __name__ == "__main__":
    main()
