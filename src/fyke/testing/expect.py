"""Assertions about replayed streams, with differences that can be read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

import fyke
from fyke.testing.replay import Replay

Expected = str | Mapping[str, Any]


def match_texts(matches: pa.Table | Replay) -> list[str]:
    """Return each match as text: its variables with the times of their events, ``"a@0 b@3 b@4"``."""
    table = matches.matches if isinstance(matches, Replay) else matches
    return [_text(row) for row in table.to_pylist()]


def assert_matches(found: Replay | pa.Table, expected: Iterable[Expected]) -> None:
    """Check that a stream has reported these matches and no others, in any order.

    A match is given as text, ``"a@0 b@3"``, or, for queries with RETURN and for MATCH_RECOGNIZE clauses, as a
    dict of some of its columns.

    Raises
    ------
    AssertionError
        Saying which matches are missing and which were not expected, and in which micro-batch they came.
    """
    table = found.matches if isinstance(found, Replay) else found
    rows, wanted = table.to_pylist(), list(expected)
    left, missing = list(range(len(rows))), []
    for each in wanted:
        place = next((number for number in left if _fits(rows[number], each)), None)
        if place is None:
            missing.append(each)
        else:
            left.remove(place)
    if not missing and not left:
        return
    lines = [f"expected {len(wanted)} matches and found {len(rows)}"]
    lines += [f"  missing:      {each}" for each in missing]
    lines += [f"  not expected: {_shown(rows[number], wanted)}{_where(found, number)}" for number in left]
    raise AssertionError("\n".join(lines))


def assert_same_as_batch(found: Replay) -> None:
    """Check that a stream without late events has reported what :func:`fyke.match` finds in all of them.

    Of running totals, the last ones count.

    Raises
    ------
    AssertionError
        Saying which matches only one of them has.
    """
    if found.late.num_rows:
        raise AssertionError(
            f"{found.late.num_rows} events came late, so the stream cannot have the matches of all events: "
            f"{found.late.to_pylist()}"
        )
    batch = fyke.match(found.events, found.query, **found.options)
    streamed, whole = (Counter(map(str, rows)) for rows in (_last_told(found), batch.to_pylist()))
    lines = [f"  only the stream has: {each}" for each in (streamed - whole).elements()]
    lines += [f"  only the batch has:  {each}" for each in (whole - streamed).elements()]
    if lines:
        raise AssertionError("\n".join(["the stream and the batch differ", *lines]))


def _last_told(found: Replay) -> list[dict[str, Any]]:
    """Return the rows that a stream has reported; of totals, the last of each partition."""
    rows: list[dict[str, Any]] = found.matches.to_pylist()
    if found.totals_of is None:
        return rows
    return list({str([row[name] for name in found.totals_of]): row for row in rows}.values())


def _text(row: Mapping[str, Any]) -> str:
    bound = []
    for name, value in row.items():
        for event in value if isinstance(value, list) else [value]:
            if isinstance(event, Mapping) and "time" in event:
                bound.append((event["time"], f"{name}@{event['time']}"))
    return " ".join(text for _, text in sorted(bound, key=lambda pair: pair[0]))


def _fits(row: Mapping[str, Any], expected: Expected) -> bool:
    if isinstance(expected, str):
        return sorted(_text(row).split()) == sorted(expected.split())
    return all(name in row and row[name] == value for name, value in expected.items())


def _shown(row: Mapping[str, Any], expected: Sequence[Expected]) -> str:
    return _text(row) if all(isinstance(each, str) for each in expected) and _text(row) else str(dict(row))


def _where(found: Replay | pa.Table, number: int) -> str:
    if isinstance(found, pa.Table):
        return ""
    for batch, table in enumerate(found.batches):
        if number < table.num_rows:
            return f"  (micro-batch {batch + 1} of {len(found.batches)})"
        number -= table.num_rows
    return ""
