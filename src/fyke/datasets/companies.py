"""Stock events of six companies, with skewed rates and with characteristics that change ([T] chapter 6)."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pyarrow as pa

from fyke.datasets.columns import BEGINNING, SECOND, Integers, labels, require, timestamps

QUERY = """\
PATTERN SEQ(IBM a, Google b, Sun c, Oracle d, Microsoft e, Yahoo f)
WHERE skip_till_any_match(a, b, c, d, e, f) {
    a.price = d.price AND b.price = e.price AND c.price = f.price
}
WITHIN 20 seconds
"""
NAMES = ("IBM", "Google", "Sun", "Oracle", "Microsoft", "Yahoo")

Part = Literal["first", "middle", "last"]
_PARTS: dict[str, tuple[int, int]] = {"first": (0, 1), "middle": (2, 3), "last": (4, 5)}


def generate(
    rows: int,
    seed: int = 0,
    *,
    skewed: Part | None = None,
    ratio: float = 1.0,
    highest: int = 1000,
    change_every: int | None = None,
) -> pa.Table:
    """Generate ``rows`` events: ``id``, ``name``, ``price``, ``volume``, ``type``, ``ts``, one a second.

    The name is the event type (``type="name"`` in :func:`fyke.match`); ``type`` is an attribute, as in
    the thesis.  Price, volume and type are uniform whole numbers from 0 to ``highest``.

    Parameters
    ----------
    rows
        Number of events, exactly; at least 1.
    seed
        Seed of the random generator: the same parameters and seed give the same table.
    skewed
        The pair whose rate differs (section 6.2): ``first`` is IBM and Google, ``middle`` Sun and
        Oracle, ``last`` Microsoft and Yahoo.
    ratio
        How many events a company of that pair has for each one of another company.  Below 1 the pair is rare,
        as in the test of the pass-down optimisation (section 6.7).
    highest
        The largest price, volume and type.  1 gives the prices 0 and 1 of section 6.2, where an equality
        holds for half of all pairs.
    change_every
        Length of a batch (section 6.6 takes 5000).  Batches take turns, each making one predicate of
        queries 10 and 11 rare, about 5 %: in the first IBM's volume is 95 % of ``highest``; in the second
        Google's type is 95 % and Yahoo's 5 % of it; in the third Sun's price is 95 %.

    Examples
    --------
    >>> generate(3).column_names
    ['id', 'name', 'price', 'volume', 'type', 'ts']
    """
    require(rows >= 1, f"rows must be at least 1, found {rows}")
    require(ratio > 0, f"ratio must be above 0, found {ratio}")
    require(highest >= 1, f"highest must be at least 1, found {highest}")
    require(change_every is None or change_every >= 1, f"change_every must be at least 1: {change_every}")
    require(
        skewed is None or skewed in _PARTS,
        f"skewed must be None or one of {', '.join(_PARTS)}, found {skewed!r}",
    )
    random = np.random.default_rng(seed)
    name = _names(random, rows, skewed, ratio)
    number = np.arange(rows)
    attributes = {column: random.integers(0, highest + 1, rows) for column in ("price", "volume", "type")}
    if change_every is not None:
        _change(attributes, name, number // change_every % 3, highest)
    return pa.table(
        {
            "id": number,
            "name": labels(name, NAMES),
            **attributes,
            "ts": timestamps(BEGINNING + number * SECOND),
        }
    )


def _names(random: np.random.Generator, rows: int, skewed: Part | None, ratio: float) -> Integers:
    weights = np.ones(len(NAMES))
    if skewed is not None:
        weights[list(_PARTS[skewed])] = ratio
    bounds = (weights / weights.sum()).cumsum()[:-1]
    return np.searchsorted(bounds, random.random(rows), side="right").astype(np.int64)


def _change(attributes: dict[str, Integers], name: Integers, batch: Integers, highest: int) -> None:
    """Write the fixed values of section 6.6 into the batches' attributes."""
    high, low = round(0.95 * highest), round(0.05 * highest)
    fixed = [(0, "IBM", "volume", high), (1, "Google", "type", high), (1, "Yahoo", "type", low)]
    for of, who, column, value in [*fixed, (2, "Sun", "price", high)]:
        attributes[column][(batch == of) & (name == NAMES.index(who))] = value
