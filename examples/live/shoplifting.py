"""Which items are leaving the shop unpaid, right now?

Run it with ``python examples/live/shoplifting.py``, or with ``--kafka localhost:9092``.
"""

from __future__ import annotations

from feed import Feed, options, session

import fyke
from fyke.datasets import rfid

UNPAID = """
    PATTERN SEQ(Shelf s, ~OR(Shelf again, Register paid), Exit e)
    WHERE { [tag_id] }
    WITHIN 12 hours
    RETURN s.product AS product, e.area AS door, e.ts AS gone
"""


def main() -> None:
    """Send the readings of some days, a portion a second."""
    chosen = options(__doc__)
    spark = session("shoplifting, live", chosen)
    shop = rfid.generate(8_000, seed=0)
    feed = Feed(spark, shop.table.sort_by("ts"), chosen)
    thefts = fyke.match(feed.events(), UNPAID, time="ts", type="kind", watermark="10 minutes")
    feed.run(thefts, "stolen: {product} by {door} at {gone}")
    spark.stop()


if __name__ == "__main__":
    main()
