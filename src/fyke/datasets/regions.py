"""Stock prices typed by region, with histories to correlate and very different rates ([L] section 8)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from fyke.datasets.columns import BEGINNING, MINUTE, labels, require, timestamps

QUERY = """\
PATTERN SEQ(NACompany a, EUCompany b, AfrCompany c)
WHERE skip_till_any_match(a, b, c) {
    corr(a.history, b.history) > 0.7
    AND corr(b.history, c.history) > 0.7
    AND corr(c.history, a.history) > 0.7
}
WITHIN 20 minutes
"""
HISTORY = 20

# The paper's eight regions.  It gives EU to Afr as 33 to 1, and rarest to most frequent down to 1 to 700.
RATES: Mapping[str, int] = {
    "NACompany": 1000,
    "EUCompany": 300,
    "AsiaCompany": 100,
    "MECompany": 60,
    "SACompany": 30,
    "AfrCompany": 9,
    "AusCompany": 6,
    "CarCompany": 3,
}

_CHUNK = 1_000_000


def generate(
    rows: int,
    seed: int = 0,
    *,
    rates: Mapping[str, int] = RATES,
    correlated: float = 0.1,
    noise: float = 0.25,
    per_minute: float = 60.0,
) -> pa.Table:
    """Generate ``rows`` prices: ``id``, ``region``, ``company``, ``price``, ``history``, ``ts``.

    Every company reports equally often, so a region's rate is its number of companies, as in the paper.
    ``history`` is a list of 20 doubles, ``price`` its last one.

    A history is a level, plus one of K = 1 / ``correlated`` shapes times an amplitude, plus noise.  The
    shapes are waves of different frequency (the cosine basis), which have correlation 0 with one another,
    and each event draws its shape anew.  So two histories of one shape correlate by about
    1 / (1 + noise²), 0.94 by default, and any others by about 0: every threshold from 0.4 to 0.85 selects
    the same share of all pairs, ``correlated``, whatever the regions.

    Parameters
    ----------
    rows
        Number of events, exactly; at least 1.  A million of them take 160 MB.
    seed
        Seed of the random generator: the same parameters and seed give the same table.
    rates
        Companies per region; the key is the event type.
    correlated
        Share of pairs whose histories correlate, rounded to 1, 1/2, 1/3, ... 1/19.
    noise
        Standard deviation of the noise, in amplitudes.
    per_minute
        Events per minute on average; the times between them are exponential.

    Examples
    --------
    >>> generate(3).column_names
    ['id', 'region', 'company', 'price', 'history', 'ts']
    """
    require(rows >= 1, f"rows must be at least 1, found {rows}")
    require(bool(rates) and min(rates.values()) >= 1, "rates must name regions with at least 1 company each")
    require(1 / 19 <= correlated <= 1, f"correlated must be from 1/19 to 1, found {correlated}")
    require(noise >= 0, f"noise must not be negative, found {noise}")
    require(per_minute > 0, f"per_minute must be above 0, found {per_minute}")
    random = np.random.default_rng(seed)
    company = random.integers(0, sum(rates.values()), rows)
    region = np.searchsorted(np.cumsum(list(rates.values())), company, side="right")
    waits = random.exponential(MINUTE / per_minute, rows)
    waves = _waves(round(1 / correlated))
    histories = [
        _histories(random, min(_CHUNK, rows - begin), waves, noise) for begin in range(0, rows, _CHUNK)
    ]
    return pa.table(
        {
            "id": np.arange(rows),
            "region": labels(region, list(rates)),
            "company": company,
            "price": np.concatenate([history[:, -1] for history in histories]),
            "history": pa.chunked_array([_lists(history) for history in histories]),
            "ts": timestamps(BEGINNING + waits.cumsum().astype(np.int64)),
        }
    )


def _waves(count: int) -> npt.NDArray[np.float64]:
    """Return waves 1 to ``count`` of the cosine basis: mean 0, variance 1, orthogonal."""
    frequency = np.arange(1, count + 1)[:, None]
    waves: npt.NDArray[np.float64] = np.cos(np.pi * frequency * (np.arange(HISTORY) + 0.5) / HISTORY)
    return waves * 2**0.5


def _histories(
    random: np.random.Generator, rows: int, waves: npt.NDArray[np.float64], noise: float
) -> npt.NDArray[np.float64]:
    history = random.standard_normal((rows, HISTORY))
    history *= noise
    history += waves[random.integers(0, len(waves), rows)]
    # The largest amplitude times the farthest swing must stay below the level: prices are positive.
    history *= random.uniform(1, 5, (rows, 1))
    history += random.uniform(50, 500, (rows, 1))
    return history


def _lists(history: npt.NDArray[np.float64]) -> Any:
    offsets = np.arange(0, history.size + 1, HISTORY, dtype=np.int32)
    return pa.ListArray.from_arrays(offsets, history.reshape(-1))
