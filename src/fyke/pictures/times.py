"""The axis of time: where its ticks stand, and what is written at them."""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence

_SECOND = 1_000_000_000
_STEPS = [
    *(n * unit for unit in (1, 1_000, 1_000_000) for n in (1, 2, 5, 10, 20, 50, 100, 200, 500)),
    *(n * _SECOND for n in (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800)),
    *(n * 3600 * _SECOND for n in (1, 2, 3, 6, 12, 24, 48, 168, 336)),
    *(n * 86_400 * _SECOND for n in (30, 60, 90, 180, 365, 730, 1825, 3650)),
]


def ticks(first: int, last: int, unit: int | None, dated: bool, most: int) -> list[tuple[int, str]]:
    """Return at most about so many ticks between two times: where, and what is written there.

    ``unit`` is how many nanoseconds one unit of time has, None if it is a plain number; ``dated``: times
    count from 1970.
    """
    span = max(1, last - first)
    if not dated or unit is None:
        step = _plain_step(span, most)
        start = -(-first // step) * step
        return [(at, f"{at:,}") for at in range(start, last + 1, step)]
    wanted = span * unit / max(1, most)
    step = max(
        1,
        next((each for each in _STEPS if each >= wanted), _STEPS[-1] * math.ceil(wanted / _STEPS[-1]))
        // unit,
    )
    start = -(-first // step) * step
    places = list(range(start, last + 1, step))
    return list(zip(places, _dates(places, unit, step * unit), strict=True))


def _plain_step(span: int, most: int) -> int:
    wanted = max(1.0, span / max(1, most))
    power = 10 ** math.floor(math.log10(wanted))
    return int(next(power * n for n in (1, 2, 5, 10) if power * n >= wanted))


def _dates(places: Sequence[int], unit: int, step: int) -> list[str]:
    """Return the texts of times: the day where it changes, and the clock as finely as the steps need."""
    texts, day = [], ""
    for at in places:
        text = moment(at, unit, fine=step < 60 * _SECOND, finer=step < _SECOND)
        date, clock = text.split(" ", 1)
        if step >= 86_400 * _SECOND:
            texts.append(date)
            continue
        texts.append(text if date != day else clock)
        day = date
    return texts


def moment(at: int, unit: int | None, *, fine: bool = True, finer: bool = True) -> str:
    """Return a time as text, in UTC."""
    if unit is None:
        return f"{at:,}"
    seconds, rest = divmod(at * unit, _SECOND)
    try:
        when = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=seconds)
    except OverflowError:
        return f"{at:,} "
    clock = f"{when:%H:%M:%S}" if fine else f"{when:%H:%M}"
    if finer and rest:
        clock += f".{rest:09d}".rstrip("0")
    return f"{when:%Y-%m-%d} {clock}"
