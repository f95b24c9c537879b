"""Which accounts were broken into?  Many failures, a success, and something taken before the alarm.

Needs no Spark: the events are an Arrow table.  Run it with ``python examples/logins_under_attack.py``.
"""

from __future__ import annotations

import argparse

import numpy as np
import pyarrow as pa

import fyke

BREAK_IN = """
    PATTERN SEQ(Failure{5,} f[], Success s, ~Reset r, Export x)
    WHERE greedy_skip_till_next_match {
        [account, address]
        AND f[i].at - f[i-1].at <= 10 seconds
        AND s.at - f[f.len].at <= 1 minute
    }
    WITHIN 15 minutes
    RETURN f.len AS failures, s.at AS entered, x.at - s.at AS took, x.megabytes AS megabytes
"""
SECOND = 1_000_000


def make_events(accounts: int, seed: int) -> pa.Table:
    """Return a day of log lines: everybody mistypes now and then, and one account in fifty is attacked."""
    random = np.random.default_rng(seed)
    rows: list[dict[str, object]] = []
    for account in range(accounts):
        clock = int(random.integers(0, 86_400)) * SECOND
        attacked = account % 50 == 7
        address = f"203.0.113.{account % 250}" if attacked else f"10.0.0.{account % 250}"
        kinds = ["Failure"] * (int(random.integers(6, 12)) if attacked else int(random.integers(0, 3)))
        kinds += ["Success", "Export"]
        for kind in kinds:
            clock += int(random.integers(1, 9)) * SECOND
            size = int(random.integers(1, 500)) if kind == "Export" else None
            rows.append(
                {"at": clock, "kind": kind, "account": account, "address": address, "megabytes": size}
            )
    table = pa.Table.from_pylist(rows)
    return table.set_column(0, "at", table["at"].cast(pa.timestamp("us", tz="UTC")))


def main() -> None:
    """Print the accounts that were broken into."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--accounts", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    events = make_events(chosen.accounts, chosen.seed)
    # Every failure may be the first of five: of matches that overlap, the longest comes first.
    found = fyke.match(events, BREAK_IN, time="at", type="kind", output="non_overlap")
    print(f"{events.num_rows:,} log lines, {found.num_rows} break-ins")
    for row in found.sort_by("entered").slice(0, 10).to_pylist():
        print(
            f"  account {row['account']:5} from {row['address']:13} at {row['entered']:%H:%M:%S}: "
            f"{row['failures']:2} failures, {row['megabytes']:3} MB after {row['took'].seconds} s"
        )


if __name__ == "__main__":
    main()
