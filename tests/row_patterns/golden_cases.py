"""Worked examples of MATCH_RECOGNIZE from public documentation: rows, a clause, the result.

A file ``golden/<name>.golden`` has one table and one clause with a gap ``<>``, which each case fills::

    # Title in plain words

    source: where the example is published
    note:   what was changed, if anything

    rows:
        id  value
        1   90

    clause:
        ORDER BY id
        <>
        DEFINE B AS value < PREV(value)

    case PATTERN (B+):
        id  label
        2   B

Cells are whole or decimal numbers, ``true``, ``false``, ``null``, dates, words, or anything in double quotes,
where a date with a time is one.  The result is compared in the columns that are named, in any order of rows.
Instead of rows a case may say ``none``, or ``error Name`` for an error at run time.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

_CELL = re.compile(r'"[^"]*"|[^\s"]+')
_HEADER = re.compile(r"(source|note|rows|clause|case)\b ?(.*?):(?: (.*))?")
_TYPES = {
    bool: pa.bool_(),
    int: pa.int64(),
    float: pa.float64(),
    str: pa.string(),
    date: pa.date32(),
    datetime: pa.timestamp("s"),
}


@dataclass(frozen=True, slots=True)
class RowCase:
    """One case; ``expected`` are rows of ``columns``, or the name of an error."""

    name: str
    source: str
    table: pa.Table
    clause: str
    columns: tuple[str, ...]
    expected: list[tuple[Any, ...]] | str

    def difference(self, found: pa.Table) -> str | None:
        """Return how a result differs from the expected one, or None."""
        assert not isinstance(self.expected, str)
        if not self.columns:
            return None if found.num_rows == 0 else f"{found.num_rows} rows, expected none"
        rows = [tuple(row[name] for name in self.columns) for row in found.to_pylist()]
        left, right = sorted(rows, key=_key), sorted(self.expected, key=_key)
        return None if left == right else f"found\n{_lines(left)}\nexpected\n{_lines(right)}"


def load_row_cases() -> list[RowCase]:
    """Load the cases of all files."""
    directory = Path(__file__).parent / "golden"
    return [case for path in sorted(directory.glob("*.golden")) for case in _cases(path)]


def _cases(path: Path) -> list[RowCase]:
    sections: list[tuple[str, str, list[str]]] = []
    for line in path.read_text(encoding="utf-8").splitlines()[1:]:
        if line.startswith(" "):
            sections[-1][2].append(line.strip())
        elif line and not line.startswith("#"):
            found = _HEADER.fullmatch(line)
            assert found is not None, f"{path.name}: {line}"
            sections.append((found[1], found[2], [found[3]] if found[3] else []))
    known = {kind: lines for kind, _, lines in sections if kind != "case"}
    table = _table(known["rows"])
    clause = "\n  ".join(known["clause"])
    made = []
    for kind, gap, lines in sections:
        if kind == "case":
            text = f"MATCH_RECOGNIZE (\n  {clause.replace('<>', gap)}\n)"
            name = f"{path.stem} {gap}".strip()
            made.append(RowCase(name, " ".join(known["source"]), table, text, *_expected(lines)))
    return made


def _expected(lines: list[str]) -> tuple[tuple[str, ...], list[tuple[Any, ...]] | str]:
    if lines[0] == "none":
        return (), []
    if lines[0].startswith("error "):
        return (), lines[0].removeprefix("error ")
    names, *rows = [_CELL.findall(line) for line in lines]
    assert all(len(row) == len(names) for row in rows), lines
    return tuple(names), [tuple(map(_value, row)) for row in rows]


def _table(lines: list[str]) -> pa.Table:
    names, *rows = [_CELL.findall(line) for line in lines]
    assert all(len(row) == len(names) for row in rows), lines
    columns = [[_value(cell) for cell in column] for column in zip(*rows, strict=True)]
    return pa.table([_column(values) for values in columns], names=names)


def _column(values: list[Any]) -> pa.Array:
    kinds = {type(value) for value in values if value is not None}
    kind = float if kinds == {int, float} else kinds.pop()
    return pa.array(values, _TYPES[kind])


def _value(cell: str) -> Any:
    known = {"null": None, "true": True, "false": False}
    if cell in known:
        return known[cell]
    if re.fullmatch(r"-?\d+", cell):
        return int(cell)
    if re.fullmatch(r"-?\d+\.\d+", cell):
        return float(cell)
    if re.fullmatch(r"\d{4}-\d\d-\d\d", cell):
        return date.fromisoformat(cell)
    text = cell.strip('"')
    return datetime.fromisoformat(text) if re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", text) else text


def _key(row: tuple[Any, ...]) -> list[str]:
    return [repr(float(value)) if isinstance(value, int) else repr(value) for value in row]


def _lines(rows: list[tuple[Any, ...]]) -> str:
    return "\n".join(f"    {row}" for row in rows)
