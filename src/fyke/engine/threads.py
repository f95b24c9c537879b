"""How many threads a call takes, and pieces of work that they do side by side."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import cached_property
from itertools import chain, islice
from pathlib import Path
from typing import TypeVar

from fyke.errors import OptionError

Item = TypeVar("Item")
Result = TypeVar("Result")

THREADS = "FYKE_THREADS"
_USUAL = "OMP_NUM_THREADS"
_GROUP = Path("/sys/fs/cgroup")


def usual_threads() -> int:
    """Return how many threads the environment allows.

    ``FYKE_THREADS`` says it, or else ``OMP_NUM_THREADS``.  Without them it is the number of cores that this
    process may run on, or its share of them in a container.

    Raises
    ------
    OptionError
        If ``FYKE_THREADS`` is no whole number above zero.
    """
    given = os.environ.get(THREADS, "").strip()
    if given:
        if not given.isdecimal() or int(given) == 0:
            raise OptionError(
                f"the environment variable {THREADS} must be a whole number above zero, found {given!r}",
                remedy="Unset it to take all cores.",
            )
        return int(given)
    usual = os.environ.get(_USUAL, "").split(",")[0].strip()  # a list is one for each level of nesting
    if usual.isdecimal() and int(usual) > 0:
        return int(usual)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    share = _share_of_cores(_GROUP)
    return max(1, cores if share is None else min(cores, share))


def _share_of_cores(group: Path) -> int | None:
    """Return how many cores' time a container may take, rounded up; None if that is not bounded."""
    with suppress(OSError, ValueError):
        quota, period = (group / "cpu.max").read_text().split()
        return None if quota == "max" else -(-int(quota) // int(period))
    with suppress(OSError, ValueError):
        quota_us, period_us = (
            int((group / "cpu" / f"cpu.cfs_{each}_us").read_text()) for each in ("quota", "period")
        )
        return -(-quota_us // period_us) if quota_us > 0 else None
    return None


class Team:
    """Threads for the pieces of one call; with one thread or one piece, the caller does the work itself.

    ``stop`` is called when results are not wanted any more, so that threads do not go on for nothing.
    The threads start with the first pieces and end with the team.
    """

    def __init__(self, threads: int, stop: Callable[[], None]) -> None:
        self.threads, self.stop = threads, stop

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        """The threads; they end when nobody refers to the team any more."""
        return ThreadPoolExecutor(self.threads, "fyke")

    def each(
        self, work: Callable[[Item], Result], items: Iterable[Item], *, ahead: int | None = None
    ) -> Iterator[Result]:
        """Yield the result for each item, in the order of the items; work may not ask the team for more.

        With ``ahead``, no more items than that are begun beyond those whose results were taken.  If
        several items fail, the error of the first one is raised.
        """
        items = iter(items)
        begun = list(islice(items, 2))
        if self.threads == 1 or len(begun) < 2:
            yield from map(work, chain(begun, items))
            return
        waiting: list[Future[Result]] = []
        try:
            for item in chain(begun, items):
                waiting.append(self._pool.submit(work, item))
                if ahead is not None and len(waiting) > ahead:
                    yield waiting.pop(0).result()
            while waiting:
                yield waiting.pop(0).result()
        except BaseException:
            self.stop()
            pool: ThreadPoolExecutor | None = self.__dict__.pop("_pool", None)
            if pool is not None:
                pool.shutdown(cancel_futures=True)
            raise
