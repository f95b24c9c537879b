"""Golden cases: a small event table, a query, and the matches expected under each strategy.

A case is a text file ``tests/golden/<name>.golden``::

    # Starting c closes b, and may be left for later

    source: [N] 3.2
    note:   free text, which may go on
            over indented lines
    type:   kind
    time:   T

    events:
        id  kind  T
        a1  A     0
        b1  B     1

    query:
        PATTERN SEQ(A a, B+ b[])
        WITHIN 100

    expect skip_till_next_match:
        a=a1 b=b1

The first line is the title.  ``time`` may name two columns (``start, end``), ``type`` may be left out,
``tie_breaker`` may name columns, ``output`` may be ``non_overlap``.  A cell is a whole number, a decimal
number, ``true``, ``false``, ``null``, a word, or anything in double quotes; a column of whole and decimal
numbers is a float64 column.
A match is one line, ``variable=id,id,...`` per bound variable; an unbound variable is left out.  A block
may say ``none`` instead, or ``count 68`` where a list would be too long or ids would not tell rows apart.
The query names no strategy: each ``expect`` block does, or several with commas between.  ``#`` at the
start of a line begins a comment.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

STRATEGIES = (
    "skip_till_any_match",
    "skip_till_next_match",
    "greedy_skip_till_next_match",
    "robust_skip_till_next_match",
    "partition_contiguity",
    "strict_contiguity",
    "greedy_partition_contiguity",
    "greedy_strict_contiguity",
)
OUTPUTS = ("all", "non_overlap")

Match = dict[str, list[str]]


@dataclass(frozen=True, slots=True)
class GoldenCase:
    """One case.  ``expected`` maps a strategy to its matches, in no particular order, or to their number.

    A match maps each bound variable to the ids of its events (one id for a single variable), in
    processing order.  An id that stands in a match names exactly one row of ``table``.
    """

    name: str
    title: str
    source: str
    note: str
    table: pa.Table
    type: str | None
    time: str | tuple[str, str]
    tie_breaker: tuple[str, ...]
    query: str
    expected: dict[str, list[Match] | int]
    output: str = "all"

    def count(self, strategy: str) -> int:
        """Return how many matches the strategy must find."""
        expected = self.expected[strategy]
        return expected if isinstance(expected, int) else len(expected)


class GoldenError(ValueError):
    """A golden file is not of the form above; the message says where and why."""


def load_cases(directory: Path = Path(__file__).parent) -> list[GoldenCase]:
    """Load every golden file of a directory, by name."""
    return [load_case(path) for path in sorted(directory.glob("*.golden"))]


def load_case(path: Path) -> GoldenCase:
    """Load one golden file, or raise :class:`GoldenError`."""
    return parse_case(path.read_text(encoding="utf-8"), path.stem)


def parse_case(text: str, name: str) -> GoldenCase:
    """Parse the text of a golden file; ``name`` names it in errors."""
    return _Parser(name, text).case()


@dataclass(frozen=True, slots=True)
class _Section:
    """``header: value`` with the indented lines below it, each with its line number."""

    header: str
    line: int
    lines: list[tuple[int, str]]


_HEADER = re.compile(r"(?P<header>[a-z_]+|expect [a-z_, ]+):(?P<value>.*)")
_CELL = re.compile(r'"[^"]*"|[^\s"]+')
_REQUIRED = ("source", "time", "events", "query")
_OPTIONAL = ("note", "type", "tie_breaker", "output")


class _Parser:
    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.text = text

    def error(self, line: int, message: str) -> GoldenError:
        return GoldenError(f"{self.name}.golden, line {line}: {message}")

    def case(self) -> GoldenCase:
        title, sections = self.split()
        table = self.table(sections["events"])
        time = self.columns(sections["time"], table)
        if len(time) > 2:
            raise self.error(sections["time"].line, "time is one column, or two: start, end")
        event_type = self.columns(sections["type"], table) if "type" in sections else (None,)
        if len(event_type) > 1:
            raise self.error(sections["type"].line, "type is one column")
        tie_breaker = self.columns(sections["tie_breaker"], table) if "tie_breaker" in sections else ()
        query = self.query(sections["query"])
        output = _joined(sections["output"]) if "output" in sections else "all"
        if output not in OUTPUTS:
            raise self.error(sections["output"].line, f"output is one of {', '.join(OUTPUTS)}")
        return GoldenCase(
            name=self.name,
            title=title,
            source=_joined(sections["source"]),
            note=_joined(sections["note"]) if "note" in sections else "",
            table=table,
            type=event_type[0],
            time=time[0] if len(time) == 1 else (time[0], time[1]),
            tie_breaker=tie_breaker,
            query=query,
            expected=self.expected(sections, table, query),
            output=output,
        )

    # --- the file as a whole ------------------------------------------------------------

    def split(self) -> tuple[str, dict[str, _Section]]:
        first, *rest = self.text.splitlines() or [""]
        if not re.fullmatch(r"# \S.*", first):
            raise self.error(1, f"the first line is the title, '# In plain words'; found {first!r}")
        sections: dict[str, _Section] = {}
        for number, line in enumerate(rest, start=2):
            if not line.strip() or line.startswith("#"):
                continue
            if "\t" in line:
                raise self.error(number, "found a tab; align with spaces")
            if line.startswith(" "):
                if not sections:
                    raise self.error(number, "an indented line belongs to a section; none has begun")
                list(sections.values())[-1].lines.append((number, line.rstrip()))
                continue
            for section in self.sections(number, line):
                if section.header in sections:
                    raise self.error(number, f"{section.header!r} is there twice")
                sections[section.header] = section
        for header in _REQUIRED:
            if header not in sections:
                raise self.error(1, f"section '{header}:' is missing")
        return first[2:].strip(), sections

    def sections(self, number: int, line: str) -> Iterator[_Section]:
        """Yield the sections a header begins: one, or one per strategy of ``expect x, y:``."""
        found = _HEADER.fullmatch(line)
        if found is None:
            raise self.error(number, f"expected 'section: ...' or an indented line; found {line!r}")
        header, value = found["header"], found["value"].strip()
        lines = [(number, value)] if value else []
        if header.startswith("expect "):
            headers = [f"expect {strategy.strip()}" for strategy in header.removeprefix("expect ").split(",")]
        else:
            headers = [header]
        known = [*_REQUIRED, *_OPTIONAL, *(f"expect {strategy}" for strategy in STRATEGIES)]
        for each in headers:
            if each not in known:
                raise self.error(number, f"unknown section {each!r}; known are {', '.join(known)}")
            yield _Section(each, number, lines)

    # --- the events ---------------------------------------------------------------------

    def table(self, section: _Section) -> pa.Table:
        rows = [(number, _CELL.findall(line)) for number, line in section.lines]
        if len(rows) < 2:
            raise self.error(section.line, "events need a line of column names and at least one row")
        (header_line, names), *body = rows
        if names[0] != "id" or len(set(names)) < len(names):
            raise self.error(header_line, "column names must differ, and the first one is id")
        for number, cells in body:
            if len(cells) != len(names):
                raise self.error(
                    number, f"expected {len(names)} cells ({', '.join(names)}), found {len(cells)}"
                )
        columns = zip(*(cells for _, cells in body), strict=True)
        return pa.table(
            {name: self.column(section.line, name, cells) for name, cells in zip(names, columns, strict=True)}
        )

    def column(self, line: int, name: str, cells: tuple[str, ...]) -> pa.Array:
        if name == "id":
            return pa.array([cell.strip('"') for cell in cells], pa.string())
        values = [_value(cell) for cell in cells]
        kinds = {type(value) for value in values if value is not None}
        if kinds == {int, float}:
            kinds = {float}
        if not kinds:
            raise self.error(line, f"column {name!r} is null throughout, so its type is unknown")
        if len(kinds) > 1:
            raise self.error(line, f"column {name!r} mixes numbers, words or truth values; quote the words")
        kind = {int: pa.int64(), float: pa.float64(), bool: pa.bool_(), str: pa.string()}[kinds.pop()]
        return pa.array(values, kind)

    def columns(self, section: _Section, table: pa.Table) -> tuple[str, ...]:
        names = tuple(name.strip() for name in _joined(section).split(","))
        for name in names:
            if name not in table.column_names:
                raise self.error(
                    section.line,
                    f"{section.header} names {name!r}; columns are {', '.join(table.column_names)}",
                )
        return names

    # --- the query and its matches ------------------------------------------------------

    def query(self, section: _Section) -> str:
        margin = min((len(line) - len(line.lstrip()) for _, line in section.lines), default=0)
        query = "\n".join(line[margin:] for _, line in section.lines)
        if "PATTERN" not in query:
            raise self.error(section.line, "the query has no PATTERN")
        for strategy in STRATEGIES:
            if re.search(rf"\b{strategy}\b", query):
                raise self.error(section.line, f"the query names {strategy}; the expect blocks do that")
        return query

    def expected(
        self, sections: dict[str, _Section], table: pa.Table, query: str
    ) -> dict[str, list[Match] | int]:
        expected = {
            header.removeprefix("expect "): self.matches(section, table, query)
            for header, section in sections.items()
            if header.startswith("expect ")
        }
        if not expected:
            raise self.error(1, "no 'expect <strategy>:' block")
        return expected

    def matches(self, section: _Section, table: pa.Table, query: str) -> list[Match] | int:
        if not section.lines:
            raise self.error(section.line, "an expect block needs matches, 'count <n>', or 'none'")
        texts = [line.strip() for _, line in section.lines]
        if texts == ["none"]:
            return []
        if len(texts) == 1 and (found := re.fullmatch(r"count (\d+)", texts[0])):
            return int(found[1])
        copies = Counter(table["id"].to_pylist())
        matches: list[Match] = []
        for number, line in section.lines:
            match = self.match(number, line.split(), copies, query)
            if match in matches:
                raise self.error(number, "this match is listed twice")
            matches.append(match)
        return matches

    def match(self, number: int, words: list[str], copies: Counter[str], query: str) -> Match:
        match: Match = {}
        for word in words:
            variable, equals, ids = word.partition("=")
            if not (variable and equals and ids):
                raise self.error(number, f"expected variable=id,id,...; found {word!r}")
            if variable in match:
                raise self.error(number, f"variable {variable!r} is bound twice")
            if not re.search(rf"\b{re.escape(variable)}\b", query):
                raise self.error(number, f"the query has no variable {variable!r}")
            match[variable] = ids.split(",")
        for event, times in Counter(event for ids in match.values() for event in ids).items():
            if copies[event] != 1:
                raise self.error(number, f"{copies[event]} rows have the id {event!r}; it must be one")
            if times > 1:
                raise self.error(number, f"event {event!r} is bound twice")
        return match


def _joined(section: _Section) -> str:
    return " ".join(line.strip() for _, line in section.lines)


def _value(cell: str) -> int | float | bool | str | None:
    if cell.startswith('"'):
        return cell[1:-1]
    if cell in ("null", "true", "false"):
        return {"null": None, "true": True, "false": False}[cell]
    if re.fullmatch(r"-?\d+", cell):
        return int(cell)
    if re.fullmatch(r"-?\d+\.\d+", cell):
        return float(cell)
    return cell
