"""How the rows of a table are divided among pieces: near rare events, by hashes of keys, and by time."""

from __future__ import annotations

import threading
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

from fyke.engine.input.near_anchors import near_anchors, near_rows, rarest_anchors
from fyke.engine.input.order import partition_codes
from fyke.engine.kernels.input.division import Division, count_keys, count_pieces, pick_ends, place_rows
from fyke.engine.threads import Team
from fyke.plan.anchors import Anchor, Anchors


@pytest.mark.parametrize("window", [0, 3, 40])
@pytest.mark.parametrize("seed", range(5))
def test_rows_near_anchors_are_the_same_in_ranges(seed: int, window: int) -> None:
    random = np.random.default_rng(seed)
    ends = np.sort(random.integers(0, 2_000, 400))
    roles = random.choice([0, 1, 2, 4], 400, p=[0.2, 0.02, 0.4, 0.38])
    anchors = Anchors(window, ((Anchor(0, back=True, ahead=False), Anchor(1, back=True, ahead=True)),))
    whole = near_anchors(ends, roles, anchors)
    edges = [0, 0, *sorted(random.integers(0, 400, 6)), 400]
    rarest = rarest_anchors(
        [ends[i:j] for i, j in pairwise(edges)], [roles[i:j] for i, j in pairwise(edges)], anchors
    )
    assert whole is not None
    assert rarest == [Anchor(0, back=True, ahead=False)]
    parts = [near_rows(ends, roles, rarest, window, slice(i, j)) for i, j in pairwise(edges)]
    assert np.concatenate(parts).tolist() == whole.tolist()
    near = [
        k
        for k in range(400)
        if roles[k] and ((roles == 1) & (ends >= ends[k]) & (ends - ends[k] <= window)).any()
    ]
    assert whole.tolist() == near


def test_nothing_is_left_out_where_times_fall_from_range_to_range() -> None:
    anchors = Anchors(1, ((Anchor(0, back=True, ahead=True),),))
    ends, roles = np.arange(1_000), np.where(np.arange(1_000) % 100 == 0, 1, 2)
    both = [ends[500:], ends[:500]], [roles[500:], roles[:500]]
    assert rarest_anchors(*both, anchors) is None
    assert rarest_anchors([ends], [roles], anchors) is not None


def test_partitions_are_numbered_by_their_first_attribute_and_then_by_the_others() -> None:
    table = pa.table({"a": ["x", "y", "x", None, "y", "x"], "b": [7, 7, 3, 3, 3, 7], "c": [0] * 6})
    assert partition_codes(table, ("a",)).tolist() == [0, 1, 0, -1, 1, 0]
    assert partition_codes(table, ("a", "b")).tolist() == [1, 3, 2, -1, 4, 1]
    assert partition_codes(table, ("a", "c")).tolist() == partition_codes(table, ("a",)).tolist()


def test_rows_of_hot_keys_are_in_the_slices_that_own_and_see_them() -> None:
    """Two hot keys, each with slices of its own; the others are hashed to four buckets."""
    random = np.random.default_rng(3)
    hot = np.sort(random.integers(1, 2**63, 2).astype(np.uint64))
    hashes = np.where(
        random.random(500) < 0.6, random.choice(hot, 500), random.integers(0, 2**63, 500).astype(np.uint64)
    )
    ends, buckets = random.integers(0, 100, 500), 4
    pieces, starts = np.array([4, 7]), np.array([0, 2, 3])
    bounds, backs, aheads = np.array([30, 60, 50]), np.array([25, 55, 45]), np.array([32, 62, 58])
    sizes = np.zeros(2, np.int64)
    count_keys(hashes, hot, sizes)
    assert sizes.tolist() == [(hashes == key).sum() for key in hot]
    room = np.empty(501, np.int64)
    assert room[: pick_ends(hashes, hot[1:], ends, room)].tolist() == ends[hashes == hot[1]].tolist()
    own, counts = np.empty(500, np.int32), np.zeros(9, np.int64)
    division = Division(hot=hot, pieces=pieces, starts=starts, bounds=bounds, backs=backs, aheads=aheads)
    count_pieces(division, hashes, ends, buckets, own, counts)
    cuts = np.concatenate(([0], np.cumsum(counts)))
    places = np.empty(cuts[-1], np.int64)
    place_rows(division, ends, own, cuts[:-1].copy(), places)
    found = [places[i:j].tolist() for i, j in pairwise(cuts)]
    assert [piece in rows for piece, rows in zip(own, [found[k] for k in own], strict=True)]
    cold = ~np.isin(hashes, hot)
    assert sorted(row for rows in found[:4] for row in rows) == np.flatnonzero(cold).tolist()
    first = hashes == hot[0]
    assert found[4] == np.flatnonzero(first & (ends <= 32)).tolist()
    assert found[5] == np.flatnonzero(first & (ends >= 25) & (ends <= 62)).tolist()
    assert found[6] == np.flatnonzero(first & (ends >= 55)).tolist()
    assert found[7] == np.flatnonzero((hashes == hot[1]) & (ends <= 58)).tolist()
    assert found[8] == np.flatnonzero((hashes == hot[1]) & (ends >= 45)).tolist()


def test_a_team_goes_on_after_an_error_and_ends_with_its_owner() -> None:
    def work(item: int) -> int:
        if item == 3:
            raise ValueError("three")
        return -item

    def threads() -> int:
        return sum(each.name.startswith("fyke_") for each in threading.enumerate())

    stopped: list[bool] = []
    before, team = threads(), Team(2, lambda: stopped.append(True))
    with pytest.raises(ValueError, match="three"):
        list(team.each(work, range(6)))
    assert stopped == [True]
    assert threads() == before
    assert list(team.each(work, range(3))) == [0, -1, -2]
    assert threads() > before
    ended = [each for each in threading.enumerate() if each.name.startswith("fyke_")]
    del team
    for each in ended:
        each.join(10)
    assert threads() == before
