"""Leaves out rows that are too far from every event that a match must have ([L] 4; see fyke.plan.anchors)."""

from __future__ import annotations

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
    if len(ends) == 0 or anchors.window >= _NEAR or not bool((ends[1:] >= ends[:-1]).all()):
        return None
    if ends[0] <= -_NEAR or ends[-1] >= _NEAR:
        return None
    rarest = [_rarest(roles, each) for each in anchors.alternatives]
    reached = sum(count * anchors.window * (anchor.back + anchor.ahead) for anchor, count in rarest)
    if reached > _FULL * int(ends[-1] - ends[0]):
        return None
    near = np.zeros(len(ends), np.uint8)
    for anchor, _ in rarest:
        back, ahead = (anchors.window if side else 0 for side in (anchor.back, anchor.ahead))
        mark_near(ends, roles, anchor.role, back, ahead, near)
    places = np.empty(len(ends) + 1, np.int64)
    return places[: list_near(roles, near, places)]


def _rarest(roles: Array, anchors: tuple[Anchor, ...]) -> tuple[Anchor, int]:
    """Return the anchor with the fewest candidates, and their number."""
    counts = np.zeros(len(anchors), np.int64)
    count_roles(roles, np.array([each.role for each in anchors], np.int64), counts)
    best = int(counts.argmin())
    return anchors[best], int(counts[best])
