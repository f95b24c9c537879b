"""A shop whose goods carry RFID tags, with planted shoplifters ([N] query 1)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from fyke.datasets.columns import (
    BEGINNING,
    DAY,
    HOUR,
    MINUTE,
    SECOND,
    Integers,
    labels,
    numbered,
    require,
    timestamps,
)

QUERY = """\
PATTERN SEQ(Shelf a, ~Register b, Exit c)
WHERE skip_till_next_match(a, b, c) { [tag_id] }
WITHIN 12 hours
"""
WINDOW = 12 * HOUR

# A tag's readings are a choice of these six, in this order.
_SLOTS = ("Register", "Shelf", "Shelf", "Shelf", "Register", "Exit")
_EARLY, _PICKED, _AGAIN, _MOVED, _PAID, _LEFT = range(6)

_KINDS = ("Shelf", "Register", "Exit", "Aisle", "Storage", "Fitting")
_NOISE = (3, 4, 5)
_KIND_OF_SLOT = np.array([_KINDS.index(kind) for kind in _SLOTS])
_AREAS_PER_KIND = 8
_AREAS = [area for kind in _KINDS for area in numbered(kind.lower(), _AREAS_PER_KIND)]
_PRODUCTS = ("razor", "perfume", "whisky", "headphones", "jacket", "coffee", "batteries", "cheese")

# What becomes of a tag, and how often; what is left of 1 is bought.
_BOUGHT, _STOLEN, _STAYED, _PUT_BACK, _RETURNED, _SLOW = range(6)
_SHARES = {_STAYED: 0.15, _PUT_BACK: 0.10, _RETURNED: 0.02, _SLOW: 0.02}


@dataclass(frozen=True, slots=True)
class Rfid:
    """The readings and who stole what.

    Attributes
    ----------
    table
        ``id``, ``tag_id`` (int64), ``kind``, ``ts`` (UTC), ``area``, ``product``, ordered by ``ts``.
    truth
        One row per stolen tag: ``tag_id``, ``picked`` (its first Shelf reading), ``left`` (its Exit
        reading), ``matches`` (how many matches :data:`QUERY` has for it: one per Shelf reading).
    """

    table: pa.Table
    truth: pa.Table


def generate(
    rows: int, seed: int = 0, *, shoplifted: float = 0.01, readings_per_tag: int = 8, days: float = 7.0
) -> Rfid:
    """Generate ``rows`` readings of about ``rows / readings_per_tag`` tags.

    A tag is bought (Shelf, Register, Exit), stays on its shelf, is put back on another one, is returned
    (Register, then Shelf, and stays), leaves unpaid but more than 12 hours after its last Shelf reading,
    or is stolen (Shelf, Exit; one in five was returned before, so it has an earlier Register reading).
    A tag is read on the shelf one to three times.  The remaining rows are readings of kinds that no
    query asks for (Aisle, Storage, Fitting).

    Why the truth is exactly what :data:`QUERY` finds: a tag has at most one Exit reading, later than all
    its others of the three kinds, and those have different times.  So a match of a tag is one of its
    Shelf readings with its Exit reading, at most 12 hours apart, and no Register reading between.
    Bought: the Register reading is between every Shelf reading and the Exit.  Stayed, put back, returned:
    no Exit.  Slow: every Shelf reading is more than 12 hours before the Exit.  Stolen: from the first
    Shelf reading to the Exit there are less than 12 hours and no Register reading, so each Shelf reading
    gives one match.

    Parameters
    ----------
    rows
        Number of readings, exactly; at least ``readings_per_tag``.
    seed
        Seed of the random generator: the same parameters and seed give the same table.
    shoplifted
        Share of the tags that are stolen, 0 to 0.5; at least one tag unless it is 0.
    readings_per_tag
        Readings per tag on average, noise included; at least 6.
    days
        Span in which the tags' stories begin.

    Examples
    --------
    >>> shop = generate(1_000)
    >>> shop.table.num_rows, shop.truth.num_rows
    (1000, 1)
    """
    require(readings_per_tag >= len(_SLOTS), f"readings_per_tag must be at least 6, found {readings_per_tag}")
    require(rows >= readings_per_tag, f"rows must be at least readings_per_tag, found {rows}")
    require(0 <= shoplifted <= 0.5, f"shoplifted must be from 0 to 0.5, found {shoplifted}")
    random = np.random.default_rng(seed)
    tags = rows // readings_per_tag
    stories = _stories(random, tags, shoplifted)
    present = _present(random, stories)
    times = _times(random, stories, days)

    tag, slot = np.nonzero(present)
    noise = rows - len(tag)
    noise_tag = random.integers(0, tags, noise)
    noise_time = times[noise_tag, _PICKED] + random.integers(-HOUR, 13 * HOUR, noise)
    table = _table(
        random,
        np.concatenate([tag, noise_tag]),
        np.concatenate([_KIND_OF_SLOT[slot], random.choice(_NOISE, noise)]),
        np.concatenate([times[tag, slot], noise_time]),
        random.integers(0, len(_PRODUCTS), tags),
    )
    stolen = np.flatnonzero(stories == _STOLEN)
    truth = pa.table(
        {
            "tag_id": stolen,
            "picked": timestamps(times[stolen, _PICKED]),
            "left": timestamps(times[stolen, _LEFT]),
            "matches": present[stolen][:, [_PICKED, _AGAIN, _MOVED]].sum(axis=1),
        }
    )
    return Rfid(table, truth)


def _stories(random: np.random.Generator, tags: int, shoplifted: float) -> npt.NDArray[np.int64]:
    """Return what becomes of each tag, in random order."""
    stories = np.full(tags, _BOUGHT)
    stolen = max(1, round(shoplifted * tags)) if shoplifted else 0
    stories[:stolen] = _STOLEN
    begin = stolen
    for story, share in _SHARES.items():
        end = begin + round(share * tags)
        stories[begin:end] = story
        begin = end
    return random.permutation(stories)


def _present(random: np.random.Generator, stories: Integers) -> npt.NDArray[np.bool_]:
    """Return which of the six readings each tag has."""
    present = np.zeros((len(stories), len(_SLOTS)), dtype=np.bool_)
    present[:, _EARLY] = (stories == _RETURNED) | ((stories == _STOLEN) & (random.random(len(stories)) < 0.2))
    present[:, _PICKED] = True
    present[:, _AGAIN] = random.random(len(stories)) < 0.3
    present[:, _MOVED] = (stories == _PUT_BACK) | (random.random(len(stories)) < 0.1)
    present[:, _PAID] = stories == _BOUGHT
    present[:, _LEFT] = np.isin(stories, [_BOUGHT, _STOLEN, _SLOW])
    return present


def _times(random: np.random.Generator, stories: Integers, days: float) -> npt.NDArray[np.int64]:
    """Return the times of the six readings, present or not: each at least a second after the one before.

    From the first Shelf reading to the Exit of a stolen tag: at most 3 + 3 + 0.5 + 5 hours, below 12.
    """
    tags = len(stories)
    gaps = np.empty((tags, len(_SLOTS)), dtype=np.int64)
    gaps[:, _EARLY] = random.integers(0, max(1, int(days * DAY)), tags)
    gaps[:, _PICKED] = random.integers(MINUTE, 2 * DAY, tags)
    gaps[:, _AGAIN] = random.integers(SECOND, 3 * HOUR, tags)
    gaps[:, _MOVED] = random.integers(SECOND, 3 * HOUR, tags)
    gaps[:, _PAID] = random.integers(SECOND, HOUR // 2, tags)
    slow = WINDOW + random.integers(SECOND, 2 * DAY, tags)
    gaps[:, _LEFT] = np.where(stories == _SLOW, slow, random.integers(SECOND, 5 * HOUR, tags))
    return BEGINNING + gaps.cumsum(axis=1)


def _table(
    random: np.random.Generator, tag: Integers, kind: Integers, time: Integers, product_of_tag: Integers
) -> pa.Table:
    order = np.argsort(time, kind="stable")
    tag, kind, time = tag[order], kind[order], time[order]
    area = kind * _AREAS_PER_KIND + random.integers(0, _AREAS_PER_KIND, len(kind))
    return pa.table(
        {
            "id": np.arange(len(tag)),
            "tag_id": tag,
            "kind": labels(kind, _KINDS),
            "ts": timestamps(time),
            "area": labels(area, _AREAS),
            "product": labels(product_of_tag[tag], _PRODUCTS),
        }
    )
