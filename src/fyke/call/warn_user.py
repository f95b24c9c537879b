"""Warnings that point at the line of the user who made the call, however deep in Fyke they arise."""

from __future__ import annotations

import sys
import warnings


class SlowStreamWarning(UserWarning):
    """A stream would be much slower than it need be."""


def warn_user(message: str, category: type[Warning]) -> None:
    """Warn at the innermost frame that is not of this package."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "fyke":
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
