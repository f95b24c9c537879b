"""Rows to partitions that stand together, each in the order of its rows or of a key."""

from __future__ import annotations

from fyke.engine.kernels.jit import entry, jit
from fyke.engine.kernels.kinds import Codes, Integers

SMALL = 24  # rows that are sorted by inserting them one by one


@entry
def number_values(values: Integers, least, numbers: Codes, codes: Codes):
    """Number whole numbers from ``least`` on in the order they come, and return how many there are.

    ``numbers`` is scratch: -1 for each value that there may be.
    """
    count = 0
    for k in range(len(values)):
        number = numbers[values[k] - least]
        if number < 0:
            number = count
            numbers[values[k] - least] = count
            count += 1
        codes[k] = number
    return count


@entry
def stand_together(codes: Codes):
    """Say whether rows of equal codes, numbered as they come, stand together."""
    k = 1
    while k < len(codes) and codes[k] >= codes[k - 1]:
        k += 1
    return k >= len(codes)


@entry
def start_partitions(codes: Codes, segments: Integers):
    """Write where the rows of each code will begin, and behind them the number of rows; zeros are given."""
    for k in range(len(codes)):
        segments[codes[k] + 1] += 1
    for c in range(1, len(segments)):
        segments[c] += segments[c - 1]


@entry
def place_rows(codes: Codes, first, last, nexts: Integers, places: Integers):
    """Write the rows of the codes from ``first`` to ``last`` where they begin, and move ``nexts`` on."""
    for k in range(len(codes)):
        code = codes[k]
        if first <= code < last:
            places[nexts[code]] = k
            nexts[code] += 1


@entry
def sort_partitions(
    keys: Integers, segments: Integers, places: Integers, own: Integers, spare_keys: Integers, spare: Integers
):
    """Sort the rows of partitions by their keys, keeping the order of equal ones.

    ``places`` begins with the first of these partitions; the last three are scratch, as long as it is.
    """
    offset = segments[0]
    for s in range(len(segments) - 1):
        begin, end = segments[s] - offset, segments[s + 1] - offset
        falls = 0
        for k in range(begin, end):
            own[k] = keys[places[k]]
            falls |= k > begin and own[k] < own[k - 1]
        if not falls:
            continue
        for low in range(begin, end, SMALL):
            insert_rows(places, own, low, min(low + SMALL, end))
        width = SMALL
        while width < end - begin:
            for low in range(begin, end - width, 2 * width):
                merge_rows(places, own, spare_keys, spare, low, low + width, min(low + 2 * width, end))
            width *= 2


@jit
def insert_rows(places, keys, begin, end):
    """Sort a few rows."""
    for k in range(begin + 1, end):
        key, place, at = keys[k], places[k], k
        while at > begin and keys[at - 1] > key:
            keys[at], places[at] = keys[at - 1], places[at - 1]
            at -= 1
        keys[at], places[at] = key, place


@jit
def merge_rows(places, keys, spare_keys, spare_places, begin, middle, end):
    """Merge two sorted stretches of rows; the earlier one is put aside."""
    if keys[middle - 1] <= keys[middle]:
        return
    for k in range(begin, middle):
        spare_keys[k], spare_places[k] = keys[k], places[k]
    left, right, at = begin, middle, begin
    while left < middle:
        if right < end and keys[right] < spare_keys[left]:
            keys[at], places[at] = keys[right], places[right]
            right += 1
        else:
            keys[at], places[at] = spare_keys[left], spare_places[left]
            left += 1
        at += 1
