"""Which cash registers are running dry?  Hourly sales every quarter of an hour, and a pattern on top of them.

Needs no Spark: the events are an Arrow table.  Run it with ``python examples/cash_registers.py``.
"""

from __future__ import annotations

import argparse

import numpy as np
import pyarrow as pa

import fyke

PROGRAM = """
    -- The sales of the last hour, reported every 15 minutes.
    Hourly: SELECT register, SUM(amount) AS total, COUNT(*) AS customers
            FROM [RANGE 1 hour SLIDE 15 min] Sale
            WHERE [register];

    -- A good hour, and within two hours of its start, but before the shop closes, a bad one.
    Slump: PATTERN SEQ(Hourly before, Hourly after)
           WHERE { [register] AND before.customers >= 12 AND after.total < before.total / 3
                   AND hour(after.end) < 18 }
           WITHIN 2 hours
           RETURN before.total AS earned, after.total AS then
"""
MINUTE = 60_000_000


def make_sales(days: int, seed: int) -> pa.Table:
    """Return the sales of four registers; each day one of them jams at noon for some hours."""
    random = np.random.default_rng(seed)
    rows: list[dict[str, object]] = []
    for day in range(days):
        for register in range(4):
            for minute in range(9 * 60, 18 * 60, 4):
                jammed = register == day % 4 and 12 * 60 <= minute < 15 * 60
                if not jammed or minute % 60 == 0:
                    at = (day * 1440 + minute) * MINUTE + int(random.integers(0, MINUTE))
                    rows.append({"at": at, "register": register, "amount": int(random.integers(20, 60))})
    table = pa.Table.from_pylist(rows)
    return table.set_column(0, "at", table.column("at").cast(pa.timestamp("us")))


def main() -> None:
    """Make sales, run the program, and report each register once a day."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--days", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    sales = make_sales(chosen.days, chosen.seed)
    results = fyke.program(PROGRAM).run(sales, time="at")
    print(f"{sales.num_rows:,} sales, {results['Hourly'].num_rows:,} hours of a register")
    slumps = results["Slump"].to_pandas()
    slumps["day"] = slumps["start"].dt.floor("D")
    first = slumps.sort_values(["start", "end"]).groupby(["day", "register"], as_index=False).first()
    print(f"{len(first)} slumps, {chosen.days} planted")
    print(first[["register", "start", "end", "earned", "then"]].to_string(index=False))


if __name__ == "__main__":
    main()
