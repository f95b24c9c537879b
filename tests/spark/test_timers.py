"""Timers of buckets: whatever Spark's rule for firing is, a bucket is called when its moment comes."""

from __future__ import annotations

import random
from typing import Any

import pytest

from fyke.spark.stream.processor import MatchProcessor, SparkStore


class Handle:
    """Timers as Spark keeps them."""

    def __init__(self) -> None:
        self.timers: set[int] = set()

    def registerTimer(self, moment: int) -> None:
        self.timers.add(moment)

    def deleteTimer(self, moment: int) -> None:
        self.timers.remove(moment)


def processor() -> Any:
    made: Any = object.__new__(MatchProcessor)
    made.handle, made.store = Handle(), object.__new__(SparkStore)
    made.store.timer = None
    return made


@pytest.mark.parametrize("equal_fires", [False, True])
def test_a_bucket_is_called_at_the_first_watermark_that_reaches_its_moment(equal_fires: bool) -> None:
    drawn = random.Random(7)
    for _ in range(2_000):
        bucket, watermark = processor(), drawn.randrange(1, 20)  # in milliseconds
        moments = sorted({1_000 * watermark + drawn.choice((1, 500, 1_000, 1_001)) * drawn.randrange(1, 9)
                          for _ in range(3)})  # fmt: skip
        bucket._set_timer(moments[0], 1_000 * watermark, None)
        while moments:
            watermark += drawn.randrange(0, 3)
            fired = [t for t in bucket.handle.timers if t < watermark or (equal_fires and t == watermark)]
            for timer in fired:
                moments = [each for each in moments if each > 1_000 * watermark]
                bucket._set_timer(moments[0] if moments else None, 1_000 * watermark, timer)
                bucket.handle.timers.discard(timer)
            late = 0 if equal_fires else 1  # a millisecond, if a timer fires only after its moment
            assert not moments or moments[0] > 1_000 * (watermark - late)
            assert len(bucket.handle.timers) == bool(moments)
            assert all(timer >= watermark for timer in bucket.handle.timers)
