"""Chemotherapy courses: drugs given in any order, then blood counts ([S] figure 3.1)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from fyke.datasets.columns import BEGINNING, DAY, Integers, labels, require, timestamps

QUERY = """\
PATTERN SEQ({C c, P+ p[], D d}, B b)
WHERE greedy_skip_till_next_match(c, p[], d, b) { [PID] AND p[i].V > p[i-1].V }
WITHIN 15 days
"""

# Cyclophosphamide, Prednisone, Doxorubicin, white blood count; then red count, platelets, Rituximab.
_KINDS = ("C", "P", "D", "B", "H", "N", "R")
_UNITS = ("mg", "mg", "mg/l", "1/µl", "10⁶/µl", "1/µl", "mg")
_LOWEST = np.array([1200.0, 80.0, 70.0, 2500.0, 3.0, 90_000.0, 600.0])
_HIGHEST = np.array([1800.0, 120.0, 95.0, 11_000.0, 5.5, 400_000.0, 750.0])
_C, _P, _D, _B = range(4)
_NOISE = (4, 5, 6)

# The readings a course may have: a first blood count, the drugs, blood counts afterwards.
_SLOTS = np.array([_B, _C, _D, _P, _P, _P, _P, _B, _B, _B])
_PREDNISONE = slice(3, 7)
_FIRST_COUNT, _COUNTS_AFTER = 7, slice(7, 10)
_EVENTS_PER_COURSE = 12
CYCLE = 21 * DAY


def generate(rows: int, seed: int = 0, *, patients: int | None = None, days: float = 365.0) -> pa.Table:
    """Generate ``rows`` events: ``id``, ``PID``, ``L`` (event type), ``V`` (value), ``U`` (unit), ``T``.

    There is a course per 12 rows, and the courses of a patient follow one another every 21 days.  In the
    first 8 days of a course C and D are given once each and P one to four times, all in random order, P
    mostly in rising doses.  One to three blood counts B follow, the first 9 to 14 days after the start,
    the others 9 to 19.  Half of the courses have a blood count in the first 8 days too.  The remaining
    rows are noise: other measurements and drugs (H, N, R) of the same patients.

    So every course holds at least one match of :data:`QUERY` without its strategy: C, a P, D and the
    first count after them, 14 days apart at most.

    Parameters
    ----------
    rows
        Number of events, exactly; at least 12.
    seed
        Seed of the random generator: the same parameters and seed give the same table.
    patients
        Number of patients, with PID from 1; one per 40 rows by default.  Each of them has events as long as
        there are at least as many courses (``rows // 12``).
    days
        Span in which the patients' first courses start.

    Examples
    --------
    >>> generate(100).column_names
    ['id', 'PID', 'L', 'V', 'U', 'T']
    """
    require(rows >= _EVENTS_PER_COURSE, f"rows must be at least {_EVENTS_PER_COURSE}, found {rows}")
    people = max(1, rows // 40) if patients is None else patients
    require(people >= 1, f"patients must be at least 1, found {people}")
    random = np.random.default_rng(seed)
    number = np.arange(rows // _EVENTS_PER_COURSE)
    patient = number % people
    first_start = BEGINNING + random.integers(0, max(1, int(days * DAY)), people)
    start = first_start[patient] + number // people * CYCLE
    present = _present(random, len(number))
    values = _values(random, np.broadcast_to(_SLOTS, present.shape))
    values[:, _PREDNISONE] = _doses(random, len(number))

    course, slot = np.nonzero(present)
    noise = rows - len(course)
    noise_course = random.integers(0, len(number), noise)
    noise_kind = random.choice(_NOISE, noise)
    time = np.concatenate(
        [
            (start[:, None] + _offsets(random, len(number)))[course, slot],
            start[noise_course] + random.integers(0, CYCLE, noise),
        ]
    )
    order = np.argsort(time, kind="stable")
    kind = np.concatenate([_SLOTS[slot], noise_kind])[order]
    return pa.table(
        {
            "id": np.arange(rows),
            "PID": np.concatenate([patient[course], patient[noise_course]])[order] + 1,
            "L": labels(kind, _KINDS),
            "V": np.concatenate([values[course, slot], _values(random, noise_kind)])[order],
            "U": labels(kind, _UNITS),
            "T": timestamps(time[order]),
        }
    )


def _present(random: np.random.Generator, courses: int) -> npt.NDArray[np.bool_]:
    """Return which of the slots each course has: C, D, the first P and the first count after, always."""
    present = np.ones((courses, len(_SLOTS)), dtype=np.bool_)
    present[:, 0] = random.random(courses) < 0.5
    present[:, _PREDNISONE] = np.arange(4) <= random.integers(0, 4, courses)[:, None]
    present[:, _COUNTS_AFTER] = np.arange(3) <= random.integers(0, 3, courses)[:, None]
    return present


def _offsets(random: np.random.Generator, courses: int) -> Integers:
    """Return the times of the slots since the start of the course; those of P rise."""
    offsets = random.integers(0, 8 * DAY, (courses, len(_SLOTS)))
    offsets[:, _PREDNISONE] = np.sort(offsets[:, _PREDNISONE], axis=1)
    offsets[:, _COUNTS_AFTER] = random.integers(9 * DAY, 19 * DAY, (courses, 3))
    offsets[:, _FIRST_COUNT] = random.integers(9 * DAY, 14 * DAY, courses)
    return offsets


def _values(random: np.random.Generator, kinds: Integers) -> npt.NDArray[np.float64]:
    return np.round(random.uniform(_LOWEST[kinds], _HIGHEST[kinds]), 1)


def _doses(random: np.random.Generator, courses: int) -> npt.NDArray[np.float64]:
    """Return four doses of P: each one above the last with probability 0.8, and otherwise below it."""
    first = random.uniform(_LOWEST[_P], _HIGHEST[_P], (courses, 1))
    change = random.uniform(1, 6, (courses, 3)) * np.where(random.random((courses, 3)) < 0.8, 1, -1)
    return np.round(np.concatenate([first, first + change.cumsum(axis=1)], axis=1), 1)
