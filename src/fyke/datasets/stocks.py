"""Stock ticks whose prices walk at random ([N] section 6)."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from fyke.datasets.columns import BEGINNING, SECOND, Integers, labels, require, timestamps

QUERY = """\
PATTERN SEQ(Stock+ a[], Stock b)
WHERE skip_till_next_match(a[], b) {
    [symbol] AND a[1].price % 500 = 0 AND a[i].price > a[i-1].price AND b.volume < 150
}
WITHIN 500 EVENTS
"""
HIGHEST = 1000


def generate(
    rows: int, seed: int = 0, *, symbols: int = 2, rising: float = 0.7, seconds: float = 1.0
) -> pa.Table:
    """Generate ``rows`` ticks: ``id``, ``kind`` (always Stock), ``symbol``, ``price``, ``volume``, ``ts``.

    Symbol (1 to ``symbols``) and volume (1 to 1000) are uniform.  The price of a symbol begins anywhere
    and then moves by one: up with probability ``rising``, down or not at all with half of the rest each.
    The paper gives the range 1 to 1000 and not how a rising price stays in it.  Here prices form a ring:
    after 1000 comes 1.  A wall at 1000 would hold the price there for good and change the probabilities;
    the ring keeps them, up to one step in 1000 / (1.5 * rising - 0.5), and every price comes up equally
    often, 500 and 1000 too, at which the paper's queries start.

    Parameters
    ----------
    rows
        Number of ticks, exactly; at least 1.
    seed
        Seed of the random generator: the same parameters and seed give the same table.
    symbols
        Number of symbols; the paper takes 2.
    rising
        Probability that the price of a tick is above that of the symbol's tick before it, 0 to 1.
    seconds
        Time between two ticks.

    Examples
    --------
    >>> generate(3).column_names
    ['id', 'kind', 'symbol', 'price', 'volume', 'ts']
    """
    require(rows >= 1, f"rows must be at least 1, found {rows}")
    require(symbols >= 1, f"symbols must be at least 1, found {symbols}")
    require(0 <= rising <= 1, f"rising must be from 0 to 1, found {rising}")
    require(seconds >= 1e-6, f"seconds must be at least a microsecond, found {seconds}")
    random = np.random.default_rng(seed)
    symbol = random.integers(1, symbols + 1, rows)
    chance = random.random(rows)
    step = (chance < rising).astype(np.int64) - (chance >= rising + (1 - rising) / 2)
    number = np.arange(rows)
    return pa.table(
        {
            "id": number,
            "kind": labels(np.zeros(rows, dtype=np.int64), ["Stock"]),
            "symbol": symbol,
            "price": _walk(symbol, step, random.integers(0, HIGHEST, symbols + 1)) % HIGHEST + 1,
            "volume": random.integers(1, 1001, rows),
            "ts": timestamps(BEGINNING + number * int(seconds * SECOND)),
        }
    )


def _walk(symbol: Integers, step: Integers, begin: Integers) -> Integers:
    """Return for each row where its symbol's walk stands: ``begin`` plus the symbol's steps up to here."""
    order = np.argsort(symbol, kind="stable")
    total = step[order].cumsum()
    ordered = symbol[order]
    first = np.searchsorted(ordered, ordered, side="left")
    walk = np.empty_like(total)
    walk[order] = total - (total[first] - step[order][first]) + begin[ordered]
    return walk
