"""Which cards are being tried out?  Some small payments in two cities, then a large one.

Run it with ``python examples/live/card_fraud.py``, or with ``--kafka localhost:9092``.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from feed import Feed, options, session

import fyke

TRIED_OUT = """
    PATTERN SEQ(Payment{2,} small[], Payment large)
    WHERE greedy_skip_till_next_match {
        [card]
        AND small[i].amount < 5
        AND large.amount > 500
        AND large.city != small[1].city
    }
    WITHIN 10 minutes
    RETURN small.len AS tries, large.amount AS amount, large.city AS city, large.ts AS ts
"""
CITIES = ("Lyon", "Porto", "Turin", "Graz")
SECOND = 1_000_000


def make_payments(cards: int = 400, seed: int = 0) -> pa.Table:
    """Return half a day of payments; one card in fifty is tried out and then emptied."""
    random = np.random.default_rng(seed)
    rows = []
    for card in range(cards):
        home, clock = CITIES[card % 4], int(random.integers(0, 43_200))
        for _ in range(int(random.integers(1, 6))):
            clock += int(random.integers(300, 6_000))
            rows.append((clock, card, float(random.integers(8, 200)), home))
        if card % 50 == 7:
            for _ in range(int(random.integers(2, 5))):
                clock += int(random.integers(20, 60))
                rows.append((clock, card, float(random.integers(1, 5)), home))
            rows.append((clock + 60, card, float(random.integers(600, 3_000)), CITIES[(card + 1) % 4]))
    rows.sort()
    clocks, numbers, amounts, cities = zip(*rows, strict=True)
    return pa.table(
        {
            "ts": pa.array([clock * SECOND for clock in clocks], pa.timestamp("us", tz="UTC")),
            "kind": ["Payment"] * len(rows),
            "card": numbers,
            "amount": amounts,
            "city": cities,
        }
    )


def main() -> None:
    """Send the payments, a portion a second."""
    chosen = options(__doc__)
    spark = session("card fraud, live", chosen)
    feed = Feed(spark, make_payments(), chosen)
    # A run may start at every small payment: of those that overlap, the longest is reported.
    alerts = fyke.match(
        feed.events(), TRIED_OUT, time="ts", type="kind", output="non_overlap", watermark="5 minutes"
    )
    feed.run(alerts, "card {card}: {tries} tries, then {amount:.0f} in {city} at {ts}")
    spark.stop()


if __name__ == "__main__":
    main()
