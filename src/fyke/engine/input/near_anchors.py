"""Leaves out rows that are too far from every event that a match must have ([L] 4; see fyke.plan.anchors)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fyke.engine.kernels.arrays import Array
from fyke.engine.kernels.input.near_anchors import count_roles, list_near, mark_near
from fyke.plan.anchors import Anchor, Anchors

_NEAR = 2**61  # between times and windows below it no difference overflows
_FULL = 1.5  # if the windows of anchors cover more of the stream than this, few rows would be left out


def near_anchors(ends: Array, roles: Array, anchors: Anchors) -> Array | None:
    """Return which rows, given their times and roles, are within a window of a rare anchor.

    None if times do not rise, or if it would not pay.
    """
    rarest = rarest_anchors([ends], [roles], anchors)
    return None if rarest is None else near_rows(ends, roles, rarest, anchors.window)


def rarest_anchors(ends: Sequence[Array], roles: Sequence[Array], anchors: Anchors) -> list[Anchor] | None:
    """Return the anchor of each alternative that the fewest rows can play, given ranges of all rows.

    None if times do not rise, or if leaving rows out would not pay.
    """
    some = [each for each in ends if len(each)]
    if not some or anchors.window >= _NEAR or some[0][0] <= -_NEAR or some[-1][-1] >= _NEAR:
        return None
    edges = np.concatenate([each[[0, -1]] for each in some])
    if not all(bool((each[1:] >= each[:-1]).all()) for each in (edges, *some)):
        return None
    rarest = [_rarest(roles, each) for each in anchors.alternatives]
    reached = sum(count * anchors.window * (anchor.back + anchor.ahead) for anchor, count in rarest)
    if reached > _FULL * int(edges[-1] - edges[0]):
        return None
    return [anchor for anchor, _ in rarest]


def near_rows(
    ends: Array, roles: Array, rarest: list[Anchor], window: int, rows: slice | None = None
) -> Array:
    """Return which of some ``rows``, or of all, are within a window of an anchor; all rows are given."""
    first, last, _ = (rows or slice(None)).indices(len(ends))
    # Anchors that are too far from these rows are not looked at.
    begin = int(np.searchsorted(ends, ends[first] - window)) if first < last else first
    end = int(np.searchsorted(ends, ends[last - 1] + window, "right")) if first < last else last
    near = np.zeros(end - begin, np.uint8)
    for anchor in rarest:
        back, ahead = (window if side else 0 for side in (anchor.back, anchor.ahead))
        mark_near(ends[begin:end], roles[begin:end], anchor.role, back, ahead, near)
    places = np.empty(last - first + 1, np.int64)
    count = list_near(roles[first:last], near[first - begin : last - begin], places)
    return places[:count] + first


def _rarest(roles: Sequence[Array], anchors: tuple[Anchor, ...]) -> tuple[Anchor, int]:
    """Return the anchor with the fewest candidates, and their number."""
    bits, counts = np.array([each.role for each in anchors], np.int64), np.zeros(len(anchors), np.int64)
    for each in roles:
        count_roles(each, bits, counts)
    best = int(counts.argmin())
    return anchors[best], int(counts[best])
