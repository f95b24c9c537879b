"""The window of a plan as the numbers that kernels read."""

from __future__ import annotations

from fyke.engine.kernels import layout as L
from fyke.plan.window import Counts, Extent

_KIND = {Counts.NOTHING: L.WINDOW_NONE, Counts.TIME: L.WINDOW_TIME, Counts.EVENTS: L.WINDOW_EVENTS}


def kernel_window(window: Extent) -> tuple[int, int]:
    """Return the kind of a window and its length."""
    return _KIND[window.counts], window.clipped
