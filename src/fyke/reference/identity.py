"""``match_id`` in plain Python, word for word as docs/results.md defines it."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa

from fyke.reference.matches import Match

Words = tuple[int, int]

_MASK = 2**64 - 1
_SEEDS = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F)
_NULL = 0x165667B19E3779F9
_NAN = 0x7FF8000000000000
_FNV_START, _FNV_PRIME = 0xCBF29CE484222325, 0x100000001B3
_NANOSECONDS = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}


def match_ids(
    found: Iterable[Match],
    table: pa.Table,
    columns: Sequence[str],
    names: Sequence[str],
    fingerprint: str,
) -> list[str]:
    """Return the identifiers of matches.

    ``table`` has the events in processing order, ``columns`` are those by which a row is known, and
    ``names`` the variables in the order of the pattern.
    """
    rows, seed = row_words(table.select(list(columns))), query_words(fingerprint)
    number = {name: k for k, name in enumerate(names)}
    return [
        fold(seed, [(number[name], rows[at]) for name, bound in each.positions.items() for at in bound])
        for each in found
    ]


def fold(seed: Words, bound: Iterable[tuple[int, Words]]) -> str:
    """Return the identifier of a match from the words of its rows, each with its variable's number."""
    totals = list(seed)
    for variable, words in bound:
        for h in (0, 1):
            totals[h] += words[h] * (_mix(variable + _SEEDS[h]) | 1)
    return "".join(f"{_mix(total):016x}" for total in totals)


def query_words(fingerprint: str) -> Words:
    """Return the two words that a query's identifiers begin with."""
    digest = hashlib.blake2b(fingerprint.encode(), digest_size=16).digest()
    first, second = struct.unpack("<QQ", digest)
    return first, second


def row_words(table: pa.Table) -> list[Words]:
    """Return two words for each row; of rows with equal values all but the first are numbered."""
    found: list[Words] = []
    seen: dict[tuple[int | None, ...], int] = {}
    for k in range(table.num_rows):
        values = tuple(_word(column[k]) for column in table.columns)
        first, second = (_folded(values, seed) for seed in _SEEDS)
        number = seen.get(values, 0)
        seen[values] = number + 1
        if number:
            first, second = (_mix(h + number * seed) for h, seed in zip((first, second), _SEEDS, strict=True))
        found.append((first, second))
    return found


def _mix(word: int) -> int:
    word &= _MASK
    word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9 & _MASK
    word = (word ^ word >> 27) * 0x94D049BB133111EB & _MASK
    return word ^ word >> 31


def _folded(values: Iterable[int | None], seed: int) -> int:
    total = seed
    for value in values:
        total = _mix(total * 31 + (_NULL if value is None else _mix(value)) + seed)
    return total


def _word(value: pa.Scalar) -> int | None:
    """Return a value as a word of 64 bits, None for null."""
    kind = value.type
    if not value.is_valid:
        return None
    if pa.types.is_dictionary(kind):
        return _word(value.value)
    if pa.types.is_timestamp(kind) or pa.types.is_duration(kind) or pa.types.is_time(kind):
        return _time(value.value, kind.unit)
    if pa.types.is_date(kind):
        return _number(value.cast(pa.date32()).value)
    if pa.types.is_floating(kind):
        return _float(float(value.as_py()))
    if pa.types.is_struct(kind):
        return _folded((_word(value[k]) for k in range(kind.num_fields)), _SEEDS[0])
    if pa.types.is_nested(kind):
        elements = value.values
        return _folded((len(elements), *map(_word, elements)), _SEEDS[0])
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        return _number(int(value.as_py()))
    return _bytes(value.as_py())


def _number(value: int) -> int:
    return value & _MASK


def _time(count: int, unit: str) -> int:
    nanoseconds = count * _NANOSECONDS[unit]
    microseconds, rest = divmod(nanoseconds, 1000)
    return _number(microseconds) if rest == 0 else _folded((_number(nanoseconds),), _SEEDS[0])


def _float(value: float) -> int:
    if value != value:
        return _NAN
    return int.from_bytes(struct.pack("<d", value + 0.0), "little")


def _bytes(value: Any) -> int:
    """Return the FNV-1a hash of bytes, of a text in UTF-8, or of the text of a decimal."""
    data = value if isinstance(value, bytes) else str(value).encode()
    word = _FNV_START
    for byte in data:
        word = (word ^ byte) * _FNV_PRIME & _MASK
    return word ^ len(data)
