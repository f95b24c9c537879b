"""Which accounts are under attack?  Five failures within a minute, then a success.

Run it with ``python examples/live/logins.py``, or with ``--kafka localhost:9092``.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from feed import Feed, options, session

import fyke

BROKEN_INTO = """
    PATTERN SEQ(Failure{5,} f[], Success s)
    WHERE greedy_skip_till_next_match { [account] AND f[i].ts - f[i-1].ts <= 10 seconds }
    WITHIN 2 minutes
    RETURN f.len AS failures, s.ts AS entered
"""
SECOND = 1_000_000


def make_logins(accounts: int = 600, seed: int = 0) -> pa.Table:
    """Return an hour of logins; one account in a hundred is attacked."""
    random = np.random.default_rng(seed)
    rows = []
    for account in range(accounts):
        clock, attacked = int(random.integers(0, 3_600)), account % 100 == 7
        for _ in range(int(random.integers(6, 12)) if attacked else int(random.integers(0, 3))):
            clock += int(random.integers(1, 9))
            rows.append((clock, "Failure", account))
        rows.append((clock + 5, "Success", account))
    # They arrive up to a minute late: whoever reads them in this order reads them out of order.
    arrival = np.argsort([row[0] + int(random.integers(0, 60)) for row in rows])
    clocks, kinds, numbers = zip(*(rows[place] for place in arrival), strict=True)
    return pa.table(
        {
            "ts": pa.array([clock * SECOND for clock in clocks], pa.timestamp("us", tz="UTC")),
            "kind": kinds,
            "account": numbers,
        }
    )


def main() -> None:
    """Send the logins, a portion a second."""
    chosen = options(__doc__)
    spark = session("logins, live", chosen)
    feed = Feed(spark, make_logins(), chosen)
    alerts = fyke.match(
        feed.events(), BROKEN_INTO, time="ts", type="kind", output="non_overlap", watermark="1 minute"
    )
    feed.run(alerts, "account {account}: {failures} failures, then in at {entered}")
    spark.stop()


if __name__ == "__main__":
    main()
