"""A food supply chain with planted contaminations ([N] query 2)."""

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
PATTERN SEQ(Alert a, Shipment+ b[])
WHERE skip_till_any_match(a, b[]) {
    a.type = 'contaminated' AND b[1].from = a.site AND b[i].from = b[i-1].to
}
WITHIN 3 hours
"""
WINDOW = 3 * HOUR

_KINDS = ("Alert", "Shipment")
_TYPES = ("contaminated", "delayed", "recalled")
_CONTAMINATED = 0


@dataclass(frozen=True, slots=True)
class Food:
    """The alerts and shipments, and which shipments carry contaminated food.

    Attributes
    ----------
    table
        ``id``, ``kind`` (Alert or Shipment), ``ts`` (UTC), ``site`` and ``type`` of an alert (null for a
        shipment), ``from`` and ``to`` of a shipment (null for an alert), ordered by ``ts``.
    truth
        One row per match of :data:`QUERY`: ``alert`` (the id of its alert), ``shipment`` (the id of its
        last shipment) and ``hops`` (how many shipments it has).
    """

    table: pa.Table
    truth: pa.Table


@dataclass(frozen=True, slots=True)
class _Rows:
    """Columns of some rows before sorting; -1 where a row has no value."""

    kind: Integers
    time: Integers
    site: Integers
    type: Integers
    origin: Integers
    target: Integers


def generate(
    rows: int,
    seed: int = 0,
    *,
    contaminations: int | None = None,
    hops: int = 5,
    sites: int = 200,
    days: float = 7.0,
) -> Food:
    """Generate ``rows`` alerts and shipments, with planted contaminations.

    A contamination is an alert of type ``contaminated`` at a site of its own, and a tree of 1 to ``hops``
    shipments that spread from it to further sites of its own, each after the one that reached its origin,
    all within 3 hours of the alert.  Decoys: a shipment that left the site before the alert, one that
    leaves more than 3 hours after it, and a contaminated alert at a site that ships nothing.  The
    remaining rows are shipments from ordinary sites to anywhere, and alerts of other types.

    Why the truth is exactly what :data:`QUERY` finds: a contaminated alert stands at the root of its tree
    or at a site that ships nothing.  From the sites of a tree only the tree's own shipments and the two
    decoys leave, and the decoys are before the alert or outside its window.  So the shipments of a match
    form a path from the root inside the tree.  Sites are not shared, times rise along every path and the
    last is within the window, so each shipment of the tree ends exactly one such path: there is one match
    per planted shipment.

    Parameters
    ----------
    rows
        Number of events, exactly; at least ``contaminations * (hops + 4)``.
    seed
        Seed of the random generator: the same parameters and seed give the same table.
    contaminations
        Number of planted contaminations; one per 1000 rows by default, at least one.
    hops
        The largest number of shipments of one contamination, from 1 to 1000.
    sites
        Number of ordinary sites, at least 2.
    days
        Span of the stream.

    Examples
    --------
    >>> chain = generate(1_000)
    >>> chain.table.num_rows
    1000
    """
    planted = max(1, rows // 1000) if contaminations is None else contaminations
    require(planted >= 0, f"contaminations must not be negative, found {planted}")
    require(1 <= hops <= 1000, f"hops must be from 1 to 1000, found {hops}")
    require(sites >= 2, f"sites must be at least 2, found {sites}")
    least = max(1, planted * (hops + 4))
    require(rows >= least, f"{planted} contaminations of up to {hops} hops need {least} rows, found {rows}")
    random = np.random.default_rng(seed)
    span = max(DAY, int(days * DAY))

    # Sites: the ordinary ones, then hops + 1 for each tree, then one quiet site for each tree.
    first_quiet = sites + planted * (hops + 1)
    names = numbered("site", first_quiet + planted)
    alert_time = BEGINNING + random.integers(6 * HOUR, span - 6 * HOUR, planted)
    root = sites + np.arange(planted) * (hops + 1)
    alerts = _alerts(alert_time, root)
    tree, shipments, depth = _trees(random, alert_time, root, hops)
    decoys = _decoys(random, alert_time, root, first_quiet, sites)
    noise = _noise(random, rows - planted - len(tree) - 3 * planted, span, sites, len(names))

    together = [alerts, shipments, decoys, noise]
    order = np.argsort(np.concatenate([part.time for part in together]), kind="stable")
    position = np.empty(rows, dtype=np.int64)
    position[order] = np.arange(rows)
    ends = position[planted : planted + len(tree)]
    truth = pa.table({"alert": position[tree], "shipment": ends, "hops": depth})
    return Food(_table(together, order, names), truth)


def _alerts(time: Integers, site: Integers) -> _Rows:
    none = np.full(len(time), -1)
    return _Rows(np.zeros_like(time), time, site, np.full(len(time), _CONTAMINATED), none, none)


def _shipments(time: Integers, origin: Integers, target: Integers) -> _Rows:
    none = np.full(len(time), -1)
    return _Rows(np.ones_like(time), time, none, none, origin, target)


def _trees(
    random: np.random.Generator, alert_time: Integers, root: Integers, hops: int
) -> tuple[Integers, _Rows, Integers]:
    """Return the tree of each planted shipment, the shipments, and the depth of each in its tree.

    Shipment j of a tree (from 1) goes to the tree's site j, most often from site j - 1; times rise with
    j, and the last is less than 3 hours after the alert.
    """
    planted = len(root)
    number = np.arange(1, hops + 1)
    gaps = random.integers(SECOND, WINDOW // hops, (planted, hops))
    time = alert_time[:, None] + gaps.cumsum(axis=1)
    back = np.where(random.random((planted, hops)) < 0.7, 1, random.integers(1, hops + 1, (planted, hops)))
    parent = np.maximum(number - back, 0)
    depth = np.zeros((planted, hops + 1), dtype=np.int64)
    for step in range(hops):
        depth[:, step + 1] = 1 + depth[np.arange(planted), parent[:, step]]
    kept: npt.NDArray[np.bool_] = number <= random.integers(1, hops + 1, planted)[:, None]
    tree, last = np.nonzero(kept)
    shipments = _shipments(time[kept], root[tree] + parent[kept], root[tree] + last + 1)
    return tree, shipments, depth[:, 1:][kept]


def _decoys(
    random: np.random.Generator, alert_time: Integers, root: Integers, first_quiet: int, sites: int
) -> _Rows:
    """Return for each tree a shipment too early, a shipment too late, and an alert at a quiet site."""
    planted = len(root)
    early = _shipments(alert_time - random.integers(SECOND, 5 * HOUR, planted), root, root + 1)
    late_time = alert_time + WINDOW + random.integers(SECOND, 2 * HOUR, planted)
    late = _shipments(late_time, root, random.integers(0, sites, planted))
    quiet_time = alert_time + random.integers(-HOUR, HOUR, planted)
    return _concatenate([early, late, _alerts(quiet_time, first_quiet + np.arange(planted))])


def _noise(random: np.random.Generator, count: int, span: int, sites: int, targets: int) -> _Rows:
    """Return shipments from ordinary sites to anywhere, and one alert of another type in 50 rows."""
    alert = random.random(count) < 0.02
    place = random.integers(0, sites, count)
    return _Rows(
        kind=np.where(alert, 0, 1),
        time=BEGINNING + random.integers(MINUTE, span, count),
        site=np.where(alert, place, -1),
        type=np.where(alert, random.integers(1, len(_TYPES), count), -1),
        origin=np.where(alert, -1, place),
        target=np.where(alert, -1, random.integers(0, targets, count)),
    )


def _concatenate(parts: list[_Rows]) -> _Rows:
    return _Rows(
        np.concatenate([part.kind for part in parts]),
        np.concatenate([part.time for part in parts]),
        np.concatenate([part.site for part in parts]),
        np.concatenate([part.type for part in parts]),
        np.concatenate([part.origin for part in parts]),
        np.concatenate([part.target for part in parts]),
    )


def _table(parts: list[_Rows], order: Integers, names: list[str]) -> pa.Table:
    whole = _concatenate(parts)
    return pa.table(
        {
            "id": np.arange(len(order)),
            "kind": labels(whole.kind[order], _KINDS),
            "ts": timestamps(whole.time[order]),
            "site": labels(whole.site[order], names),
            "type": labels(whole.type[order], _TYPES),
            "from": labels(whole.origin[order], names),
            "to": labels(whole.target[order], names),
        }
    )
